"""The shape of traces, whatever their amplitudes."""

from typing import Any

from ..typing import Record
from .records import TIME, loudness, records


def global_correlation(synthetic: Record, observed: Record) -> tuple[Any, Any]:
    """sum over traces of ``1 - <s, d> / (|s| |d|)``, and its derivative in s = `synthetic`; d is `observed`.

    Blind to the amplitude of each trace: for data whose source strength, coupling or attenuation are not modelled (Choi
    and Alkhalifah 2012, Geophysics 77, eq. 2). From 0, traces that are multiples of each other, to 2 a trace, those of
    opposite sign. A trace that no wave reaches, below 1e-6 of the loudest of its shot and field, counts nothing where
    it is observed, and 1 with a derivative of zero where it is modelled.

    Parameters
    ----------
    synthetic, observed : (nshots, nt, nrec, nfield) array
        Of one library.

    Returns
    -------
    value : array without axes
        The misfit, a sum over shots.
    adjoint_source : array
        Its derivative in `synthetic`, of the shape and dtype of `synthetic`.

    Raises
    ------
    ShapeError, DtypeError
        The records differ in shape, or are no arrays of one library and dtype.
    """
    xp = records(synthetic, observed)

    def unit(record: Any) -> tuple[Any, Any, Any]:
        scale, level = loudness(xp, record)
        heard = level != 0
        record = xp.where(heard, record / scale, 0 * record)
        energy = xp.sum(record**2, axis=TIME, keepdims=True)
        size = xp.sqrt(xp.where(heard, energy, xp.ones_like(energy)))
        return record / size, scale * size, heard

    s, size, heard = unit(synthetic)
    d, _, counts = unit(observed)
    alike = xp.sum(s * d, axis=TIME, keepdims=True)
    value = xp.sum(xp.where(counts, 1 - alike, 0 * alike))
    return value, xp.where(heard, (alike * s - d) / size, 0 * s)
