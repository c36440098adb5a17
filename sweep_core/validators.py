"""What an attribute of an option may be: validators of attrs that refuse by an OptionError."""

from functools import wraps
from numbers import Integral

import attrs

from .errors import OptionError, UnknownOptionError


def named(**elsewhere: str):
    """A decorator of a class of options, which then refuses a keyword that is none of them by naming those that are;
    `elsewhere` says of names that other programs have what becomes of them here.
    """

    def decorate(cls):
        plain, known = cls.__init__, [a.name for a in attrs.fields(cls)]

        @wraps(plain)
        def checked(self, *values, **options):
            for name in options:
                if name not in known:
                    hint = f"; {elsewhere[name]}" if name in elsewhere else ""
                    raise UnknownOptionError(
                        f"{cls.__name__} has no option {name!r}; it has {', '.join(map(repr, known))}{hint}"
                    )
            plain(self, *values, **options)

        cls.__init__ = checked
        return cls

    return decorate


def one_of(*allowed):
    """One of these values."""

    def check(instance, attribute, value):
        if value not in allowed:
            raise OptionError(
                f"{type(instance).__name__}: {attribute.name} is {value!r}; expected one of "
                + ", ".join(repr(a) for a in allowed)
            )

    return check


def positive(instance, attribute, value):
    """A number from 1 on, or None."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 1):
        raise OptionError(f"{type(instance).__name__}: {attribute.name} is {value!r}; expected a number from 1 on")


def kind(cls):
    """An instance of a class, or None."""

    def check(instance, attribute, value):
        if value is not None and not isinstance(value, cls):
            raise OptionError(
                f"{type(instance).__name__}: {attribute.name} is {value!r}; expected {cls.__name__}(...) or None"
            )

    return check
