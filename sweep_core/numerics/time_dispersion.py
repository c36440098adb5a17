"""Time dispersion of the leapfrog, put on a wavelet before the run and taken off a record after it.

At the angular frequency w the leapfrog is exact for theta(w) = (2 / dt) sin(w dt / 2), in any model (Stork 2013; Wang
and Xu 2015). A wavelet of the spectrum S(theta(w)) therefore gives the exact record R(theta(w)). The record at
theta^-1(W) = (2 / dt) asin(W dt / 2) has no error of the time step (Koene, Robertsson, Broggini and Andersson 2018). In
units of 1 / dt both maps depend on the number of samples alone.

Each is a Fourier transform read between its samples and an inverse one: with N = `length` and T a taper,

    y[k] = (1/N) sum over n of T(n) X(read(2 pi n / N)) exp(2 pi i n k / N),      X(w) = sum_j x[j] exp(-i w j)
"""

import math
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from ..errors import DtypeError
from .spectra import fast_length

__all__ = ["disperse", "overrun", "undisperse"]

Array = Any
TAPS = {"float32": 8, "float64": 14}  # of the interpolation: relative error 1e-7 and 1e-13
PASS, STOP = math.pi / 2, 2 * math.pi / 3  # the leapfrog's frequencies, times dt, between which T falls from 1 to 0


def disperse(xp, wavelet: Array, tables: "Tables | None" = None) -> Array:
    """Return the wavelet that drives the leapfrog so that `undisperse` of the record has no error of the time step.

    Parameters
    ----------
    xp : module
        numpy, torch or jax.numpy, whose array `wavelet` is; differentiable and transformable as these are.
    wavelet : (..., nt) float32 or float64 array
        At times k dt. It should start from and end near zero.
    tables : Tables, optional
        `make_tables("disperse", nt, dtype)`, where the caller keeps them as arrays of its own, on its device.

    Returns
    -------
    (..., nt) array of the same dtype
        Frequencies pass up to 0.225 / dt and are gone from 0.276 / dt on.

    Raises
    ------
    DtypeError
    """
    return _apply(xp, wavelet, tables or make_tables("disperse", *_kind(wavelet)))


def undisperse(xp, record: Array, tables: "Tables | None" = None) -> Array:
    """Return the record, time on the last axis, of a run without error of the time step; see `disperse`.

    The end of a trace is wrong where it cuts off a wave: see `overrun`.

    Parameters
    ----------
    xp : module
        Array library of the record, such as numpy or torch.
    record : (..., nt) array
        Record of a run.
    tables : Tables, optional
        Tables of the map; made for the record by default.

    Returns
    -------
    (..., nt) array
        The corrected record.
    """
    return _apply(xp, record, tables or make_tables("undisperse", *_kind(record)))


