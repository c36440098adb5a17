"""Figures of field data: one gather, and the geometry of the survey."""

from typing import Any

import numpy as np

from .._util.validators import check_choice
from ..errors import DomainError
from ..io.gathers import Gathers, check_gathers
from .canvas import panels
from .colours import add_colour_bar, largest
from .components import component, shot_title
from .gathers import STYLES, amplify, draw_gather
from .inputs import check_index
from .survey import add_legend

AXES = {"offset": "offset (m)", "x": "x (km)"}


def plot_traces(
    gathers: Gathers, shot: int = 0, *, solver: Any = None, field: Any = None, against: str = "offset",
    style: str = "image", percentile: float = 98.0, gain: Any = 0.0, label: str | None = None, ax: Any = None,
) -> Any:  # fmt: skip
    """Plot one gather against time. Dead traces are left out; the title counts them.

    Parameters
    ----------
    gathers : Gathers
        The gathers.
    shot : int
        The shot, counted from 0.
    solver, field, gain, label
        See `plot_gather`.
    against : {"offset", "x"}
        Horizontal axis.
    style : {"image", "wiggle", "both"}
        Style of the traces, see `plot_gather`.
    percentile : float
        Amplitudes beyond this percentile of their magnitudes are clipped; by default 2 % of the samples.
    ax : matplotlib Axes, optional
        Axes to draw into; by default those of a new figure.

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
    check_gathers(gathers)
    shot = check_index(shot, "shot", len(gathers), gathers.name)
    index, label = component(gathers.observed.shape[3], solver, field, label)
    check_choice(against, "against", tuple(AXES))
    check_choice(style, "style", STYLES)
    live = gathers.receiver_mask[shot]
    if not live.any():
        raise DomainError(f"shot {shot} of {gathers.name} has no live trace; expected some to draw")
    gather, label = amplify(gathers.observed[shot, :, live, index].T, gathers.dt, gain, label)
    x = (gathers.offsets[shot] if against == "offset" else gathers.receivers[shot, :, 0] * gathers.dh[1] / 1e3)[live]
    figure, (ax,) = panels(ax, 1, (6.0, 5.5), lambda new: new.subplots())
    image = draw_gather(ax, gather, gathers.dt, x, largest(gather, percentile), style)
    dead = int(gathers.dead[shot].sum())
    without = f", without {dead} dead" * (dead > 0)
    ax.set(xlabel=AXES[against], ylabel="time (s)")
    ax.set_title(f"{shot_title(gathers, shot)}: {live.sum()} traces{without}", loc="left", fontsize=10)
    if image is not None:
        add_colour_bar(figure, image, ax, label, gather)
    return figure


def plot_geometry(gathers: Gathers, *, ax: Any = None) -> Any:
    """Plot sources and receivers of each shot along the line, one row per shot, with live, clipped and dead traces.

    Parameters
    ----------
    gathers : Gathers
        The gathers.
    ax : matplotlib Axes, optional
        Axes to draw into; by default those of a new figure.

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
    check_gathers(gathers)
    if not len(gathers):
        raise DomainError(f"{gathers.name} has no shots; expected some to draw")
    figure, (ax,) = panels(ax, 1, (9.0, 4.5), lambda new: new.subplots())
    rows = np.broadcast_to(np.arange(len(gathers))[:, None], gathers.traces.shape)
    x = gathers.receivers[..., 0] * gathers.dh[1] / 1e3
    kinds = {
        "live": (gathers.receiver_mask & ~gathers.clipped, "0.25"),
        "clipped": (gathers.clipped, "#e69f00"),
        "dead": (gathers.dead, "#d55e00"),
    }
    for name, (mask, colour) in kinds.items():
        if mask.any():
            style = {"linestyle": "none", "marker": "|", "markersize": 6, "color": colour}
            ax.plot(x[mask], rows[mask], label=f"{mask.sum()} {name}", **style)
    ax.plot(
        gathers.sources[:, 0] * gathers.dh[1] / 1e3, rows[:, 0], "*", markersize=11, color="#0072b2",
        markeredgecolor="black", markeredgewidth=0.5, label=f"{len(gathers)} source{'s' * (len(gathers) > 1)}",
    )  # fmt: skip
    ax.set(xlabel="x (km)", ylabel="shot", ylim=(len(gathers) - 0.5, -0.5))
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set_title(f"{gathers.name}: at most {gathers.misfit.largest:.3g} m off the line", loc="left", fontsize=10)
    add_legend(ax, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.25, ncols=4)
    return figure
