"""The figure of a law: an error and its bound."""

import attrs
import numpy as np

__all__ = [
    "Broken",
    "Figure",
    "within",
    "worst",
]

ROUNDING = 1e-12


@attrs.frozen
class Figure:
    """An error and its bound.

    Parameters
    ----------
    value : float
        The measured error, or a count of faults.
    bound : float
        The largest value for which the law holds.
    """

    value: float
    bound: float


class Broken(AssertionError):
    """A law that does not hold, with the measured and the expected value."""


def within(value: float, bound: float, name: str) -> Figure:
    """Return the figure of a value within its bound, or raise Broken. NaN is out of bounds.

    Parameters
    ----------
    value : float
        The measured value.
    bound : float
        Largest allowed value.
    name : str
        Description of the value, for the error message.

    Returns
    -------
    Figure
        The value and its bound.

    Raises
    ------
    Broken
        If the value is larger than the bound, or NaN.
    """
    if not value <= bound:
        raise Broken(f"{name}: {value:.3g}; expected at most {bound:.3g}")
    return Figure(float(value), bound)


def worst(errors, bound: float) -> Figure:
    """Return the figure of the largest of (value, name). NaN counts as the largest.

    Parameters
    ----------
    errors : iterable of (float, str)
        Each measured value and its description.
    bound : float
        Largest allowed value.

    Returns
    -------
    Figure
        The largest value and the bound.

    Raises
    ------
    Broken
        If the largest value is larger than the bound, or NaN.
    ValueError
        If `errors` is empty.
    """
    value, name = max(errors, key=lambda e: np.nan_to_num(e[0], nan=np.inf))
    return within(value, bound, name)
