"""Gains, which show late arrivals or equalise traces. Apply the same gain to observed and to modelled data."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.validators import check_number, check_positive
from ..errors import DomainError
from .traces import as_traces, like_data


def time_gain(data: Any, dt: float, power: float = 1.0, *, axis: int = 1) -> NDArray[Any]:
    """Multiply traces by t^power, with t in seconds.

    A power of 1 removes the geometrical spreading of a point source, 0.5 that of a line source.

    Parameters
    ----------
    data : array
        Record (nshots, nt, nrec, nfield), or any traces with time along `axis`. They are zero before and after.
    dt : float
        Sampling interval (s).
    power : float
        Exponent, from 0 on.
    axis : int
        Axis of time: 1 in a record, -1 in a wavelet.

    Returns
    -------
    array
        The same shape, C-contiguous; float32 if the data are float32, otherwise float64.

    Raises
    ------
    DomainError, DtypeError, ShapeError
        A number is out of bounds, the data are not real and finite, or they have no such axis.
    """
    traces, dt = as_traces(data, axis), check_positive(dt, "dt", "seconds")
    if check_number(power, "power", "0 or more") < 0:
        raise DomainError(f"power is {power}; expected 0 or more")
    return like_data(traces * (np.arange(traces.shape[-1]) * dt) ** power, axis, traces.dtype)


def balance(data: Any, *, axis: int = 1) -> NDArray[Any]:
    """Divide each trace by its root mean square; traces of zeros stay zero.

    Parameters
    ----------
    data : array
        Record (nshots, nt, nrec, nfield), or any traces with time along `axis`.
    axis : int
        Axis of time: 1 in a record, -1 in a wavelet.

    Returns
    -------
    array
        The same shape, C-contiguous; float32 if the data are float32, otherwise float64.

    Raises
    ------
    DomainError, DtypeError, ShapeError
        The data are not real and finite, or they have no such axis.
    """
    traces = as_traces(data, axis)
    rms = np.sqrt(np.mean(traces.astype(np.float64) ** 2, axis=-1, keepdims=True))
    return like_data(traces / np.where(rms == 0, 1, rms), axis, traces.dtype)


def agc(data: Any, dt: float, window: float, *, axis: int = 1) -> NDArray[Any]:
    """Apply automatic gain control: divide each sample by the root mean square of the `window` seconds around it.

    The gain does not keep amplitudes and is not linear. Use it for pictures, not for data that a misfit compares. A
    root mean square below 1e-3 of the largest one of the trace is replaced by that limit.

    Parameters
    ----------
    data : array
        Record (nshots, nt, nrec, nfield), or any traces with time along `axis`. They are zero before and after.
    dt : float
        Sampling interval (s).
    window : float
        Length of the window (s). The ends of the trace cut the window.
    axis : int
        Axis of time: 1 in a record, -1 in a wavelet.

    Returns
    -------
    array
        The same shape, C-contiguous; float32 if the data are float32, otherwise float64.

    Raises
    ------
    DomainError, DtypeError, ShapeError
        A number is out of bounds, the data are not real and finite, or they have no such axis.
    """
    traces, dt = as_traces(data, axis), check_positive(dt, "dt", "seconds")
    half = max(1, round(0.5 * check_positive(window, "window", "seconds") / dt))
    nt = traces.shape[-1]
    running = np.concatenate(
        [np.zeros((*traces.shape[:-1], 1)), np.cumsum(traces.astype(np.float64) ** 2, -1)], axis=-1
    )
    last, first = np.minimum(np.arange(nt) + half + 1, nt), np.maximum(np.arange(nt) - half, 0)
    rms = np.sqrt(np.maximum(running[..., last] - running[..., first], 0) / (last - first))
    least = 1e-3 * rms.max(axis=-1, keepdims=True)
    return like_data(traces / np.where(least == 0, 1, np.maximum(rms, least)), axis, traces.dtype)
