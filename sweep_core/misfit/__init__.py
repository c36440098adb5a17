"""Misfits between modelled and observed records.

``misfit(synthetic, observed) -> (value, adjoint source)``: a misfit returns its value and the derivative of the value
in the modelled record. The arrays may be of NumPy, torch or JAX. The value is a sum over shots, so the values of ranks
and batches add up. torch and JAX can differentiate the value.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from .._util.validators import check_choice
from .correlation import global_correlation
from .envelope import envelope
from .least_squares import least_squares
from .records import check_like_record
from .wasserstein import wasserstein

Misfit: TypeAlias = Callable[[Any, Any], tuple[Any, Any]]
"""A function ``misfit(synthetic, observed) -> (value, adjoint source)``."""

MISFITS: dict[str, Misfit] = {f.__name__: f for f in (least_squares, global_correlation, envelope, wasserstein)}


def by_name(misfit: Any) -> Any:
    """Return the misfit of a name, a key of `MISFITS`; return any other object as it is."""
    if isinstance(misfit, str):
        check_choice(misfit, "misfit", MISFITS)
        return MISFITS[misfit]
    return misfit


__all__ = ["Misfit", "check_like_record", "envelope", "global_correlation", "least_squares", "wasserstein"]
