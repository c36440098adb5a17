"""Figures of observed and modelled traces, with their spectra."""

from typing import Any

import numpy as np

from .._util.arrays import evenly_spaced
from ..errors import DomainError, ShapeError
from ..io.gathers import Gathers, check_gathers
from ..processing import spectrum
from .canvas import panels
from .colours import MODELLED, OBSERVED, largest
from .components import component, shot_title
from .curves import band_end
from .gathers import amplify
from .inputs import as_numbers, check_index

LINES = {"observed": {"color": OBSERVED, "linewidth": 1.6}, "modelled": {"color": MODELLED, "linewidth": 0.8}}
"""Styles of the curves: observed traces are wider, so that they show beneath the modelled ones."""


def plot_comparison(
    gathers: Gathers, modelled: Any, shot: int = 0, *, receivers: Any = None, solver: Any = None, field: Any = None,
    weights: Any = None, gain: Any = 0.0, most: int = 20, percentile: float = 98.0, label: str | None = None,
    ax: Any = None,
) -> Any:  # fmt: skip
    """Plot observed traces of a shot with modelled traces over them at the same scale, and the spectra of both.

    Parameters
    ----------
    gathers : Gathers
        Observed gathers.
    modelled : (nshots, nt, nrec, nfield) array
        The record of a solver for the same shots; of any array library.
    shot : int
        The shot, counted from 0.
    receivers : list of int, optional
        Receivers of the traces, counted from 0; by default `most` live ones, evenly spaced in the order of offsets.
    solver, field
        See `plot_gather`.
    weights : (nshots, nt, nrec, 1) array, optional
        Weights that multiply both records, as in the misfit.
    gain : float or "agc"
        Gain of the traces, see `plot_gather`. The spectra have no gain.
    most : int
        The largest number of traces without `receivers`. The spectra are of all live traces.
    percentile : float
        Amplitudes of the observed traces at this percentile reach the next trace. Twice this amplitude is clipped.
    label : str, optional
        Name of the quantity; by default the field and its unit, or "amplitude" without a solver.
    ax : two matplotlib Axes, optional
        Axes of the traces and of the spectra; by default those of a new figure.

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
    expected = f"{gathers.observed.shape}, (nshots, nt, nrec, nfield) as observed; record[None, ..., None] has one shot"
    synthetic = as_numbers(modelled, "the modelled record", expected, (4,))
    shape = synthetic.shape
    if shape != gathers.observed.shape:
        raise ShapeError(f"the modelled record has shape {shape}; expected {gathers.observed.shape}, as observed")
    shot = check_index(shot, "shot", len(gathers), gathers.name)
    index, label = component(shape[3], solver, field, label)
    rows = _trace_rows(gathers, shot, receivers, most)
    pair = {"observed": gathers.observed[shot, ..., index], "modelled": synthetic[shot, ..., index]}
    if weights is not None:
        factors = as_numbers(weights, "weights", "(nshots, nt, nrec, 1)", (4,))
        if any(n not in (1, m) for n, m in zip(factors.shape, (*shape[:3], 1), strict=True)):
            raise ShapeError(f"weights have shape {factors.shape}; expected {(*shape[:3], 1)}, or 1 along an axis")
        factor = np.broadcast_to(factors, (*shape[:3], 1))[shot, ..., 0]
        pair = {name: record * factor for name, record in pair.items()}
    figure, (left, right) = panels(ax, 2, (11.0, 5.5), lambda new: new.subplots(1, 2, width_ratios=(2.2, 1)))
    gained = {name: amplify(record[:, rows], gathers.dt, gain, label) for name, record in pair.items()}
    clip, live = largest(gained["observed"][0], percentile), gathers.receiver_mask[shot]
    for name, record in pair.items():
        for n, trace in enumerate(gained[name][0].T):
            swing = n + np.clip(trace / clip, -2, 2)
            left.plot(swing, gathers.times, **LINES[name], label=name if n == 0 else None)
        frequencies, amplitude = spectrum(np.nan_to_num(record[None, :, live, None]), gathers.dt)
        right.plot(frequencies, amplitude, **LINES[name], label=name)
    offsets = gathers.offsets[shot, rows]
    ticks = np.arange(len(rows))[:: -(-len(rows) // 10)]
    left.set_xticks(ticks, [f"{offsets[n]:.0f}" for n in ticks])
    left.set(xlabel="offset (m)", ylabel="time (s)", ylim=(max(gathers.nt - 1, 1) * gathers.dt, 0))
    left.set_title(f"{shot_title(gathers, shot)}: {gained['observed'][1]}", loc="left", fontsize=10)
    right.set(xlabel="frequency (Hz)", ylabel="amplitude spectrum", ylim=(0, None), xlim=(0, band_end(right)))
    right.legend(frameon=False)
    return figure


def _trace_rows(gathers: Gathers, shot: int, receivers: Any, most: int) -> np.ndarray:
    """Return the live receivers to draw: `receivers`, or at most `most` in the order of their offsets."""
    live = np.flatnonzero(gathers.receiver_mask[shot])
    if not live.size:
        raise DomainError(f"shot {shot} of {gathers.name} has no live trace; expected some to draw")
    if receivers is not None:
        numbers = as_numbers(receivers, "receivers", "numbers of receivers, counted from 0", (1,))
        rows = np.array([check_index(n, "a receiver", gathers.observed.shape[2], gathers.name) for n in numbers])
        if len(dead := np.setdiff1d(rows, live)):
            raise DomainError(f"receiver {dead[0]} of shot {shot} is dead; choose among {_first_numbers(live)}")
        return rows
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise DomainError(f"most is {most!r}; expected a number of traces, from 1 on")
    live = live[np.argsort(gathers.offsets[shot, live], kind="stable")]
    return live[evenly_spaced(len(live), most)]


def _first_numbers(numbers: np.ndarray) -> str:
    return ", ".join(map(str, numbers[:8])) + ", ..." * (len(numbers) > 8)
