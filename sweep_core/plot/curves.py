"""Figures of curves: a wavelet with its spectrum, and the history of an inversion."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from .._util.validators import check_positive
from ..errors import DomainError, DtypeError, ShapeError
from ..processing import spectrum
from .canvas import panels
from .colours import LINES
from .inputs import as_numbers, check_labels, unit_of

LINE: dict[str, Any] = {"marker": "o", "markersize": 3, "color": "black"}


def plot_wavelet(wavelet: Any, dt: float, freq: float | None = None, *, title: str = "wavelet", ax: Any = None) -> Any:
    """Plot a wavelet against time, and its amplitude spectrum.

    Parameters
    ----------
    wavelet : (nt,) array
        The wavelet of one source.
    dt : float
        Sampling interval (s).
    freq : float, optional
        Peak frequency (Hz). The figure shows the first four periods, and frequencies up to four times the peak. By
        default it shows the whole wavelet, and the spectrum to the frequency above which it stays below 1 % of its
        peak.
    title : str
        Title of the wavelet.
    ax : two matplotlib Axes, optional
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
    wavelet = as_numbers(wavelet, "the wavelet", "(nt,), of one source", (1,)).astype(np.float64)
    dt = check_positive(dt, "dt", "seconds")
    highest, shown = None, len(wavelet)
    if freq is not None:
        freq = check_positive(freq, "freq", "Hz")
        highest, shown = 4 * freq, min(shown, int(4 / (freq * dt)) + 1)
    figure, (left, right) = panels(ax, 2, (9, 3), lambda new: new.subplots(1, 2))
    left.plot(np.arange(shown) * dt, wavelet[:shown], color="black")
    left.set(xlabel="time (s)", ylabel="amplitude", title=title)
    frequencies, amplitude = spectrum(np.nan_to_num(wavelet), dt, axis=-1)
    right.plot(frequencies, amplitude / (amplitude.max() or 1.0), color="black")
    limits = (0, highest or band_end(right))
    right.set(xlabel="frequency (Hz)", ylabel="relative amplitude", xlim=limits, title="spectrum")
    return figure


def band_end(axis: Any) -> float:
    """Return the frequency above which the spectra of an axis stay below 1 % of the highest peak."""
    lines = [line.get_xydata() for line in axis.get_lines()]
    peak = max(line[:, 1].max() for line in lines) or 1.0
    ends = [line[line[:, 1] > 0.01 * peak, 0].max(initial=0.0) for line in lines]
    return max(ends) or float(lines[0][-1, 0]) or 1.0


def plot_loss(history: Sequence[dict[str, Any]], labels: Sequence[str] = ("vp (m/s)",), *, ax: Any = None) -> Any:
    """Plot the misfit relative to the first one, and the error of the model if the history holds it.

    Parameters
    ----------
    history : list of dict
        A line for each epoch or iteration, such as those of :attr:`sweep_core.inversion.Inverted.history`. A line
        holds `misfit`, and `epoch`. If each stage has its own misfit, a line holds `stage` and its `iteration`, 0 at
        its start, instead of `epoch`. It may hold `model_error`: a number, or one for each of `labels`, each of which
        is then drawn relative to its first.
    labels : list of str
        Parameters with their units.
    ax : matplotlib Axes, optional
        Axes to draw into, two with errors; by default those of a new figure.

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
    errors = _errors(check_history(history), labels)
    count = 1 if errors is None else 2
    figure, axes = panels(ax, count, (4.5 * count, 3.2), lambda new: new.subplots(1, count))
    draw_misfit(axes[0], history)
    axes[0].set_title("data")
    if errors is not None:
        numbers, several = _numbers(history), errors.ndim == 2
        relative = errors / np.where(errors[0] == 0, 1, errors[0]) if several else errors
        unit = unit_of(labels[0])
        about = "RMS error / first" if several else f"RMS error ({unit})" if unit else "RMS error"
        for n, error in enumerate(np.atleast_2d(relative.T)):
            own = {"color": LINES[n % len(LINES)], "label": labels[n].split()[0]} if several else {}
            axes[1].plot(numbers, error, **LINE | own)
        axes[1].set(xlabel=axes[0].get_xlabel(), ylabel=about, title="model")
        axes[1].xaxis.get_major_locator().set_params(integer=True)
        axes[1].grid(alpha=0.3)
        if several:
            axes[1].legend()
    return figure


def check_history(history: Any) -> Sequence[dict[str, Any]]:
    """Return `history`, or raise an error unless each of its lines holds a misfit."""
    if not isinstance(history, list | tuple):
        raise DtypeError(f"the history is {type(history).__name__}; expected a list of dict, each with a misfit")
    if not history:
        raise DomainError("the history is empty; expected a line for each epoch or iteration, with its misfit")
    for line in history:
        if not isinstance(line, dict) or "misfit" not in line:
            raise DomainError(f"a line of the history has no misfit: {line}; expected a dict with misfit")
    return history


def draw_misfit(axis: Any, history: Sequence[dict[str, Any]]) -> None:
    """Draw the misfit relative to the first one of its stage, on a logarithmic axis."""
    numbers = _numbers(history)
    as_numbers([line["misfit"] for line in history], "misfit", "a number a line", (1,))
    stages = [list(lines) for _, lines in groupby(range(len(history)), lambda n: history[n].get("stage"))]
    relative = all(history[lines[0]]["misfit"] for lines in stages)
    for lines in stages:
        misfit = np.array([history[n]["misfit"] for n in lines]) / (history[lines[0]]["misfit"] if relative else 1)
        axis.plot(numbers[lines], misfit, **LINE)
    if any(line["misfit"] > 0 for line in history):
        axis.set_yscale("log")
    first = "first of its stage" if len(stages) > 1 else "first"
    axis.set(
        xlabel="epoch" if "epoch" in history[0] else "iteration", ylabel=f"misfit / {first}" if relative else "misfit"
    )
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.grid(alpha=0.3)


def _numbers(history: Sequence[dict[str, Any]]) -> np.ndarray:
    """Return the epoch of each line, or the iterations so far: a stage starts where the last one ended."""
    if "epoch" in history[0]:
        return as_numbers([line.get("epoch", n) for n, line in enumerate(history)], "epoch", "a number a line", (1,))
    numbers = np.zeros(1, int)
    for _, lines in groupby(history, lambda line: line.get("stage")):
        iterations = [line.get("iteration", n) for n, line in enumerate(lines)]
        numbers = np.append(numbers, numbers[-1] + as_numbers(iterations, "iteration", "a number a line", (1,)))
    return numbers[1:]


def _errors(history: Sequence[dict[str, Any]], labels: Sequence[str]) -> np.ndarray | None:
    """Return the errors (nline,) or (nline, nlabel) of the model; None if no line holds them."""
    values = [line.get("model_error") for line in history]
    if all(error is None for error in values):
        return None
    if missing := [line for line, error in zip(history, values, strict=True) if error is None]:
        raise DomainError(f"a line of the history has no model_error, unlike others: {missing[0]}")
    check_labels(labels)
    errors = as_numbers(values, "model_error", "a number a line, or one for each label", (1, 2))
    if errors.ndim == 2 and errors.shape[1] != len(labels):
        raise ShapeError(f"there are {len(labels)} labels; expected one for each of {errors.shape[1]} parameters")
    return errors
