"""Envelopes of traces, which are as long as waves are late: what is more than half a period off still pulls."""

from functools import partial
from typing import Any

from .._util.validators import is_whole
from ..errors import OptionError
from ..numerics.spectra import padded
from ..typing import Record
from .records import FLOOR, TIME, counted, loudness, records

SHARE = 1e-3
"""Of the largest sample of an observed trace: what is below hardly counts, and no envelope is zero."""


def envelope(synthetic: Record, observed: Record, power: int = 1) -> tuple[Any, Any]:
    """0.5 sum (E(s)^power - E(d)^power)^2 and its derivative in s = `synthetic`; d is `observed`.

    E(x)^2 = x^2 + (H x)^2 + c^2, with H the Hilbert transform along time of a record between zeros, and c 1e-3 of the
    largest sample of the observed trace, which counts as 1e-6 of the loudest of its shot and field where it is quieter.
    Envelopes have the low frequencies that
    the traces lack (Wu, Luo and Wu 2014, Geophysics 79, eq. 4; Bozdag, Trampert and Tromp 2011, Geophys. J. Int. 185).

    Parameters
    ----------
    synthetic, observed : (nshots, nt, nrec, nfield) array
        Of one library.
    power : {1, 2}
        2 weighs strong waves more.

    Returns
    -------
    value : array without axes
        The misfit, a sum over shots.
    adjoint_source : array
        Its derivative in `synthetic`, of the shape and dtype of `synthetic`.

    Raises
    ------
    ShapeError, DtypeError, OptionError
        The records differ in shape, are no arrays of one library and dtype, or `power` is another number.
    """
    if not is_whole(power, 1) or power > 2:
        raise OptionError(f"power is {power!r}; expected 1 or 2")
    xp = records(synthetic, observed)
    turned = partial(hilbert, xp)
    scale, level = loudness(xp, observed)
    least = (SHARE * xp.where(level != 0, level, FLOOR + level)) ** 2
    made, wanted = synthetic / scale, observed / scale
    quadrature = turned(made)

    def squared(record: Any, other: Any) -> Any:
        return record**2 + other**2 + least

    size, aim = squared(made, quadrature), squared(wanted, turned(wanted))
    if power == 1:
        size, aim = xp.sqrt(size), xp.sqrt(aim)
    difference = size - aim
    factor = 2 * difference if power == 2 else difference / size
    slope = factor * made - turned(factor * quadrature)
    return 0.5 * xp.sum((scale**power * difference) ** 2), scale ** (2 * power - 1) * slope


def hilbert(xp: Any, record: Any) -> Any:
    """The Hilbert transform along time of a record that is zero before and after. As a matrix it is skew-symmetric: its
    transpose is its negative.
    """
    nt = record.shape[TIME]
    length = padded(nt)
    found = xp.fft.rfft(record, n=length, axis=TIME)
    number = counted(xp, xp.real(found))
    turning = (number > 0) & (number < length // 2)  # neither the mean nor Nyquist
    return xp.fft.irfft(-1j * xp.where(turning, found, 0 * found), n=length, axis=TIME)[:, :nt]
