"""A misfit of the shape of traces that ignores their amplitudes."""

from typing import Any

from ..typing import Record
from .records import TIME, amplitude_levels, check_records


def global_correlation(synthetic: Record, observed: Record) -> tuple[Any, Any]:
    """Return the sum over traces of ``1 - <s, d> / (|s| |d|)``, and its derivative in s.

    s is `synthetic` and d is `observed`. The misfit ignores the amplitude of each trace. It suits data whose source
    strength, coupling or attenuation are not modelled (Choi and Alkhalifah 2012, Geophysics 77, eq. 2).

    A trace adds 0 if s is a positive multiple of d, and 2 if the multiple is negative. A trace below 1e-6 of the
    loudest of its shot and field holds no wave. Such an observed trace adds nothing; such a modelled trace adds 1, with
    a derivative of zero.

    Parameters
    ----------
    synthetic, observed : (nshots, nt, nrec, nfield) array
        Modelled and observed records, of one array library and one dtype.

    Returns
    -------
    value : array without axes
        The misfit, a sum over shots.
    adjoint_source : array
        Its derivative in `synthetic`, of the shape and dtype of `synthetic`.

    Raises
    ------
    ShapeError, DtypeError
        The records differ in shape, or are not arrays of one library and dtype.
    """
    xp = check_records(synthetic, observed)

    def normalised(record: Any) -> tuple[Any, Any, Any]:
        scale, level = amplitude_levels(xp, record)
        is_live = level != 0
        record = xp.where(is_live, record / scale, 0 * record)
        energy = xp.sum(record**2, axis=TIME, keepdims=True)
        norm = xp.sqrt(xp.where(is_live, energy, xp.ones_like(energy)))
        return record / norm, scale * norm, is_live

    s, norm, is_modelled = normalised(synthetic)
    d, _, is_observed = normalised(observed)
    correlation = xp.sum(s * d, axis=TIME, keepdims=True)
    value = xp.sum(xp.where(is_observed, 1 - correlation, 0 * correlation))
    return value, xp.where(is_modelled, (correlation * s - d) / norm, 0 * s)
