"""Figures of the time of an inversion: its profile, and its prediction for more devices."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..distribution import Prediction, Profile
from ..distribution.profile import KINDS
from ..errors import DomainError
from .canvas import panels
from .colours import LINES

COLOURS = {
    "forward": LINES[0], "backward": LINES[5], "gradient": LINES[0], "communication": LINES[1], "data": LINES[2],
    "host": LINES[4], "idle": "#d9d9d9",
}  # fmt: skip
"""Blues compute; grey waits."""
PARTS = COLOURS | {"compute": LINES[0]}
"""The colours of the parts of a prediction."""
LABELLED = 0.06
"""The smallest share of a step whose time is written into its bar."""
MANY = 16
"""The largest number of ranks whose bars have numbers."""


def plot_profile(profile: Profile, *, ax: Any = None) -> Any:
    """Plot the mean step of each rank, and the steps of the run.

    Parameters
    ----------
    profile : Profile
        Profile of a run, such as :attr:`sweep_core.inversion.Inverted.profile`.
    ax : two matplotlib Axes, optional
        Axes to draw into; by default those of a new figure.

    Returns
    -------
    matplotlib Figure
        The figure.

    Raises
    ------
    DomainError
        The run has no steps.
    OptionError
        `ax` does not hold two axes.
    UnsupportedError
        matplotlib is not installed.
    """
    mean = profile.mean
    if not mean.any():
        raise DomainError("the profile has no steps; expected that of a run with one step or more")
    height = float(np.clip(1.6 + 0.34 * profile.size, 2.6, 9.0))
    figure, (left, right) = panels(ax, 2, (11, height), lambda new: new.subplots(1, 2, width_ratios=(3, 2)))
    shown = [n for n, kind in enumerate(KINDS) if mean[:, n].any()]
    unit, scale = ("ms", 1e3) if mean.sum(1).mean() < 0.5 else ("s", 1.0)
    _draw_ranks(left, scale * mean, shown)
    left.set(xlabel=f"time of the mean step ({unit})", ylabel="rank", title=_headline(mean))
    steps = scale * profile.seconds[:, profile.is_step].mean(0)
    numbers = np.arange(1, len(steps) + 1)
    edges = np.append(numbers, numbers[-1] + 1) - 0.5
    base = np.zeros(len(steps))
    for n in shown:
        right.stairs(base + steps[:, n], edges, baseline=base, fill=True, color=COLOURS[KINDS[n]])
        base = base + steps[:, n]
    right.set(xlabel="step", ylabel=f"time of a step ({unit})", title="each step, mean over ranks")
    right.set(xlim=(edges[0], edges[-1]), ylim=(0, 1.05 * base.max()))
    right.xaxis.get_major_locator().set_params(integer=True)
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    if ax is None:
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(shown), frameon=False)
    else:
        left.legend(frameon=False)
    return figure


def _draw_ranks(axis: Any, mean: np.ndarray, shown: list[int]) -> None:
    """Draw one bar for each rank, from the top."""
    ranks, base = np.arange(len(mean)), np.zeros(len(mean))
    longest = mean.sum(1).max()
    share = mean.mean(0) / mean.sum(1).mean()
    for n in shown:
        percent = 100 * share[n]
        label = f"{KINDS[n]} {percent:.1f} %" if percent > 0.1 else f"{KINDS[n]} < 0.1 %"
        bars = axis.barh(ranks, mean[:, n], left=base, color=COLOURS[KINDS[n]], label=label, height=0.8)
        if len(mean) <= MANY:
            texts = [f"{value:.3g}" if value > LABELLED * longest else "" for value in mean[:, n]]
            colour = "white" if COLOURS[KINDS[n]] == LINES[0] else "black"
            axis.bar_label(bars, texts, label_type="center", fontsize=8, color=colour)
        base = base + mean[:, n]
    axis.set(xlim=(0, 1.02 * longest), ylim=(len(mean) - 0.4, -0.6))
    if len(mean) <= MANY:
        axis.set_yticks(ranks)
    else:
        axis.yaxis.get_major_locator().set_params(integer=True)


def _headline(mean: np.ndarray) -> str:
    """Return the share of the time in which ranks compute."""
    computing = mean[:, : KINDS.index("communication")].sum() / mean.sum()
    return f"ranks compute waves for {100 * computing:.0f} % of the time"


def plot_scaling(
    prediction: Prediction, measured: Mapping[str, Mapping[int, float]] | None = None, *, ax: Any = None
) -> Any:
    """Plot the predicted speed-up and the parts of a step against the number of devices.

    Parameters
    ----------
    prediction : Prediction
        Result of :func:`sweep_core.distribution.predict`.
    measured : dict of dict, optional
        Measured speed-ups by the number of devices, by the label of a line of the legend.
    ax : two matplotlib Axes, optional
        Axes to draw into; by default those of a new figure.

    Returns
    -------
    matplotlib Figure
        The figure.

    Raises
    ------
    OptionError
        `ax` does not hold two axes.
    UnsupportedError
        matplotlib is not installed.
    """
    figure, (left, right) = panels(ax, 2, (11, 4), lambda new: new.subplots(1, 2))
    devices = np.array([row.devices for row in prediction.rows])
    speed = np.array([row.speed_up for row in prediction.rows])
    left.plot(devices, devices, color="0.7", linestyle="--", label="ideal")
    left.plot(devices, speed, color=LINES[0], label="predicted")
    for (label, points), colour, marker in zip((measured or {}).items(), LINES[1:], "osD^v", strict=False):
        style: dict[str, Any] = {"color": colour, "fillstyle": "none", "markersize": 8, "markeredgewidth": 1.8}
        left.plot(list(points), list(points.values()), marker, label=label, zorder=3, **style)
    left.set(xlabel="devices", ylabel="speed-up", title="speed-up of a step", ylim=(0.9, 1.6 * speed.max()))
    left.legend(frameon=False)
    rows = prediction.rows
    seconds = {
        "compute": np.array([row.compute - row.idle for row in rows]), "host": np.array([row.host for row in rows]),
        "communication": np.array([row.communication for row in rows]), "idle": np.array([row.idle for row in rows]),
    }  # fmt: skip
    base = np.zeros(len(devices))
    for kind, part in seconds.items():
        share = 100 * part / sum(seconds.values())
        right.fill_between(devices, base, base + share, color=PARTS[kind], label=kind, linewidth=0)
        base = base + share
    right.set(xlabel="devices", ylabel="share of a step, mean device (%)", title="parts of a step", ylim=(0, 100))
    right.legend(loc="lower left")
    for axis in (left, right):
        axis.set_xscale("log", base=2)
        axis.set_xlim(devices[0], devices[-1])
        axis.xaxis.set_major_formatter("{x:.0f}")
        axis.spines[["top", "right"]].set_visible(False)
    left.set_yscale("log", base=2)
    left.yaxis.set_major_formatter("{x:.0f}")
    left.grid(alpha=0.3)
    return figure
