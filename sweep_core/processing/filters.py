"""Filters of zero phase, the same for records and wavelets, so that both sides of a misfit are filtered alike."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.validators import check_positive
from ..errors import DomainError, OptionError
from ..numerics.spectra import padded
from .traces import as_traces, put_back


def bandpass(
    data: Any, dt: float, low: float | None = None, high: float | None = None, *, order: int = 4, axis: int = 1
) -> NDArray[Any]:
    """Pass frequencies between `low` and `high`, with zero phase: Butterworth run forward and backward in time.

    The spectrum is multiplied by 1 / (1 + (f / high)^(2 order)) and by 1 - 1 / (1 + (f / low)^(2 order)), real factors
    that are 1/2 (-6 dB) at the corners. As a matrix the filter is symmetric: it is its own adjoint. It spreads a trace
    to both sides, so a wavelet needs quiet time before its onset, of a period of `low` or more.

    Parameters
    ----------
    data : array
        Record (nshots, nt, nrec, nfield), or any traces with time along `axis`; taken as zero before and after.
    dt : float
        Sampling interval (s).
    low, high : float, optional
        Corners (Hz), below the Nyquist frequency; without one it is a high-pass or a low-pass.
    order : int
        Order of the Butterworth filter that is run twice.
    axis : int
        Axis of time: 1 in a record, -1 in a wavelet.

    Returns
    -------
    array of the same shape, C-contiguous; float32 of float32, otherwise float64

    Raises
    ------
    DomainError, OptionError, DtypeError, ShapeError
        For corners that do not fit each other or `dt`, data that are not real and finite, or no such axis.

    Examples
    --------
    >>> from sweep_core import ricker
    >>> bandpass(ricker(10.0, nt=500, dt=0.002), dt=0.002, low=4.0, high=8.0, axis=-1).shape
    (500,)
    """
    traces = as_traces(data, axis)
    dt = check_positive(dt, "dt", "seconds")
    if low is None and high is None:
        raise OptionError("neither low nor high is given; expected one of them, or both, in Hz")
    if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= 20:
        raise OptionError(f"order is {order!r}; expected a whole number from 1 to 20")
    corners = {name: check_positive(f, name, "Hz") for name, f in (("low", low), ("high", high)) if f is not None}
    for name, corner in corners.items():
        if corner >= 0.5 / dt:
            raise DomainError(f"{name} is {corner:g} Hz; expected less than the Nyquist frequency {0.5 / dt:g} Hz")
    if len(corners) == 2 and corners["low"] >= corners["high"]:
        raise DomainError(f"low is {corners['low']:g} Hz, high {corners['high']:g}; expected low below high")
    nt = traces.shape[-1]
    length = padded(nt)
    frequencies = np.fft.rfftfreq(length, dt)
    factor = np.ones(len(frequencies))
    if "high" in corners:
        factor /= 1 + (frequencies / corners["high"]) ** (2 * order)
    if "low" in corners:
        factor *= 1 - 1 / (1 + (frequencies / corners["low"]) ** (2 * order))
    spectra = np.fft.rfft(traces, length) * factor.astype(traces.dtype)  # of single precision, they stay so
    found = np.fft.irfft(spectra, length)[..., :nt]
    return put_back(found, axis, traces.dtype)


def lowpass(data: Any, dt: float, high: float, *, order: int = 4, axis: int = 1) -> NDArray[Any]:
    """Pass frequencies below `high`, with zero phase; see `bandpass`.

    Parameters
    ----------
    data : array
        Record (nshots, nt, nrec, nfield), or any traces with time along `axis`; zero before and after.
    dt : float
        Sampling interval (s).
    high : float
        Corner (Hz), below the Nyquist frequency.
    order : int
        Order of the Butterworth filter that is run twice.
    axis : int
        Axis of time: 1 in a record, -1 in a wavelet.

    Returns
    -------
    array of the same shape, C-contiguous; float32 of float32, otherwise float64

    Raises
    ------
    DomainError, OptionError, DtypeError, ShapeError
        As for `bandpass`.
    """
    return bandpass(data, dt, None, high, order=order, axis=axis)


def spectrum(data: Any, dt: float, *, axis: int = 1) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the amplitude spectrum of all traces together.

    Parameters
    ----------
    data : array
        Record (nshots, nt, nrec, nfield), or any traces with time along `axis`; zero before and after.
    dt : float
        Sampling interval (s).
    axis : int
        Axis of time: 1 in a record, -1 in a wavelet.

    Returns
    -------
    frequencies : (n,) float64
        Hz, from 0 to Nyquist.
    amplitude : (n,) float64
        The root mean square over traces of ``|dt sum_k x[k] exp(-2 pi i f k dt)|``, in the unit of the data times
        seconds; traces that are zero throughout do not count.

    Raises
    ------
    DomainError, DtypeError, ShapeError
        For a number out of bounds, data that are not real and finite, or no such axis.
    """
    traces = as_traces(data, axis)
    dt = check_positive(dt, "dt", "seconds")
    traces = traces.reshape(-1, traces.shape[-1])
    traces = traces[traces.any(axis=1)]
    length = traces.shape[1]
    power = (np.abs(np.fft.rfft(traces.astype(np.float64))) ** 2).sum(axis=0) / max(1, len(traces))
    return np.fft.rfftfreq(length, dt), dt * np.sqrt(power)
