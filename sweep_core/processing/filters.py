"""Zero-phase filters for records and wavelets, so that both sides of a misfit are filtered in the same way."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.validators import check_positive
from ..errors import DomainError, OptionError
from ..numerics.spectra import padded
from .traces import as_traces, like_data


def bandpass(
    data: Any, dt: float, low: float | None = None, high: float | None = None, *, order: int = 4, axis: int = 1
) -> NDArray[Any]:
    """Pass frequencies between `low` and `high`, with zero phase.

    The filter is a Butterworth filter that runs forward and backward in time. It multiplies the spectrum by
    1 / (1 + (f / high)^(2 order)) and by 1 - 1 / (1 + (f / low)^(2 order)). These real factors are 1/2 (-6 dB) at the
    corners. The filter is a symmetric matrix: it is its own adjoint. The filter spreads a trace to both sides, so a
    wavelet needs quiet time before its onset: one period of `low` or more.

    Parameters
    ----------
    data : array
        Record (nshots, nt, nrec, nfield), or any traces with time along `axis`. They are zero before and after.
    dt : float
        Sampling interval (s).
    low, high : float, optional
        Corners (Hz), below the Nyquist frequency. `low` alone makes a high-pass, `high` alone a low-pass.
    order : int
        Order of the Butterworth filter that runs twice, from 1 to 20.
    axis : int
        Axis of time: 1 in a record, -1 in a wavelet.

    Returns
    -------
    array
        The same shape, C-contiguous; float32 if the data are float32, otherwise float64.

    Raises
    ------
    DomainError, OptionError, DtypeError, ShapeError
        The corners do not fit each other or `dt`, the data are not real and finite, or they have no such axis.

    Examples
    --------
    >>> from sweep_core import ricker
    >>> bandpass(ricker(10.0, nt=500, dt=0.002), dt=0.002, low=4.0, high=8.0, axis=-1).shape
    (500,)
    """
    traces = as_traces(data, axis)
    dt = check_positive(dt, "dt", "seconds")
    if low is None and high is None:
        raise OptionError("neither low nor high is given; expected one or both, in Hz")
    if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= 20:
        raise OptionError(f"order is {order!r}; expected a whole number from 1 to 20")
    corners = {name: check_positive(f, name, "Hz") for name, f in (("low", low), ("high", high)) if f is not None}
    for name, corner in corners.items():
        if corner >= 0.5 / dt:
            raise DomainError(f"{name} is {corner:g} Hz; expected less than the Nyquist frequency {0.5 / dt:g} Hz")
    if len(corners) == 2 and corners["low"] >= corners["high"]:
        raise DomainError(f"low is {corners['low']:g} Hz, high is {corners['high']:g} Hz; expected low below high")
    nt = traces.shape[-1]
    length = padded(nt)
    frequencies = np.fft.rfftfreq(length, dt)
    factor = np.ones(len(frequencies))
    if "high" in corners:
        factor /= 1 + (frequencies / corners["high"]) ** (2 * order)
    if "low" in corners:
        factor *= 1 - 1 / (1 + (frequencies / corners["low"]) ** (2 * order))
    spectra = np.fft.rfft(traces, length) * factor.astype(traces.dtype)  # keeps single precision
    return like_data(np.fft.irfft(spectra, length)[..., :nt], axis, traces.dtype)


def lowpass(data: Any, dt: float, high: float, *, order: int = 4, axis: int = 1) -> NDArray[Any]:
    """Pass frequencies below `high`, with zero phase; see `bandpass`.

    Parameters
    ----------
    data : array
        Record (nshots, nt, nrec, nfield), or any traces with time along `axis`. They are zero before and after.
    dt : float
        Sampling interval (s).
    high : float
        Corner (Hz), below the Nyquist frequency.
    order : int
        Order of the Butterworth filter that runs twice.
    axis : int
        Axis of time: 1 in a record, -1 in a wavelet.

    Returns
    -------
    array
        The same shape, C-contiguous; float32 if the data are float32, otherwise float64.

    Raises
    ------
    DomainError, OptionError, DtypeError, ShapeError
        As for `bandpass`.
    """
    return bandpass(data, dt, None, high, order=order, axis=axis)


def spectrum(data: Any, dt: float, *, axis: int = 1) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the amplitude spectrum of all traces.

    Parameters
    ----------
    data : array
        Record (nshots, nt, nrec, nfield), or any traces with time along `axis`. They are zero before and after.
    dt : float
        Sampling interval (s).
    axis : int
        Axis of time: 1 in a record, -1 in a wavelet.

    Returns
    -------
    frequencies : (n,) float64
        Frequencies from 0 to Nyquist (Hz).
    amplitude : (n,) float64
        The root mean square over traces of ``|dt sum_k x[k] exp(-2 pi i f k dt)|``, in the unit of the data times
        seconds. Traces of zeros do not count.

    Raises
    ------
    DomainError, DtypeError, ShapeError
        A number is out of bounds, the data are not real and finite, or they have no such axis.
    """
    traces = as_traces(data, axis)
    dt = check_positive(dt, "dt", "seconds")
    traces = traces.reshape(-1, traces.shape[-1])
    traces = traces[traces.any(axis=1)]
    length = traces.shape[1]
    power = (np.abs(np.fft.rfft(traces.astype(np.float64))) ** 2).sum(axis=0) / max(1, len(traces))
    return np.fft.rfftfreq(length, dt), dt * np.sqrt(power)
