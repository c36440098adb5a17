"""Mutes: weights (nshots, nt, nrec, 1) from 0 to 1 that multiply both sides of a misfit."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.validators import check_number, check_positive, check_width
from ..errors import DomainError, DtypeError, ShapeError
from ..io.gathers import Gathers, check_field, check_gathers


def _taper(distance: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """Return 1 where `distance` is zero or more, and a cosine that falls to zero at -width."""
    if width == 0:
        return (distance >= -1e-9).astype(np.float64)
    return 0.5 + 0.5 * np.cos(np.pi * np.clip(-distance / width, 0, 1))


def mute_time(gathers: Gathers, begin: Any = -math.inf, end: Any = math.inf, *, taper: float = 0.0) -> NDArray[Any]:
    """Return weights of one from `begin` to `end` that fall to zero over `taper` outside.

    `begin=0.1 + abs(gathers.offsets) / 1500` is a linear moveout. `begin=first_breaks(gathers)` mutes the samples
    before the first break.

    Parameters
    ----------
    gathers : Gathers
        Data with offsets.
    begin, end : float or (nshots, nrec) array
        Times (s). NaN mutes the whole trace: it stands for a trace without a first break.
    taper : float
        Length of the taper (s), outside of `begin` and `end`.

    Returns
    -------
    (nshots, nt, nrec, 1) array
        Weights, of the dtype of the data.

    Raises
    ------
    DomainError, DtypeError, ShapeError
        `begin` is after `end`, or an argument has another kind or shape.
    """
    check_gathers(gathers, ", which know the offsets")
    width, times = check_width(taper, "taper", "seconds"), gathers.times[:, None]
    edges = []
    for name, edge in (("begin", begin), ("end", end)):
        edge = np.asarray(edge)
        if edge.dtype.kind not in "fiu":
            raise DtypeError(f"{name} is {edge.tolist()!r}; expected seconds")
        if edge.shape not in ((), gathers.receiver_mask.shape):
            raise ShapeError(
                f"{name} has shape {edge.shape}; expected a number or (nshots, nrec) = {gathers.receiver_mask.shape}"
            )
        edges.append(np.broadcast_to(edge.astype(np.float64), gathers.receiver_mask.shape)[:, None])
    if (edges[0] > edges[1]).all():
        raise DomainError(f"begin is {begin}, end is {end}; expected seconds, begin before end")
    weights = _taper(times - edges[0], width) * _taper(edges[1] - times, width)
    weights = np.where(np.isnan(edges[0] + edges[1]), 0, weights) if np.isnan(edges).any() else weights
    return np.ascontiguousarray(weights[..., None], dtype=gathers.observed.dtype)


def mute_offset(
    gathers: Gathers, nearest: float = 0.0, farthest: float = math.inf, *, taper: float = 0.0
) -> NDArray[Any]:
    """Return weights of one for offsets from `nearest` to `farthest` that fall to zero over `taper` outside.

    Parameters
    ----------
    gathers : Gathers
        Data with offsets.
    nearest, farthest : float
        Magnitudes of offsets (m).
    taper : float
        Length of the taper (m), outside of `nearest` and `farthest`.

    Returns
    -------
    (nshots, nt, nrec, 1) array
        Weights, of the dtype of the data.

    Raises
    ------
    DomainError, DtypeError
        `nearest` is not below `farthest`, or an argument has another kind.
    """
    check_gathers(gathers, ", which know the offsets")
    check_number(nearest, "nearest", "metres")
    if not (isinstance(farthest, float) and math.isinf(farthest)):
        check_number(farthest, "farthest", "metres")
    if not 0 <= nearest < farthest:
        raise DomainError(
            f"nearest is {nearest} m, farthest is {farthest} m; expected 0 or more, and nearest below farthest"
        )
    width, offsets = check_width(taper, "taper", "metres"), np.abs(gathers.offsets)
    weights = _taper(offsets - nearest, width) * _taper(farthest - offsets, width)
    shape = (*weights.shape[:1], gathers.nt, *weights.shape[1:], 1)
    return np.ascontiguousarray(np.broadcast_to(weights[:, None, :, None], shape), dtype=gathers.observed.dtype)


def first_breaks(gathers: Gathers, *, window: float = 0.05, threshold: float = 0.02, field: int = 0) -> NDArray[Any]:
    """Pick the first break of each trace.

    The search ends at the sample whose amplitude first reaches `threshold` times the largest one, and begins one window
    earlier. The first break is the sample there with the largest ratio of energies: that of the window after the sample
    over that of the window before it.

    Parameters
    ----------
    gathers : Gathers
        Data with offsets.
    window : float
        Length of the window (s), about a period.
    threshold : float
        Fraction of the largest amplitude of the trace: above the noise, below the first arrival.
    field : int
        Field of the data, counted from 0.

    Returns
    -------
    (nshots, nrec) float64
        Times (s); NaN where there is no trace or a dead trace.

    Raises
    ------
    DomainError, DtypeError
        A number is out of bounds, or `gathers` are not `Gathers`.
    OptionError
        The data have no such field.
    """
    check_gathers(gathers, ", which know the offsets")
    length = max(2, round(check_positive(window, "window", "seconds") / gathers.dt))
    if check_positive(threshold, "threshold", "a fraction of the largest amplitude") > 1:
        raise DomainError(f"threshold is {threshold}; expected a fraction of the largest amplitude, up to 1")
    nt, traces = gathers.nt, np.moveaxis(gathers.observed[..., check_field(gathers, field)], 1, 2).astype(np.float64)
    peak = np.abs(traces).max(axis=-1, keepdims=True)
    is_live = gathers.receiver_mask & (peak[..., 0] > 0)
    floor = (
        threshold * np.where(peak == 0, 1, peak)
    ) ** 2  # or a noise-free trace would begin at its first nonzero sample
    running = np.cumsum(np.pad(traces**2, [(0, 0), (0, 0), (1, 0)]), axis=-1)
    sample = np.arange(nt)
    after = running[..., np.minimum(sample + length, nt)] - running[..., sample]
    before = running[..., sample] - running[..., np.maximum(sample - length, 0)]
    crossing = (np.abs(traces) >= threshold * peak).argmax(axis=-1)[..., None]
    near = (sample <= crossing) & (sample > crossing - length)
    return np.where(is_live, np.where(near, after / (before + floor), -1).argmax(axis=-1) * gathers.dt, np.nan)
