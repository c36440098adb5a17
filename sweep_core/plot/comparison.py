"""Observed and modelled traces over each other, and their spectra beside."""

from typing import Any

import numpy as np

from ..errors import DomainError, ShapeError
from ..io.gathers import Gathers, check_gathers
from ..processing import spectrum
from .canvas import panels
from .colours import MODELLED, OBSERVED, largest
from .components import component, shot_title
from .curves import band_end
from .gathers import amplify
from .inputs import as_numbers, check_number

LINES = {"observed": {"color": OBSERVED, "linewidth": 1.6}, "modelled": {"color": MODELLED, "linewidth": 0.8}}
"""What is observed is seen beneath what explains it."""


def plot_comparison(
    gathers: Gathers, modelled: Any, shot: int = 0, *, receivers: Any = None, solver: Any = None, field: Any = None,
    weights: Any = None, gain: Any = 0.0, most: int = 20, percentile: float = 98.0, label: str | None = None,
    ax: Any = None,
) -> Any:  # fmt: skip
    """Observed traces of a shot with modelled ones over them, at the same scale, and the spectra of both.

    Parameters
    ----------
    gathers : Gathers
        What was observed.
    modelled : (nshots, nt, nrec, nfield) array
        The record of a solver for the same shots; of any array library.
    shot : int
        Counted from 0.
    receivers : list of int, optional
        Whose traces are drawn, counted from 0; by default `most` of those that are alive, evenly taken by offset.
    solver, field
        As in `plot_gather`.
    weights : (nshots, nt, nrec, 1) array, optional
        What both are multiplied by, as in the misfit.
    gain : float or "agc"
        As in `plot_gather`; of the traces, not of the spectra.
    most : int
        Traces that are drawn at most where `receivers` are not chosen; the spectra are of all that are alive.
    percentile : float
        Amplitudes of the observed traces at this percentile reach the next trace; at twice that they are clipped.
    label : str, optional
        What traces are; by default the field and its unit, or "amplitude" where no solver tells.
    ax : two matplotlib Axes, optional
        For traces and for spectra; by default of a figure of their own.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    SweepError
        A ShapeError, DtypeError, DomainError or OptionError that names the argument.
    UnsupportedError
        If matplotlib is not installed.
    """
    check_gathers(gathers)
    expected = f"{gathers.observed.shape}, (nshots, nt, nrec, nfield) as observed; record[None, ..., None] has one shot"
    made = as_numbers(modelled, "the modelled record", expected, (4,))
    if made.shape != gathers.observed.shape:
        raise ShapeError(f"the modelled record has shape {made.shape}; expected {gathers.observed.shape}, as observed")
    shot = check_number(shot, "shot", len(gathers), gathers.name)
    index, label = component(made.shape[3], solver, field, label)
    chosen = _chosen(gathers, shot, receivers, most)
    pair = {"observed": gathers.observed[shot, ..., index], "modelled": made[shot, ..., index]}
    if weights is not None:
        given = as_numbers(weights, "weights", "(nshots, nt, nrec, 1)", (4,))
        if any(n not in (1, m) for n, m in zip(given.shape, (*made.shape[:3], 1), strict=True)):
            raise ShapeError(f"weights have shape {given.shape}; expected {(*made.shape[:3], 1)}, or 1 along an axis")
        factor = np.broadcast_to(given, (*made.shape[:3], 1))[shot, ..., 0]
        pair = {name: record * factor for name, record in pair.items()}
    figure, (left, right) = panels(ax, 2, (11.0, 5.5), lambda new: new.subplots(1, 2, width_ratios=(2.2, 1)))
    gained = {name: amplify(record[:, chosen], gathers.dt, gain, label) for name, record in pair.items()}
    clip, live = largest(gained["observed"][0], percentile), gathers.receiver_mask[shot]
    for name, record in pair.items():
        for n, trace in enumerate(gained[name][0].T):
            swing = n + np.clip(trace / clip, -2, 2)
            left.plot(swing, gathers.times, **LINES[name], label=name if n == 0 else None)
        frequencies, amplitude = spectrum(np.nan_to_num(record[None, :, live, None]), gathers.dt)
        right.plot(frequencies, amplitude, **LINES[name], label=name)
    offsets = gathers.offsets[shot, chosen]
    ticks = np.arange(len(chosen))[:: -(-len(chosen) // 10)]
    left.set_xticks(ticks, [f"{offsets[n]:.0f}" for n in ticks])
    left.set(xlabel="offset (m)", ylabel="time (s)", ylim=(max(gathers.nt - 1, 1) * gathers.dt, 0))
    left.set_title(f"{shot_title(gathers, shot)}: {gained['observed'][1]}", loc="left", fontsize=10)
    right.set(xlabel="frequency (Hz)", ylabel="amplitude spectrum", ylim=(0, None), xlim=(0, band_end(right)))
    right.legend(frameon=False)
    return figure


def _chosen(gathers: Gathers, shot: int, receivers: Any, most: int) -> np.ndarray:
    """The receivers whose traces are drawn: all alive, in the order of their offsets unless they are chosen."""
    live = np.flatnonzero(gathers.receiver_mask[shot])
    if not live.size:
        raise DomainError(f"shot {shot} of {gathers.name} has no trace that is alive; expected some to draw")
    if receivers is not None:
        given = as_numbers(receivers, "receivers", "numbers of receivers, counted from 0", (1,))
        chosen = np.array([check_number(n, "a receiver", gathers.observed.shape[2], gathers.name) for n in given])
        if len(dead := np.setdiff1d(chosen, live)):
            raise DomainError(f"receiver {dead[0]} of shot {shot} is dead; choose among {_some(live)}")
        return chosen
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise DomainError(f"most is {most!r}; expected a number of traces, from 1 on")
    live = live[np.argsort(gathers.offsets[shot, live], kind="stable")]
    return live[np.linspace(0, len(live) - 1, min(most, len(live))).round().astype(int)]


def _some(numbers: np.ndarray) -> str:
    return ", ".join(map(str, numbers[:8])) + ", ..." * (len(numbers) > 8)
