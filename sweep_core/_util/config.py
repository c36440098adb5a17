"""Options as attrs classes: one converter reads and checks them from a TOML file and from a command line."""

import argparse
import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

import attrs
import cattrs
from cattrs.errors import ClassValidationError, ForbiddenExtraKeysError, IterableValidationError
from cattrs.gen import make_dict_structure_fn

from ..errors import OptionError
from .validators import refuse_unknown

T = TypeVar("T")

EXPECTED: dict[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    str: ((str,), "text in quotes"),
    Path: ((str, Path), "the name of a file"),
    bool | str: ((bool, str), "true, false or text in quotes"),
}
"""The types that a value may have in a file, and the words of a refusal, by the type of the option."""
SWITCHES: dict[Any, dict[str, Any]] = {bool: {"action": "store_true"}, bool | str: {"nargs": "?", "const": True}}
"""Arguments of argparse for options that need no value on the command line, by the type of the option."""


def option(default: Any = attrs.NOTHING, help: str = "", validator: Any = None) -> Any:
    """Return an attribute of a class of options, which attrs decorates; the attribute is given by keyword.

    Parameters
    ----------
    default : optional
        Value of an option that nobody states; without a default the option must be stated.
    help : str, optional
        Description on the command line. An option without `help` is no argument of the command line.
    validator : callable, optional
        A validator of attrs, called with the instance, the attribute and the value.

    Returns
    -------
    attribute of attrs

    Raises
    ------
    TypeError
        If `validator` cannot be called.

    Examples
    --------
    >>> import attrs
    >>> from sweep_core.inversion import Settings, option
    >>> @attrs.frozen(slots=False)
    ... class Options(Settings):
    ...     device: str = option("auto", "cpu, cuda or auto")
    >>> Options(max_shots=4).device
    'auto'
    """
    return attrs.field(default=default, validator=validator, metadata={"help": help}, kw_only=True)


def read_toml(path: str | Path, advice: str) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Raises
    ------
    OptionError
        If the file cannot be read; the message ends with `advice`.
    """
    try:
        return tomllib.loads(Path(path).read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise OptionError(f"{path} cannot be read as TOML ({error}); {advice}") from error


def named_values(text: str, owner: str) -> dict[str, Any]:
    """Return the values of text such as ``"workers=4, backend=torch"`` by name: those of TOML, otherwise text.

    Raises
    ------
    OptionError
        For a part that is not name=value, or a name that comes twice. The message begins with `owner`.
    """
    values: dict[str, Any] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name.isidentifier() and value) or name in values:
            raise OptionError(f"{owner} is {text!r}; expected one name=value each, such as 'workers=4, backend=torch'")
        try:
            values[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            values[name] = value
    return values


def structure(cls: type[T], values: Mapping[str, Any], source: str, arguments: Collection[str] = ()) -> T:
    """Return the options `cls` of the values; nested classes are tables.

    Raises
    ------
    OptionError
        For an unknown or missing option, a value of another type, or one that `cls` refuses. The message names
        `source`, the table and the option, or the argument of the command line if the option is one of `arguments`.
    """
    try:
        return _CONVERTER.structure(values, cls)
    except cattrs.BaseValidationError as error:
        path, cause = _first_cause(error, ())
    if isinstance(cause, ForbiddenExtraKeysError):
        known = [field.name for field in attrs.fields(cause.cl)]
        nested = not path and any(attrs.has(field.type) for field in attrs.fields(cause.cl))
        refuse_unknown(_place(source, path), "table" if nested else "option", min(cause.extra_fields), known)
    if isinstance(cause, KeyError):
        raise OptionError(f"{_place(source, path[:-1])} has no {path[-1]}") from cause
    if isinstance(cause, TypeError):
        at = _place(source, path) if len(path) > 1 else f"{source}: {path[0]}"
        raise OptionError(f"{at} {cause}") from cause
    refusal = re.sub(r"^[A-Z]\w+: ", "", str(cause))  # validators begin with the name of the class
    name, _, rest = refusal.partition(" ")
    if name in arguments:
        raise OptionError(f"--{name.replace('_', '-')} {rest}") from cause
    raise OptionError(f"{_place(source, path)}: {refusal}") from cause


def add_options(parser: argparse.ArgumentParser, cls: type) -> None:
    """Add an argument for each attribute of a class of options that has a `help`.

    The namespace holds only the arguments that the user gave.
    """
    types = get_type_hints(cls)
    for field in attrs.fields(cls):
        if not (text := field.metadata.get("help")):
            continue
        kind = _plain(types[field.name])
        how = SWITCHES.get(kind, {"type": kind})
        stated = "" if field.default is None or kind in SWITCHES else f" (default: {field.default})"
        parser.add_argument(f"--{field.name.replace('_', '-')}", help=text + stated, default=argparse.SUPPRESS, **how)


def read_options(cls: type[T], description: str, arguments: Sequence[str] | None) -> T:
    """Return options from a command line and, where ``--config`` names a TOML file, from its keys.

    The command line overrides the file, whose paths are relative to its own folder.

    Raises
    ------
    OptionError
        See :func:`structure`.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--config", type=Path, help="TOML file of these options, such as max_shots = 8")
    add_options(parser, cls)
    stated = vars(parser.parse_args(arguments))
    file = stated.pop("config")
    values = read_toml(file, "--help lists the options") if file else {}
    for name, kind in get_type_hints(cls).items():
        if _plain(kind) is Path and isinstance(values.get(name), str):
            values[name] = file.parent / values[name]
    return structure(cls, {**values, **stated}, str(file or "command line"), stated)


