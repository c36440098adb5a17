"""Samples of traces, and a check of their format."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError, DomainError, DtypeError
from .layout import FORMATS, Layout

_CHECKED_TRACES = 64  # traces whose samples the check of the format reads
_HEX_DIGIT = 0x00F00000  # the first digit of the fraction of an IBM float, never zero in a normalised one


def read_samples(layout: Layout, which: Any, dtype: Any) -> NDArray[Any]:
    """Return the (n, nt) samples of some traces in C order.

    Parameters
    ----------
    layout : Layout
        The file.
    which : slice or integer array, optional
        Traces, counted from 0 in the order of the file; all by default.
    dtype : numpy.dtype
        float32 or float64.

    Raises
    ------
    DataError, DomainError, DtypeError
        A sample is not finite, there is no such trace, or `dtype` is another one.
    """
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise DtypeError(f"dtype is {dtype}; expected float32 or float64")
    which = slice(None) if which is None else which
    if not isinstance(which, slice):
        which = np.asarray(which, dtype=np.int64)
        if which.ndim != 1 or not ((which >= 0) & (which < layout.ntraces)).all():
            raise DomainError(f"traces are {which}; expected 0 to {layout.ntraces - 1}, the traces of {layout.path}")
    samples = _as_floats(layout, np.asarray(layout.open()["samples"][which]), np.dtype(dtype))
    wrong = ~np.isfinite(samples)
    if wrong.any():
        row, k = (int(n) for n in np.argwhere(wrong)[0])
        trace = range(layout.ntraces)[which][row] if isinstance(which, slice) else int(which[row])
        raise DataError(
            f"{layout.path}: sample {k} of trace {trace} is {samples[row, k]}, as are {np.count_nonzero(wrong) - 1} "
            f"more; expected finite numbers: leave the trace out (dead=[{trace}])"
        )
    return samples


def _as_floats(layout: Layout, samples: NDArray[Any], dtype: np.dtype) -> NDArray[Any]:
    if layout.format == 1:
        fraction, exponent = samples & 0x00FFFFFF, (samples >> 24) & 0x7F
        samples = np.where(samples >> 31, -1.0, 1.0) * np.ldexp(
            fraction.astype(np.float64), 4 * (exponent - 70.0).astype(int)
        )
    with np.errstate(over="ignore"):  # a double beyond float32 becomes infinite, which the caller refuses
        return np.ascontiguousarray(samples, dtype=dtype)


def check_format(layout: Layout) -> None:
    """Raise a DataError if the bits of the samples do not fit the format that the header states.

    IBM floats are normalised: the first hexadecimal digit of their fraction is not zero. About one in sixteen IEEE
    floats has a zero there: the last bit of the exponent and the first three bits of the fraction. Floats that are read
    as integers have no small values.
    """
    stride = max(1, layout.ntraces // _CHECKED_TRACES)
    words = np.asarray(layout.open()["samples"][::stride][:_CHECKED_TRACES])
    if words.itemsize != 4:
        return
    words = np.unique(words.view(f"{layout.order}u4").astype(np.uint32))
    words = words[(words & 0x00FFFFFF) != 0]
    unnormalised = (words & _HEX_DIGIT) == 0
    bits = ""
    if layout.format == 1 and len(words) >= 64 and unnormalised.mean() > 0.01:
        bits = f"{unnormalised.mean():.0%} of them are not normalised, as IEEE floats"
    elif layout.format == 5 and _is_ibm(words, unnormalised):
        bits = "all are normalised to base 16, as IBM floats"
    elif layout.format in (2, 10) and len(words) >= 64:
        least = int(np.abs(words.view(np.int32).astype(np.int64)).min())
        if least >= 1 << 24:
            bits = f"the smallest is {least}, as floats read as integers"
    if bits:
        raise DataError(
            f"{layout.path} states samples of format {layout.format} ({FORMATS[layout.format][1]}); their bits "
            f"contradict this format: {bits}. Pass the right one as sample_format="
        )


def _is_ibm(words: NDArray[Any], unnormalised: NDArray[np.bool_]) -> bool:
    """Return True if no word has a zero digit, although many even exponents of IEEE floats occur.

    Among IEEE floats of an even exponent, one in eight would have a zero digit.
    """
    if unnormalised.any():
        return False
    exponents = (words >> 23) & 0xFF
    many = np.bincount(exponents[exponents % 2 == 0].astype(np.int64), minlength=256)
    return int((many >= 16).sum()) >= 4


def is_dead(samples: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask (n,) of the traces (n, nt) whose samples are all the same."""
    return (samples == samples[:, :1]).all(axis=1)


def is_clipped(samples: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask (n,) of the traces (n, nt) that stay at their extreme for three samples or more."""
    peak = np.abs(samples).max(axis=1, keepdims=True)
    is_peak = (np.abs(samples) == peak) & (peak > 0)
    return (is_peak[:, 2:] & is_peak[:, 1:-1] & is_peak[:, :-2]).any(axis=1)
