"""The shape of traces, whatever their amplitudes."""

from .records import TIME, largest, records


def global_correlation(synthetic, observed):
    """sum over traces of ``1 - <s, d> / (|s| |d|)``, and its derivative in s = `synthetic`; d is `observed`.

    Blind to the amplitude of each trace: for data whose source strength, coupling or attenuation are not modelled (Choi
    and Alkhalifah 2012, Geophysics 77, eq. 2). From 0, traces that are multiples of each other, to 2 a trace, those of
    opposite sign. Observed traces of zeros count nothing, modelled ones 1, with a derivative of zero.

    Parameters
    ----------
    synthetic, observed : (nshots, nt, nrec, nfield) array
        Of one library.

    Raises
    ------
    ShapeError, DtypeError
    """
    xp = records(synthetic, observed)

    def unit(record):
        scale = largest(xp, record)
        energy = xp.sum((record / scale) ** 2, axis=TIME, keepdims=True)
        size = scale * xp.sqrt(xp.where(energy > 0, energy, xp.ones_like(energy)))
        return record / size, size, energy > 0

    s, size, heard = unit(synthetic)
    d, _, counts = unit(observed)
    alike = xp.sum(s * d, axis=TIME, keepdims=True)
    value = xp.sum(xp.where(counts, 1 - alike, 0 * alike))
    return value, xp.where(heard, (alike * s - d) / size, 0 * s)