def _plain(annotation: Any) -> Any:
    """Return the type of an annotation without ``| None``."""
    if annotation in EXPECTED:
        return annotation
    return next((part for part in get_args(annotation) if part is not NoneType), annotation)


def _first_cause(error: Exception, path: tuple[str | int, ...]) -> tuple[tuple[str | int, ...], Exception]:
    """Return the first refusal in a group of cattrs, and the path to its value."""
    if isinstance(error, ClassValidationError):
        noted, plain = error.group_exceptions()
        if plain:
            return _first_cause(plain[0], path)
        cause, note = noted[0]
        return _first_cause(cause, (*path, note.name))
    if isinstance(error, IterableValidationError):
        cause, place = error.group_exceptions()[0][0]
        return _first_cause(cause, (*path, place.index))
    return path, error


def _place(source: str, path: Sequence[str | int]) -> str:
    """Return ``file: [table] option`` for a path, and ``file: [[table]] number`` for one in a list."""
    if not path:
        return source
    table, *rest = path
    if rest and isinstance(rest[0], int):
        return " ".join([f"{source}: [[{table}]] {rest[0] + 1}", *map(str, rest[1:])])
    return " ".join([f"{source}: [{table}]", *map(str, rest)])


def _checked(kind: Any, accepted: tuple[type, ...], expected: str) -> Callable[[Any, Any], Any]:
    def convert(value: Any, _: Any) -> Any:
        if not isinstance(value, accepted) or (isinstance(value, bool) and bool not in accepted) or value == "":
            raise TypeError(f"is {value!r}; expected {expected}")
        return value if isinstance(value, kind) else kind(value)

    return convert


def _table(cls: type) -> Callable[[Any, Any], Any]:
    convert: Callable[[Any, Any], Any] = make_dict_structure_fn(cls, _CONVERTER, _cattrs_forbid_extra_keys=True)

    def checked(value: Any, kind: Any) -> Any:
        if not isinstance(value, Mapping):
            raise TypeError(f"is {value!r}; expected a table")
        return convert(value, kind)

    return checked


_CONVERTER = cattrs.Converter()
_CONVERTER.register_structure_hook_factory(attrs.has, _table)
for _kind, (_accepted, _expected) in EXPECTED.items():
    _CONVERTER.register_structure_hook(_kind, _checked(_kind, _accepted, _expected))