def overrun(nt: int) -> int:
    """Return the number of samples beyond `nt` that a run needs to correct the first `nt` of its record to 1e-6.

    The map of a record weighs sample k for time j by Ai((k - j) (8 / j)^(1/3)) at low frequencies, where Ai, the Airy
    function, is below 1e-6 of its maximum from 8 (j / 8)^(1/3) samples on. A short record must also be clear of the
    tails of the taper.

    Parameters
    ----------
    nt : int
        Number of samples of the record.

    Returns
    -------
    int
        Number of further samples.
    """
    return max(math.ceil(4 * nt ** (1 / 3)) + 8, 100 - nt // 4)


@attrs.frozen(eq=False)
class Tables:
    """The tables of one map for nt samples.

    Attributes
    ----------
    padded, length : int
        Lengths of the transform that is read and of the inverse one.
    smooth : (nt,) array
        Factor of the samples: 1 over the transform of the interpolating window.
    first : (n,) integer array
        The first tap of each frequency, counted from `1 - taps / 2`. No two frequencies have the same, so the
        derivative adds nothing to one place twice, and its bits do not depend on the order.
    weights : (taps, n) complex array
        The window between samples and the taper.
    """

    padded: int
    length: int
    smooth: np.ndarray
    first: np.ndarray
    weights: np.ndarray


@lru_cache(maxsize=32)
def make_tables(kind: str, nt: int, dtype: str) -> Tables:
    """Return the tables of `disperse` or `undisperse`, which `kind` names; `dtype` is "float32" or "float64"."""
    taps = TAPS[dtype]
    # Nothing wraps around. `disperse` moves what is at sample j to j cos(w / 2) >= 0, and `undisperse` to
    # j / cos(w / 2) <= 2 j by the choice of STOP, in a transform of twice the length. The rest is room for tails: those
    # of the taper (100 to 200 samples) and of the Airy function that ends the moved signal (6 nt^(1/3) samples).
    half = fast_length(nt + nt // 16 + 256)
    padded = 2 * half
    if kind == "disperse":
        length = half
        numerical = 2 * np.pi / length * np.arange(int(STOP / (2 * np.pi) * length) + 1)
        read = 2 * np.sin(numerical / 2)
    else:
        length = padded
        true = 2 * np.pi / length * np.arange(int(2 * math.sin(STOP / 2) / (2 * np.pi) * length) + 1)
        read = numerical = 2 * np.arcsin(true / 2)
    at = read * padded / (2 * np.pi)
    first = np.floor(at).astype(np.int64)
    distance = at - first - (np.arange(taps) + 1 - taps // 2)[:, None]
    # Kaiser-Bessel window (Jackson et al. 1991), shape parameter for twofold oversampling (Beatty et al. 2005, eq. 5).
    # Its transform is meant for samples about the middle one, which the phase moves there.
    beta = np.pi * math.sqrt(0.5625 * taps**2 - 0.8)
    middle = (nt - 1) / 2
    window = np.i0(beta * np.sqrt(np.maximum(1 - (2 * distance / taps) ** 2, 0)))
    root = np.sqrt(beta**2 - (np.pi * taps * (np.arange(nt) - middle) / padded) ** 2)
    weights = _taper(numerical) * window * np.exp(-2j * np.pi * middle / padded * distance)
    tables = [root / np.sinh(root) / taps, first, weights]
    kinds = [np.dtype(dtype), np.dtype(np.int64), np.result_type(dtype, np.complex64)]
    smooth, first, weights = (np.asarray(t, dtype=k) for t, k in zip(tables, kinds, strict=True))
    return Tables(padded, length, smooth, first, weights)


def _kind(signal: Array) -> tuple[int, str]:
    dtype = str(signal.dtype).removeprefix("torch.")
    if dtype not in TAPS:
        raise DtypeError(f"dispersion: the array is {dtype}; expected {' or '.join(TAPS)}")
    return signal.shape[-1], dtype


def _apply(xp, signal: Array, tables: Tables) -> Array:
    torch = hasattr(xp, "index_select")

    def constant(values):
        return xp.as_tensor(values, device=signal.device) if torch else xp.asarray(values)

    def take(x, cells):
        return xp.index_select(x, -1, cells) if torch else xp.take(x, cells, axis=-1)

    first, weights = constant(tables.first), constant(tables.weights)
    taps = weights.shape[0]
    spectrum = xp.fft.rfft(signal * constant(tables.smooth), n=tables.padded)
    below_zero = xp.conj(xp.flip(spectrum[..., 1 : taps // 2], (-1,)))
    spectrum = xp.concatenate([below_zero, spectrum], -1)
    read = sum(weights[tap] * take(spectrum, first + tap) for tap in range(taps))
    result = xp.fft.irfft(read, n=tables.length)[..., : signal.shape[-1]]
    return result if result.dtype == signal.dtype else result.astype(signal.dtype)  # NumPy 1 transforms in float64


def _taper(frequency: np.ndarray) -> np.ndarray:
    """Return a smooth taper, 1 below PASS and 0 above STOP to 1e-12. Its cut rings for at most 200 samples."""
    width = (STOP - PASS) / 10
    return np.array([math.erfc((w - (PASS + STOP) / 2) / width) / 2 for w in frequency.tolist()])
