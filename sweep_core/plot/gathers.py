"""Figures of shot gathers, as images, wiggles or both."""

from typing import Any

import numpy as np

from .._util.validators import check_choice, check_positive
from ..errors import DomainError, DtypeError, OptionError, ShapeError
from ..processing import agc, time_gain
from .canvas import PANELS, WIDEST, map_extent, panels
from .colours import GREY, SIGNED, add_colour_bar, largest
from .components import component
from .inputs import as_numbers

STYLES = ("image", "wiggle", "both")
MOST = 60  # wiggles side by side in a panel; more would overlap


def plot_gather(
    record: Any, dt: float, x: Any = None, titles: Any = None, *, solver: Any = None, field: Any = None,
    style: str = "image", percentile: float = 98.0, gain: Any = 0.0, label: str | None = None, ax: Any = None,
) -> Any:  # fmt: skip
    """Plot shot gathers side by side, with time downwards and one clip for all.

    Parameters
    ----------
    record : (nt, nrec), (nshots, nt, nrec) or (nshots, nt, nrec, nfield) array
        One to 12 gathers; of any array library.
    dt : float
        Sampling interval (s).
    x : (nrec,) array, optional
        Positions of the receivers (m); their numbers by default.
    titles : list of str, optional
        A title for each gather.
    solver : PropTorch, PropJax or Problem, optional
        The solver of the record, which gives the name and the unit of the field.
    field : str or int, optional
        The field, if there are several: its name, with `solver`, or its number, counted from 0.
    style : {"image", "wiggle", "both"}
        Style of the traces. Positive lobes of wiggles are filled. With more than 60 receivers, every n-th has a wiggle.
    percentile : float
        Amplitudes beyond this percentile of the magnitudes of all gathers are clipped; by default 2 % of the samples.
    gain : float or "agc"
        Gain before clipping, which shows late reflections beside the direct wave. A number multiplies amplitudes by
        t^gain; "agc" is :func:`sweep_core.processing.agc` over a tenth of the record.
    label : str, optional
        Name of the quantity; by default the field and its unit, or "amplitude" without a solver.
    ax : matplotlib Axes, optional
        Axes to draw into, one for each gather; by default those of a new figure.

    Returns
    -------
    matplotlib Figure
        The figure.

    Raises
    ------
    SweepError
        A ShapeError, DtypeError, DomainError or OptionError that names the argument.
    UnsupportedError
        matplotlib is not installed.
    """
    check_choice(style, "style", STYLES)
    gathers, label = read_gathers(record, PANELS, solver, field, label)
    x, xlabel = read_receivers(x, gathers.shape[2])
    titles = [""] * len(gathers) if titles is None else [titles] if isinstance(titles, str) else titles
    if not isinstance(titles, list | tuple):
        raise DtypeError(f"titles are {titles!r}; expected a list of str, one for each gather")
    if len(titles) != len(gathers):
        raise ShapeError(f"there are {len(titles)} titles; expected one for each of the {len(gathers)} gathers")
    gathers, label = amplify(gathers, dt, gain, label)
    clip = largest(gathers, percentile)
    size = (min(4.2 * len(gathers) + (0.8 if len(gathers) == 1 else 0.3), WIDEST), 5.5)
    figure, axes = panels(ax, len(gathers), size, lambda new: new.subplots(1, len(gathers), sharey=True))
    image = None
    for axis, gather, title in zip(axes, gathers, titles, strict=True):
        image = draw_gather(axis, gather, dt, x, clip, style)
        axis.set(xlabel=xlabel, ylabel="time (s)", title=title)
        if ax is None:
            axis.label_outer()
    if image is not None:
        add_colour_bar(figure, image, axes, label, gathers)
    return figure


def read_gathers(record: Any, most: int, solver: Any, field: Any, label: str | None) -> tuple[np.ndarray, str]:
    """Return (nshots, nt, nrec) from a record of at most `most` shots, or from a part of it, and its label."""
    expected = "(nt, nrec), (nshots, nt, nrec) or (nshots, nt, nrec, nfield)"
    gathers = as_numbers(record, "the record", expected, (2, 3, 4))
    if gathers.ndim > 2 and len(gathers) > most:
        raise ShapeError(
            f"the record holds {len(gathers)} shots; expected {'one' if most == 1 else f'at most {most}'}: shape "
            f"{gathers.shape} is read as (nshots, nt, nrec); choose shots by record[shots], a field of one shot by "
            "record[shot, ..., field]"
        )
    index, label = component(gathers.shape[3] if gathers.ndim == 4 else None, solver, field, label)
    gathers = gathers[..., index] if gathers.ndim == 4 else gathers
    return gathers[None] if gathers.ndim == 2 else gathers, label


def read_receivers(x: Any, count: int) -> tuple[np.ndarray, str]:
    """Return the positions of the traces, and the label of their axis."""
    if x is None:
        return np.arange(count), "receiver"
    x = as_numbers(x, "x", "(nrec,), metres", (1,))
    if len(x) != count:
        raise ShapeError(f"x has {len(x)} positions; expected {count}, one for each receiver of the record")
    if not np.isfinite(x).all():
        raise DomainError("x holds NaN or infinity; expected finite metres")
    return x / 1e3, "x (km)"


def amplify(gathers: np.ndarray, dt: float, gain: Any, label: str) -> tuple[np.ndarray, str]:
    """Return gathers (..., nt, nrec) with a gain, and their label. NaN and infinity stay."""
    dt, is_agc = check_positive(dt, "dt", "seconds"), isinstance(gain, str) and gain == "agc"
    is_number = isinstance(gain, int | float | np.integer | np.floating) and not isinstance(gain, bool)
    if not (is_agc or (is_number and 0 <= gain < np.inf)):
        raise OptionError(f"gain is {gain!r}; expected a power of time from 0 on, or 'agc'")
    if not is_agc and gain == 0:
        return gathers, label
    finite = np.isfinite(gathers)
    clean = np.where(finite, gathers, 0)
    if is_agc:
        window = max(0.1 * gathers.shape[-2], 1) * dt
        clean, label = agc(clean, dt, window, axis=-2), f"{label.partition(' (')[0]}, AGC over {window:.2g} s"
    else:
        clean = time_gain(clean, dt, gain, axis=-2)
        label += " × t" if gain == 1 else f" × $t^{{{gain:g}}}$"
    return np.where(finite, clean, gathers), label


def draw_gather(axis: Any, gather: np.ndarray, dt: float, x: np.ndarray, clip: float, style: str = "image") -> Any:
    """Draw one gather (nt, nrec). Return its image, or None if there are only wiggles."""
    order = np.argsort(x, kind="stable")
    gather, x = gather[:, order], x[order]
    nt, nrec = gather.shape
    step = (x[-1] - x[0]) / (nrec - 1) if x[-1] > x[0] else 1.0
    image = None
    if style != "wiggle":
        colours = {"cmap": GREY if style == "image" else SIGNED, "vmin": -clip, "vmax": clip}
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
    width = every * step / clip  # an amplitude at the clip reaches the next trace; peaks go half a trace further
    times = np.arange(len(gather)) * dt
    fill = {"color": "black", "linewidth": 0, "alpha": alpha}
    for place, trace in zip(x[shift::every], gather.T[shift::every], strict=True):
        swing = place + width * np.clip(trace, -1.5 * clip, 1.5 * clip)
        axis.plot(swing, times, color="black", linewidth=0.5)
        axis.fill_betweenx(times, place, swing, where=trace > 0, interpolate=True, **fill)
