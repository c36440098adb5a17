"""Source wavelets."""

from typing import Any

import numpy as np

from .._util.peer_names import RICKER
from .._util.validators import check_number, check_positive, named_arguments
from ..errors import DomainError
from ..numerics.spectra import padded


@named_arguments(RICKER)
def ricker(freq: float, nt: int, dt: float, delay: float | None = None) -> np.ndarray:
    """Return a Ricker wavelet, the negative second derivative of a Gaussian (Ricker 1953, Geophysics 18, eq. 16).

    w(t) = (1 - 2 a) exp(-a),  a = (pi freq (t - delay))^2,  t = k dt.

    Parameters
    ----------
    freq : float
        Peak frequency, Hz.
    nt : int
        Samples.
    dt : float
        Sampling interval, s.
    delay : float, optional
        Time of the peak, s; 1.5 / freq by default, where the wavelet starts from 3e-9 of its peak.

    Returns
    -------
    (nt,) float64

    Raises
    ------
    DtypeError
        If an argument is not a number.
    DomainError
        If `freq` or `dt` is not positive, `nt` is not a positive whole number, or the peak frequency lies above
        the Nyquist frequency 1 / (2 dt).

    Examples
    --------
    >>> wavelet = ricker(10.0, nt=1000, dt=0.001)
    >>> int(wavelet.argmax()), float(wavelet.max())
    (150, 1.0)
    """
    freq, dt = check_positive(freq, "ricker: freq", "Hz"), check_positive(dt, "ricker: dt", "seconds")
    delay = 1.5 / freq if delay is None else check_number(delay, "ricker: delay", "seconds")
    if (count := check_number(nt, "ricker: nt", "a whole number of samples")) < 1 or count % 1:
        raise DomainError(f"ricker: nt is {nt}; expected a positive whole number of samples")
    if freq > 0.5 / dt:
        raise DomainError(f"ricker: {freq:g} Hz lies above the Nyquist frequency {0.5 / dt:g} Hz of dt = {dt:g} s")
    a = (np.pi * freq * (np.arange(count) * dt - delay)) ** 2
    return (1 - 2 * a) * np.exp(-a)


def highest_frequency(samples: Any, dt: float) -> float:
    """Return the frequency (Hz) above which amplitude spectra stay below 1 % of their maximum; 0 for zeros.

    Parameters
    ----------
    samples : array
        Signals, along the last axis at multiples of `dt`, in s, and zero before and after: a sudden end has all
        frequencies.
    """
    length = padded(np.shape(samples)[-1])
    spectrum = np.abs(np.fft.rfft(np.asarray(samples, dtype=np.float64), length))
    strong = spectrum.reshape(-1, spectrum.shape[-1]).max(axis=0)
    above = np.flatnonzero(strong > 0.01 * strong.max())
    return float(above[-1] / (length * dt)) if above.size else 0.0


def energy_below(samples: Any, dt: float, part: float) -> float:
    """Return the frequency (Hz) below which `part` of the energy of all signals lies; 0 for zeros.

    Parameters
    ----------
    samples : array
        Signals, along the last axis at multiples of `dt`, in s.
    part : float
        0 to 1.
    """
    frequencies, energy = energy_spectrum(samples, dt)
    total = np.cumsum(energy)
    return float(frequencies[np.searchsorted(total, part * total[-1])]) if total[-1] > 0 else 0.0


def energy_spectrum(samples: Any, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (frequencies in Hz, energy at each of them) of all signals, relative to their largest sample."""
    samples = np.asarray(samples, dtype=np.float64).reshape(-1, np.shape(samples)[-1])
    largest = np.abs(samples).max(initial=0.0)
    spectrum = np.fft.rfft(samples / (largest or 1.0), axis=-1)
    return np.fft.rfftfreq(samples.shape[-1], dt), (np.abs(spectrum) ** 2).sum(axis=0)
