"""Ranges of values in earth models. They admit any rock, and exclude units that are a thousand times too large."""

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from ..errors import DomainError, DtypeError, ShapeError


@frozen
class Quantity:
    """A parameter of an earth model in SI units. `low` and `high` bound its largest value, which shows a wrong unit."""

    name: str
    unit: str
    thousandfold: str
    low: float
    high: float


QUANTITIES = {
    "vp": Quantity("P velocity", "m/s", "km/s", 100.0, 20e3),
    "vs": Quantity("S velocity", "m/s", "km/s", 20.0, 12e3),
    "rho": Quantity("density", "kg/m3", "g/cm3", 100.0, 30e3),
}
"""Soils and the mantle lie well within these bounds. A model may hold smaller values, such as those of air."""


def check_plausible(values: NDArray[np.floating], key: str, name: str) -> None:
    """Raise a DomainError unless the largest value is in the range of the quantity `key`; vs may be zero (a fluid)."""
    quantity, largest = QUANTITIES[key], float(values.max())
    if quantity.low <= largest <= quantity.high or (key == "vs" and largest == 0):
        return
    advice = f"; if it is in {quantity.thousandfold}, multiply it by 1000" * (0 < largest < quantity.low)
    raise DomainError(
        f"{name}: the largest {quantity.name} is {largest:g}; expected {quantity.low:g} to {quantity.high:g} "
        f"{quantity.unit}{advice or '; check its unit and its sample format'}"
    )


def check_section(values: NDArray[Any], key: str, name: str) -> None:
    """Raise an error unless `values` are (nz, nx) finite floating-point numbers of the quantity `key`."""
    if values.dtype.kind != "f":
        raise DtypeError(f"{name} holds {values.dtype}; expected floating-point numbers in {QUANTITIES[key].unit}")
    if values.ndim != 2 or values.size == 0:
        raise ShapeError(f"{name} holds an array of shape {values.shape}; expected (nz, nx), a value for each cell")
    if not np.isfinite(values).all() or values.min() < 0 or (key != "vs" and values.min() == 0):
        least = "zero or more" if key == "vs" else "above zero"
        raise DomainError(f"{name} is {values.min():g} to {values.max():g}; every cell must be finite and {least}")
    check_plausible(values, key, name)
