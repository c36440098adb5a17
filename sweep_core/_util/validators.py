"""Checks of values: validators of attrs for options, and functions for numbers, paths and choices."""

import inspect
import os
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from functools import wraps
from math import inf, isfinite
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, TypeGuard, TypeVar, cast

import attrs
import numpy as np

from ..errors import DomainError, DtypeError, OptionError, UnknownOptionError

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)
Validator: TypeAlias = Callable[[Any, Any, Any], None]
"""A validator of attrs: of the instance, the attribute and the value."""


def refuse_unknown(
    owner: str, noun: str, name: str, known: Collection[str], elsewhere: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Raise an UnknownOptionError for a keyword, with the advice of `elsewhere` or the nearest `known` name.

    `noun` is the kind of the keyword, such as "option" or "argument".
    """
    hint = elsewhere.get(name, "")
    if not hint:
        from difflib import get_close_matches

        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else ""
    stated = f"; it has {', '.join(map(repr, known))}" if noun == "option" or not hint else ""
    raise UnknownOptionError(f"{owner} has no {noun} {name!r}{stated}{hint and '; ' + hint}")


def named(**elsewhere: str) -> Callable[[C], C]:
    """Return a decorator of a class of options, which then refuses unknown keywords and names the known ones.

    `elsewhere` is advice for keywords of other programs, by name.
    """

    def decorate(cls: C) -> C:
        plain, known = cast(Any, cls).__init__, [a.name for a in attrs.fields(cls)]

        @wraps(plain)
        def checked(self: Any, *values: Any, **options: Any) -> None:
            for name in options:
                if name not in known:
                    refuse_unknown(cls.__name__, "option", name, known, elsewhere)
            plain(self, *values, **options)

        setattr(cls, "__init__", checked)  # noqa: B010
        return cls

    return decorate


def named_arguments(elsewhere: Mapping[str, str]) -> Callable[[F], F]:
    """Return the same decorator for a function or method, whose signature stays."""

    def decorate(function: F) -> F:
        known = list(inspect.signature(function).parameters)
        method = known[0] == "self"
        known = known[method:]

        @wraps(function)
        def checked(*values: Any, **arguments: Any) -> Any:
            for name in arguments:
                if name not in known:
                    kind = type(values[0]).__name__ if method else ""
                    step = {"__init__": kind, "forward": f"a call of {kind}", "__call__": f"a call of {kind}"}
                    owner = step.get(function.__name__, f"{kind}.{function.__name__}" if method else function.__name__)
                    refuse_unknown(owner, "argument", name, known, elsewhere)
            return function(*values, **arguments)

        return cast(F, checked)

    return decorate


def check_number(value: Any, name: str, meaning: str) -> float:
    """Return a number, or an array without axes, as a float; DtypeError or DomainError unless it is finite."""
    number = value.item() if getattr(value, "ndim", None) == 0 else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise DtypeError(f"{name} is {value!r}; expected one number, {meaning}")
    if not isfinite(number):
        raise DomainError(f"{name} is {value}; expected {meaning}, finite")
    return float(number)


def check_positive(value: Any, name: str, meaning: str) -> float:
    """Return a number above zero as a float; see :func:`check_number`."""
    if not (number := check_number(value, name, meaning)) > 0:
        raise DomainError(f"{name} is {value}; expected {meaning}, above zero")
    return number


def check_width(value: Any, name: str, meaning: str) -> float:
    """Return a number of zero or above as a float; see :func:`check_number`."""
    return check_number(value, name, meaning) and check_positive(value, name, meaning)


def check_choice(value: Any, name: str, choices: Iterable[Any]) -> None:
    """Raise an OptionError unless `value` is one of `choices`."""
    known = tuple(choices)
    if not isinstance(value, Hashable) or value not in known:  # an array compares its elements
        raise OptionError(f"{name} is {value!r}; expected one of {', '.join(map(repr, known))}")


def check_flag(value: Any, name: str) -> None:
    """Raise an OptionError unless `value` is true or false."""
    if not isinstance(value, bool | np.bool_):
        raise OptionError(f"{name} is {value!r}; expected True or False")


def is_whole(value: Any, least: int) -> TypeGuard[int]:
    """Return True for a whole number of Python or NumPy from `least` on."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def check_whole(value: Any, name: str, least: int, noun: str = "") -> int:
    """Return a whole number from `least` on as an int, or raise an OptionError. `noun` is the counted thing."""
    if not is_whole(value, least):
        raise OptionError(f"{name} is {value!r}; expected a whole number {noun and f'of {noun} '}from {least} on")
    return int(value)


def environment_number(name: str, least: int, environ: Mapping[str, str] | None, default: int | None = None) -> int:
    """Return the whole number, from `least` on, that an environment states; without one `default`, or else `least`."""
    stated = (os.environ if environ is None else environ).get(name)
    if stated is None:
        return least if default is None else default
    if not (stated.isascii() and stated.isdigit() and int(stated) >= least):
        raise OptionError(
            f"{name} is {stated!r} in the environment; expected a whole number from {least} on: correct or unset it"
        )
    return int(stated)


def as_path(path: Any, name: str = "path") -> Path:
    """Return `path` as a Path, or raise a DtypeError."""
    if not isinstance(path, str | os.PathLike):
        raise DtypeError(f"{name} is {path!r}; expected a string or a pathlib.Path")
    return Path(path)


def whole_numbers(values: Any, name: str, kind: str, count: int | None = None) -> np.ndarray:
    """Return numbers of things, such as shots, as (n,) int64; DomainError for anything else, such as a mask.

    If there are `count` things, a DomainError also refuses numbers below 0 and from `count` on.
    """
    try:
        numbers = np.asarray(values if hasattr(values, "shape") else list(values))
    except (TypeError, ValueError):
        numbers = np.empty(())
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise DomainError(f"{name} is {values!r}; expected numbers of {kind}, from 0 on")
    numbers = numbers.astype(np.int64)
    if count is not None and ((numbers < 0) | (numbers >= count)).any():
        raise DomainError(f"{name} is {numbers.tolist()}; expected numbers of {kind} from 0 to {count - 1}")
    return numbers


def shot_numbers(indices: Any, count: int) -> np.ndarray:
    """Return the numbers of some of `count` shots as (n,) int64, or raise a DomainError."""
    return whole_numbers(indices, "indices", "shots", count)


def one_of(*allowed: Any) -> Validator:
    """Return a validator of one of the `allowed` values."""

    def check(instance: Any, attribute: Any, value: Any) -> None:
        check_choice(value, f"{type(instance).__name__}: {attribute.name}", allowed)

    return check


def positive(instance: Any, attribute: Any, value: Any) -> None:
    """Check a whole number from 1 on."""
    check_whole(value, f"{type(instance).__name__}: {attribute.name}", 1)


def amount(expected: str) -> Validator:
    """Return a validator of a finite number above zero."""

    def check(instance: Any, attribute: Any, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
            raise OptionError(f"{type(instance).__name__}: {attribute.name} is {value!r}; expected {expected}")

    return check


def kind(cls) -> Validator:
    """Return a validator of an instance of a class, or None."""

    def check(instance: Any, attribute: Any, value: Any) -> None:
        if value is not None and not isinstance(value, cls):
            raise OptionError(
                f"{type(instance).__name__}: {attribute.name} is {value!r}; expected {cls.__name__}(...) or None"
            )

    return check
