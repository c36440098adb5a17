"""Values that earth models may hold: any rock's, and nobody's who took a unit a thousand times larger."""

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from ..errors import DomainError, DtypeError, ShapeError


@frozen
class Quantity:
    """A parameter of an earth model, in SI units; `low` and `high` bound its largest value, which tells the unit."""

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
"""Soils and the mantle lie well within. Smaller values, such as those of air, may occur beside larger ones."""


def check_plausible(values: NDArray[np.floating], key: str, what: str) -> None:
    """DomainError unless the largest of `values` is one of the quantity `key`; vs may be zero throughout, a fluid."""
    quantity, largest = QUANTITIES[key], float(values.max())
    if quantity.low <= largest <= quantity.high or (key == "vs" and largest == 0):
        return
    looks = f"; if it is in {quantity.thousandfold}, multiply it by 1000" * (0 < largest < quantity.low)
    raise DomainError(
        f"{what}: the largest {quantity.name} is {largest:g}; expected {quantity.low:g} to {quantity.high:g} "
        f"{quantity.unit}{looks or '; check its unit and its sample format'}"
    )


def check_section(values: NDArray[Any], key: str, what: str) -> None:
    """A refusal unless `values` are (nz, nx) floating-point numbers, finite, of the quantity `key`."""
    if values.dtype.kind != "f":
        raise DtypeError(f"{what} holds {values.dtype}; expected floating-point numbers in {QUANTITIES[key].unit}")
    if values.ndim != 2 or values.size == 0:
        raise ShapeError(f"{what} holds an array of shape {values.shape}; expected (nz, nx), a value for each cell")
    if not np.isfinite(values).all() or values.min() < 0 or (key != "vs" and values.min() == 0):
        least = "zero or more" if key == "vs" else "above zero"
        raise DomainError(
            f"{what} runs from {values.min():g} to {values.max():g}; every cell must be finite and {least}"
        )
    check_plausible(values, key, what)
