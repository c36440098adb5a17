"""What an attribute of an option may be: validators of attrs that refuse by an OptionError."""

from numbers import Integral

from .errors import OptionError


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
