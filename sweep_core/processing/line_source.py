"""Conversion of point-source data to line-source data, so that 2-D modelling can explain field data.

Far from the source the waves of a line source are those of a point source times sqrt(2 pi r c / omega) exp(i pi / 4),
for the time factor exp(-i omega t). This factor changes the amplitude, and the phase by an eighth of a period. In time
it is a half integral (the convolution with 1 / sqrt(pi t)) and a factor of distance and velocity (Crase, Pica, Noble,
McDonald and Tarantola 1990, Geophysics 55; Forbriger, Groos and Schäfer 2014, Geophysical Journal International 198).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.validators import check_number, check_positive
from ..errors import DomainError, DtypeError, OptionError, ShapeError
from ..numerics.spectra import padded
from .traces import as_traces, like_data


def half_integral(data: Any, dt: float, *, axis: int = 1) -> NDArray[Any]:
    """Convolve with 1 / sqrt(pi t), which multiplies spectra by (i omega)^(-1/2).

    The convolution is exact for data that are linear between samples.

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
    array
        The same shape, C-contiguous; float32 if the data are float32, otherwise float64.

    Raises
    ------
    DomainError, DtypeError, ShapeError
        A number is out of bounds, the data are not real and finite, or they have no such axis.
    """
    traces, dt = as_traces(data, axis), check_positive(dt, "dt", "seconds")
    nt = traces.shape[-1]
    k = np.arange(nt + 1, dtype=np.float64)
    power = np.concatenate([[1.0], k**1.5])  # |k|^1.5 from k = -1 on; weights[0] comes from one half of the hat
    weights = power[2:] - 2 * power[1:-1] + power[:-2]
    weights[0] = 1.0
    weights *= 4 / 3 * np.sqrt(dt / np.pi)
    length = padded(nt)
    integral = np.fft.irfft(np.fft.rfft(traces, length) * np.fft.rfft(weights, length), length)[..., :nt]
    return like_data(integral, axis, traces.dtype)


def to_line_source(
    record: Any, dt: float, *, velocity: float | None = None, offset: Any = None, delay: float = 0.0, axis: int = 1
) -> NDArray[Any]:
    """Convert the record of a point source to that of a line source with the same wavelet.

    The function takes the half integral of the record and multiplies it by a factor. The factor is sqrt(2 pi t)
    velocity for reflections, whose distance is velocity times t, or sqrt(2 pi / t) offset for direct waves of any
    velocity. The result is exact far from the source in a uniform medium, and an approximation elsewhere.

    Parameters
    ----------
    record : (nshots, nt, nrec, nfield) array
        Record, or any traces with time along `axis`.
    dt : float
        Sampling interval (s).
    velocity : float, optional
        Velocity of reflections (m/s).
    offset : array, optional
        Offset of direct waves (m): (nshots, nrec), or a shape that fits the other axes of the record.
    delay : float
        Time of the wavelet's centre (s), where the time t of the factor starts: 0 if the source acts at time zero.
    axis : int
        Axis of time: 1 in a record, -1 in a wavelet.

    Returns
    -------
    array
        The same shape, C-contiguous; float32 if the record is float32, otherwise float64.

    Raises
    ------
    OptionError
        Neither or both of `velocity` and `offset` are given.
    DomainError, DtypeError, ShapeError
        Numbers or data are not real and finite, or the offset does not fit the record.
    """
    if (velocity is None) == (offset is None):
        count = "neither" if velocity is None else "both"
        raise OptionError(
            f"{count} of velocity and offset are given; expected one of them: velocity= for reflections, "
            "offset= for direct waves"
        )
    traces = as_traces(half_integral(record, dt, axis=axis), axis)
    delay = check_number(delay, "delay", "seconds")
    times = np.maximum(np.arange(traces.shape[-1]) * dt - delay, 0)
    if velocity is not None:
        factor: NDArray[Any] = np.sqrt(2 * np.pi * times) * check_positive(velocity, "velocity", "metres per second")
    else:
        try:
            offset = np.abs(np.asarray(offset, dtype=np.float64))
        except (TypeError, ValueError):
            raise DtypeError(f"offset is {offset!r}; expected metres, a number or an array") from None
        if not np.isfinite(offset).all():
            raise DomainError("offset holds NaN or infinite values; expected metres")
        offset = offset.reshape(
            *offset.shape, *[1] * (traces.ndim - offset.ndim)
        )  # (nshots, nrec) -> (nshots, nrec, nfield, nt)
        times[times == 0] = np.inf
        factor = np.sqrt(2 * np.pi / times) * offset
    try:
        line_data = np.broadcast_to(factor, traces.shape) * traces
    except ValueError:
        shape = tuple(np.delete(np.shape(record), axis).tolist())
        raise ShapeError(
            f"offset does not fit a record whose other axes are {shape}; expected (nshots, nrec)"
        ) from None
    return like_data(line_data, axis, traces.dtype)
