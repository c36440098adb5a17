"""A misfit of the envelopes of traces, for waves that differ by more than half a period."""

from functools import partial
from typing import Any

from .._util.validators import is_whole
from ..errors import OptionError
from ..numerics.spectra import padded
from ..typing import Record
from .records import FLOOR, TIME, amplitude_levels, check_records, sample_numbers

OFFSET = 1e-3
"""The constant in an envelope, relative to the largest sample of the observed trace. It keeps envelopes above zero, and
amplitudes below it hardly count.
"""


def envelope(synthetic: Record, observed: Record, power: int = 1) -> tuple[Any, Any]:
    """Return 0.5 sum (E(s)^power - E(d)^power)^2, and its derivative in s.

    s is `synthetic` and d is `observed`. The envelope is E(x)^2 = x^2 + (H x)^2 + c^2. The matrix H is the Hilbert
    transform along time of a record that is zero before and after. The constant c is 1e-3 of the largest sample of the
    observed trace, or of 1e-6 of the loudest trace of its shot and field if that is larger.

    Envelopes have the low frequencies that the traces lack (Wu, Luo and Wu 2014, Geophysics 79, eq. 4; Bozdag, Trampert
    and Tromp 2011, Geophys. J. Int. 185).

    Parameters
    ----------
    synthetic, observed : (nshots, nt, nrec, nfield) array
        Modelled and observed records, of one array library and one dtype.
    power : {1, 2}
        Power of the envelopes. 2 weighs strong waves more.

    Returns
    -------
    value : array without axes
        The misfit, a sum over shots.
    adjoint_source : array
        Its derivative in `synthetic`, of the shape and dtype of `synthetic`.

    Raises
    ------
    ShapeError, DtypeError, OptionError
        The records differ in shape, are not arrays of one library and dtype, or `power` is neither 1 nor 2.
    """
    if not is_whole(power, 1) or power > 2:
        raise OptionError(f"power is {power!r}; expected 1 or 2")
    xp = check_records(synthetic, observed)
    transform = partial(hilbert, xp)
    scale, level = amplitude_levels(xp, observed)
    offset = (OFFSET * xp.where(level != 0, level, FLOOR + level)) ** 2
    modelled, target = synthetic / scale, observed / scale
    quadrature = transform(modelled)

    def squared_envelope(record: Any, quadrature: Any) -> Any:
        return record**2 + quadrature**2 + offset

    envelopes, targets = squared_envelope(modelled, quadrature), squared_envelope(target, transform(target))
    if power == 1:
        envelopes, targets = xp.sqrt(envelopes), xp.sqrt(targets)
    difference = envelopes - targets
    factor = 2 * difference if power == 2 else difference / envelopes
    derivative = factor * modelled - transform(factor * quadrature)
    return 0.5 * xp.sum((scale**power * difference) ** 2), scale ** (2 * power - 1) * derivative


def hilbert(xp: Any, record: Any) -> Any:
    """Return the Hilbert transform along time of a record that is zero before and after.

    The transform is a skew-symmetric matrix: its transpose is its negative.
    """
    nt = record.shape[TIME]
    length = padded(nt)
    spectrum = xp.fft.rfft(record, n=length, axis=TIME)
    number = sample_numbers(xp, xp.real(spectrum))
    is_rotated = (number > 0) & (number < length // 2)  # neither the mean nor Nyquist
    return xp.fft.irfft(-1j * xp.where(is_rotated, spectrum, 0 * spectrum), n=length, axis=TIME)[:, :nt]
