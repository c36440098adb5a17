"""Misfits between modelled and observed records: functions that return a value and its derivative in the modelled one.

``misfit(synthetic, observed) -> (value, adjoint source)``, for arrays of NumPy, torch or JAX alike: the value is a sum
over shots, so those of ranks and batches add up, and may be differentiated by torch or JAX as it stands.
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

MISFITS: dict[str, Misfit] = {f.__name__: f for f in (least_squares, global_correlation, envelope, wasserstein)}


def by_name(misfit: Any) -> Any:
    """Return the misfit of a name; anything else as it is.

    Raises
    ------
    OptionError
    """
    if isinstance(misfit, str):
        check_choice(misfit, "misfit", MISFITS)
        return MISFITS[misfit]
    return misfit


__all__ = ["Misfit", "check_like_record", "envelope", "global_correlation", "least_squares", "wasserstein"]
