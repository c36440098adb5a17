"""Samples at another interval: wavelets, and records of many traces at once."""

import math
import operator
from typing import Any

import numpy as np

from .._util.validators import check_number
from ..errors import DomainError, DtypeError, ShapeError

HALF = 40
"""Samples on either side of a new one, of the coarser of the two intervals."""
_STOP = 120.0  # dB
_BETA = 0.1102 * (_STOP - 8.7)  # of the Kaiser window (Kaiser 1974)
_FALL = (_STOP - 7.95) / (14.36 * HALF)  # of Nyquist: how wide the window falls from passing to stopping


def sampled(samples: Any, sample_dt: float, nt: int, dt: float, axis: int = -1, start: float = 0.0) -> np.ndarray:
    """Return samples at the time step of the modelling, interpolated or decimated with zero phase.

    y(k dt) = sum_j x[j] h(k dt - start - j sample_dt), h a sinc in a Kaiser window of 40 samples on either side.
    Frequencies up to 0.9 of the Nyquist frequency of `sample_dt` are kept to 1e-6. Where `dt` is the larger one it is a
    low-pass as well, which passes up to 0.8 of the new Nyquist frequency and nothing above it.

    Parameters
    ----------
    samples : array
        Real numbers, at `start`, `start + sample_dt`, ... along `axis`, starting and ending near zero.
    sample_dt, dt : float
        Intervals of the samples and of the result, s.
    nt : int
        Samples of the result, the first at time zero.
    axis : int
        Axis of time.
    start : float
        Time of the first sample, s: a delay of the recording.

    Returns
    -------
    array in C order
        `nt` samples along `axis`, zero outside the time of `samples`; float32 of float32, otherwise float64.

    Raises
    ------
    ShapeError, DtypeError, DomainError

    Examples
    --------
    >>> from sweep_core import ricker
    >>> sampled(ricker(10.0, nt=200, dt=0.002), 0.002, nt=400, dt=0.001).shape
    (400,)
    """
    samples = np.asarray(samples)
    if samples.dtype.kind not in "iuf":
        raise DtypeError(f"sampled: samples are of dtype {samples.dtype}; expected real numbers")
    if samples.ndim == 0 or samples.size == 0 or not -samples.ndim <= axis < samples.ndim:
        raise ShapeError(f"sampled: samples have shape {samples.shape}; expected at least one, along axis {axis}")
    if not np.isfinite(samples).all():
        raise DomainError("sampled: samples hold NaN or infinite values; expected finite numbers")
    for name, value in (("sample_dt", sample_dt), ("dt", dt)):
        if isinstance(value, str) or np.ndim(value) or not 0 < value < math.inf:
            raise DomainError(f"sampled: {name} is {value} s; expected a positive number of seconds")
    check_number(start, "sampled: start", "seconds")
    nt = _count(nt)
    samples = np.moveaxis(samples, axis, 0)
    dtype = samples.dtype if samples.dtype == np.float32 else np.dtype(np.float64)
    times = (np.arange(nt) * dt - start) / sample_dt
    times = np.where(abs(times - np.rint(times)) < 1e-6, np.rint(times), times)  # 3 dt / dt may be 3.0000000000000004
    first, weights = _weights(times, max(1.0, dt / sample_dt), len(samples))
    result = np.zeros((nt, *samples.shape[1:]), dtype)
    last = len(samples) - 1
    for tap, column in enumerate(weights.T):
        index = first + tap
        column = np.where((index >= 0) & (index <= last), column, 0).astype(dtype)
        result += column.reshape(-1, *[1] * (samples.ndim - 1)) * samples[np.clip(index, 0, last)]
    return np.ascontiguousarray(np.moveaxis(result, 0, axis))


def _count(nt: Any) -> int:
    try:
        nt = operator.index(nt)
    except TypeError:
        raise DtypeError(f"sampled: nt is {nt!r}; expected a whole number of samples") from None
    if nt < 1:
        raise DomainError(f"sampled: nt is {nt}; expected a positive whole number of samples")
    return nt


def _weights(times: np.ndarray, ratio: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first tap and weights (nt, taps) at `times`, in samples.

    `ratio` is the new interval over the old, from 1 on.
    """
    if ratio == 1 and (times == np.rint(times)).all():  # each is one of the old
        return times.astype(np.int64), ((times >= 0) & (times < count)).astype(np.float64)[:, None]
    half = math.ceil(HALF * ratio)
    cut = 1.0 if ratio == 1 else (1 - _FALL / 2) / ratio  # the fall is centred on Nyquist, or ends there
    first = np.floor(times).astype(np.int64) - half + 1
    away = times[:, None] - (first[:, None] + np.arange(2 * half))
    window = np.i0(_BETA * np.sqrt(np.maximum(1 - (away / half) ** 2, 0))) / np.i0(_BETA)
    weights = np.sinc(cut * away) * window
    weights /= weights.sum(axis=1, keepdims=True)
    weights[(times < 0) | (times > count - 1)] = 0
    return first, weights
