"""Observed and modelled traces over each other, and their spectra beside."""

from typing import Any

import numpy as np

from ..errors import DomainError, ShapeError
from ..io.gathers import Gathers, check_gathers
from ..processing import spectrum
from .canvas import as_numbers, largest, new_figure
from .gathers import amplify

COLOURS = {"observed": "black", "modelled": "#e6232a"}


def plot_comparison(
    gathers: Gathers, modelled: Any, shot: int = 0, *, weights: Any = None, gain: float = 0.0, most: int = 20,
    percentile: float = 98.0, ax: Any = None,
) -> Any:  # fmt: skip
    """Observed traces of a shot with modelled ones over them, at the same scale, and the spectra of both.

    Parameters
    ----------
    gathers : Gathers
        What was observed.
    modelled : (nshots, nt, nrec, nfield) array
        The record of a solver for the same shots; tensors are read where they are on a CPU and want no gradient.
    shot : int
        Counted from 0.
    weights : (nshots, nt, nrec, 1) array, optional
        What both are multiplied by, as in the misfit.
    gain : float
        Traces are multiplied by t^gain before; spectra are not.
    most : int
        Traces that are drawn at most, evenly taken; the spectra are of all.
    percentile : float
        Amplitudes of the observed traces at this percentile reach the next trace; at twice that they are clipped.
    ax : pair of matplotlib Axes, optional
        For traces and for spectra; by default of a figure of their own.

    Returns
    -------
    matplotlib Figure
    """
    check_gathers(gathers)
    made = as_numbers(modelled, "the modelled record", "(nshots, nt, nrec, nfield)", (4,))
    if made.shape != gathers.observed.shape:
        raise ShapeError(f"the modelled record has shape {made.shape}; expected {gathers.observed.shape}, as observed")
    if not 0 <= shot < len(gathers) or most < 1:
        raise DomainError(
            f"shot is {shot}, most {most}; {gathers.name} has {len(gathers)} shots, and one trace is least"
        )
    live = np.flatnonzero(gathers.receiver_mask[shot])
    if not live.size:
        raise DomainError(f"shot {shot} of {gathers.name} has no trace that is alive; expected some to draw")
    pair = {"observed": gathers.observed[shot], "modelled": made[shot]}
    if weights is not None:
        given = as_numbers(weights, "weights", "(nshots, nt, nrec, 1)", (4,))
        factor = np.broadcast_to(given, np.broadcast_shapes(given.shape, made.shape))[shot]
        pair = {name: record * factor for name, record in pair.items()}
    figure = new_figure((11.0, 5.5)) if ax is None else ax[0].figure
    left, right = figure.subplots(1, 2, width_ratios=(2.2, 1)) if ax is None else ax
    live = live[np.argsort(gathers.offsets[shot, live], kind="stable")]
    live = live[np.linspace(0, len(live) - 1, min(most, len(live))).round().astype(int)]
    offsets = gathers.offsets[shot, live] / 1e3
    gained = {name: amplify(record[:, live, 0], gathers.dt, gain) for name, record in pair.items()}
    clip = largest(gained["observed"], percentile)
    step = np.ptp(offsets) / max(1, len(live) - 1) or 1.0
    for name, record in pair.items():
        for n, (place, trace) in enumerate(zip(offsets, gained[name].T, strict=True)):
            label = name if n == 0 else None
            swing = step * np.clip(trace / clip, -2, 2)
            left.plot(place + swing, gathers.times, color=COLOURS[name], linewidth=0.7, label=label)
        frequencies, amplitude = spectrum(record[None, ..., :1], gathers.dt)
        right.plot(frequencies, amplitude, color=COLOURS[name], label=name)
    left.set(xlabel="offset (km)", ylabel="time (s)", ylim=(max(gathers.nt - 1, 1) * gathers.dt, 0))
    left.set_title(f"{gathers.name}, shot {gathers.shots[shot]}", loc="left", fontsize=10)
    right.set(xlabel="frequency (Hz)", ylabel="amplitude", ylim=(0, None), xlim=(0, _band(right)))
    right.legend(frameon=False)
    return figure


def _band(axis: Any) -> float:
    """The frequency above which nothing is seen: 1 % of the highest peak."""
    lines = [line.get_xydata() for line in axis.get_lines()]
    peak = max(line[:, 1].max() for line in lines) or 1.0
    seen = [line[line[:, 1] > 0.01 * peak, 0].max(initial=0.0) for line in lines]
    return max(seen) or float(lines[0][-1, 0]) or 1.0
