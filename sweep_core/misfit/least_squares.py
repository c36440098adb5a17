"""A misfit of the differences of samples."""

from typing import Any

from .._util.validators import check_choice
from ..typing import Record
from .records import TIME, amplitude_levels, check_like_record, check_records

NORMS = None, "trace", "shot"


def least_squares(synthetic: Record, observed: Record, normalise: str | None = None) -> tuple[Any, Any]:
    """Return 0.5 sum (synthetic - observed)^2, and its derivative in `synthetic`.

    The value is a sum, not a mean: the misfits of ranks that share the shots add up to the misfit of all shots
    (Tarantola 1984).

    Parameters
    ----------
    synthetic, observed : (nshots, nt, nrec, nfield) array
        Modelled and observed records, of any array library and of one shape.
    normalise : {None, 'trace', 'shot'}
        Divide by the energy of each observed trace, or of each observed shot, so that all weigh the same. A modelled
        record of zeros then has a misfit of 0.5 for each trace, or shot. Observed traces below 1e-6 of the loudest of
        their shot and field hold no wave and add nothing.

    Returns
    -------
    value : array without axes
        The misfit, a sum over shots.
    adjoint_source : array
        Its derivative in `synthetic`, of the shape and dtype of `synthetic`.

    Raises
    ------
    ShapeError
        The records differ in shape. An observed record is never broadcast.
    DtypeError
        The records are not arrays, or, with `normalise`, not of one library and dtype.
    OptionError
        `normalise` has another value.

    Examples
    --------
    >>> import numpy as np
    >>> value, adjoint_source = least_squares(np.full((1, 2, 1, 1), 3.0), np.ones((1, 2, 1, 1)))
    >>> float(value), adjoint_source.ravel()
    (4.0, array([2., 2.]))
    """
    if normalise is None:
        check_like_record("observed", observed, synthetic)
        residual = synthetic - observed
        return 0.5 * (residual * residual).sum(), residual
    check_choice(normalise, "normalise", NORMS)
    xp, axes = check_records(synthetic, observed), TIME if normalise == "trace" else (1, 2, 3)
    scale, level = amplitude_levels(xp, observed, axes)
    energy = xp.sum((observed / scale) ** 2, axis=axes, keepdims=True)
    weight = 1 / xp.where(level != 0, energy, xp.ones_like(energy))
    residual = xp.where(level != 0, (synthetic - observed) / scale, 0 * synthetic)
    return 0.5 * xp.sum(weight * residual * residual), weight * residual / scale
