"""The shape of traces, whatever their amplitudes."""

from .records import TIME, loudness, records


def global_correlation(synthetic, observed):
    """sum over traces of ``1 - <s, d> / (|s| |d|)``, and its derivative in s = `synthetic`; d is `observed`.

    Blind to the amplitude of each trace: for data whose source strength, coupling or attenuation are not modelled (Choi
    and Alkhalifah 2012, Geophysics 77, eq. 2). From 0, traces that are multiples of each other, to 2 a trace, those of
    opposite sign. A trace that no wave reaches, below 1e-6 of the loudest of its shot and field, counts nothing where
    it is observed, and 1 with a derivative of zero where it is modelled.

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
