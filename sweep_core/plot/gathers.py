"""Shot gathers: as images, as wiggles, or as both."""

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DomainError, OptionError, ShapeError
from .canvas import PANELS, WIDEST, add_colour_bar, as_numbers, check_positive, largest, map_extent, new_figure, save

STYLES = ("image", "wiggle", "both")
MOST = 60  # wiggles side by side in a panel; more run into each other


def plot_gather(
    path: Path | str, record: Any, dt: float, x: Any = None, titles: Any = None, style: str = "image",
    percentile: float = 98.0, gain: float = 0.0, label: str = "pressure",
) -> None:  # fmt: skip
    """Shot gathers side by side, time downwards, all with the same clip.

    Parameters
    ----------
    path : path
        The picture; its suffix names the format.
    record : (nt, nrec), (nshots, nt, nrec) or (nshots, nt, nrec, 1) array
        One gather or up to 12, of one field.
    dt : float
        Sampling interval, s.
    x : (nrec,) array, optional
        Positions of the receivers, m; their numbers by default.
    titles : list of str, optional
        One for each gather.
    style : {"image", "wiggle", "both"}
        Wiggles have their positive lobes filled, and are thinned to every n-th receiver where there are more than 60.
    percentile : float
        Amplitudes beyond this percentile of their magnitudes are clipped.
    gain : float
        Amplitudes are multiplied by t^gain before, which shows late arrivals; the clip then follows them.
    label : str
        What the colours are.
    """
    if style not in STYLES:
        raise OptionError(f"style is {style!r}; expected one of {', '.join(map(repr, STYLES))}")
    gathers = read_gathers(record, PANELS)
    x, xlabel = read_receivers(x, gathers.shape[2])
    titles = [""] * len(gathers) if titles is None else [titles] if isinstance(titles, str) else list(titles)
    if len(titles) != len(gathers):
        raise ShapeError(f"there are {len(titles)} titles; expected one for each of the {len(gathers)} gathers")
    gathers = amplify(gathers, dt, gain)
    clip = largest(gathers, percentile)
    figure = new_figure((min(4.2 * len(gathers) + (0.8 if len(gathers) == 1 else 0.3), WIDEST), 5.5))
    axes = figure.subplots(1, len(gathers), sharey=True, squeeze=False)[0]
    image = None
    for axis, gather, title in zip(axes, gathers, titles, strict=True):
        image = draw_gather(axis, gather, dt, x, clip, style)
        axis.set(xlabel=xlabel, ylabel="time (s)", title=title)
        axis.label_outer()
    if image is not None:
        add_colour_bar(
            figure,
            image,
            list(axes),
            label + (" × t" if gain == 1 else f" × $t^{{{gain:g}}}$" if gain else ""),
            gathers,
        )
    save(figure, path)


def read_gathers(record: Any, most: int) -> np.ndarray:
    """(nshots, nt, nrec) of what a solver returned, or of a part of it; at most so many shots."""
    expected = "(nt, nrec), (nshots, nt, nrec) or (nshots, nt, nrec, 1); choose a field by record[..., 0]"
    gathers = as_numbers(record, "the record", expected, (2, 3, 4))
    if gathers.ndim == 4 and gathers.shape[3] != 1:
        raise ShapeError(f"the record has shape {gathers.shape}; expected {expected}")
    if gathers.ndim > 2 and len(gathers) > most:
        raise ShapeError(
            f"the record holds {len(gathers)} shots; expected {'one' if most == 1 else f'at most {most}'}: shape "
            f"{gathers.shape} is read as (nshots, nt, nrec); choose shots by record[shots], a field of one shot by "
            "record[shot, ..., field]"
        )
    gathers = gathers[..., 0] if gathers.ndim == 4 else gathers
    return gathers[None] if gathers.ndim == 2 else gathers


def read_receivers(x: Any, count: int) -> tuple[np.ndarray, str]:
    """Where the traces stand, and what that axis is called."""
    if x is None:
        return np.arange(count), "receiver"
    x = as_numbers(x, "x", "(nrec,), metres", (1,))
    if len(x) != count:
        raise ShapeError(f"x has {len(x)} positions; the record has {count} receivers")
    if not np.isfinite(x).all():
        raise DomainError("x holds NaN or infinity; expected metres")
    return x / 1e3, "x (km)"


def amplify(gathers: np.ndarray, dt: float, gain: float) -> np.ndarray:
    dt = check_positive(dt, "dt", "seconds")
    return gathers * (np.arange(gathers.shape[-2])[:, None] * dt) ** gain if gain else gathers


def draw_gather(axis: Any, gather: np.ndarray, dt: float, x: np.ndarray, clip: float, style: str = "image") -> Any:
    """One gather (nt, nrec); returns the image, None where there are wiggles alone."""
    order = np.argsort(x, kind="stable")
    gather, x = gather[:, order], x[order]
    nt, nrec = gather.shape
    step = (x[-1] - x[0]) / (nrec - 1) if x[-1] > x[0] else 1.0
    image = None
    if style != "wiggle":
        colours = {"cmap": "gray_r" if style == "image" else "RdBu_r", "vmin": -clip, "vmax": clip}
        if np.allclose(np.diff(x), step, atol=0.01 * step):
            left, right, bottom, top = map_extent(gather.shape, (dt, step))
            extent = (x[0] + left, x[0] + right, bottom, top)
            image = axis.imshow(gather, aspect="auto", extent=extent, **colours)
        else:
            image = axis.pcolormesh(x, np.arange(nt) * dt, gather, shading="nearest", rasterized=True, **colours)
    if style != "image":
        _draw_wiggles(axis, gather, dt, x, clip, step, alpha=1.0 if image is None else 0.4)
    axis.set(xlim=(x[0] - step / 2, x[-1] + step / 2), ylim=(max(nt - 1, 1) * dt, 0))
    return image


def _draw_wiggles(
    axis: Any, gather: np.ndarray, dt: float, x: np.ndarray, clip: float, step: float, alpha: float
) -> None:
    every = -(-len(x) // MOST)
    shift = (len(x) - 1) % every // 2
    width = every * step / clip  # a trace at the clip touches the next; peaks go half a trace further
    times = np.arange(len(gather)) * dt
    fill = {"color": "black", "linewidth": 0, "alpha": alpha}
    for place, trace in zip(x[shift::every], gather.T[shift::every], strict=True):
        swing = place + width * np.clip(trace, -1.5 * clip, 1.5 * clip)
        axis.plot(swing, times, color="black", linewidth=0.5)
        axis.fill_betweenx(times, place, swing, where=trace > 0, interpolate=True, **fill)
