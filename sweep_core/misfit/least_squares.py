"""Differences of samples."""

from typing import Any

from .._util.validators import check_choice
from ..typing import Record
from .records import TIME, check_like_record, loudness, records

NORMS = None, "trace", "shot"


def least_squares(synthetic: Record, observed: Record, normalise: str | None = None) -> tuple[Any, Any]:
    """0.5 sum (synthetic - observed)^2 and its derivative in `synthetic`, for arrays of any library.

    A sum, not a mean: the misfits of the ranks that share out some shots add up to that of all (Tarantola 1984).

    Parameters
    ----------
    synthetic, observed : (nshots, nt, nrec, nfield) array
        Modelled and observed records, of any library; of one shape.
    normalise : {None, 'trace', 'shot'}
        Divides by the energy of each observed trace, or shot, so that none weighs more than another: 0.5 is the misfit
        of a trace, or shot, that is missed altogether. Traces that no wave reaches count nothing: those below 1e-6 of
        the loudest observed one of their shot and field.

    Returns
    -------
    value : array without axes
        The misfit, a sum over shots.
    adjoint_source : array
        Its derivative in `synthetic`, of the shape and dtype of `synthetic`.

    Raises
    ------
    ShapeError
        Where the records differ in shape; what would be broadcast is no observed record.
    OptionError
        For another `normalise`.

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
    xp, axes = records(synthetic, observed), TIME if normalise == "trace" else (1, 2, 3)
    scale, level = loudness(xp, observed, axes)
    energy = xp.sum((observed / scale) ** 2, axis=axes, keepdims=True)
    weight = 1 / xp.where(level != 0, energy, xp.ones_like(energy))
    residual = xp.where(level != 0, (synthetic - observed) / scale, 0 * synthetic)
    return 0.5 * xp.sum(weight * residual * residual), weight * residual / scale
