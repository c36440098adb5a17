"""The figures of an inversion."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..errors import DomainError, ShapeError
from .canvas import (
    PANELS,
    WIDEST,
    add_colour_bar,
    as_numbers,
    check_positive,
    largest,
    new_figure,
    panel_size,
    save,
    spacing,
)
from .models import draw_section


def plot_wavelet(path: Path | str, wavelet, dt: float, freq: float) -> None:
    """A wavelet against time, and its amplitude spectrum."""
    wavelet = as_numbers(wavelet, "the wavelet", "(nt,), of one source", (1,)).astype(np.float64)
    dt, freq = check_positive(dt, "dt", "seconds"), check_positive(freq, "freq", "Hz")
    figure = new_figure((9, 3))
    left, right = figure.subplots(1, 2)
    shown = min(len(wavelet), int(4 / (freq * dt)) + 1)
    left.plot(np.arange(shown) * dt, wavelet[:shown], color="black")
    left.set(xlabel="time (s)", ylabel="amplitude", title=f"Ricker, {freq:g} Hz")
    spectrum = np.abs(np.fft.rfft(wavelet))
    right.plot(np.fft.rfftfreq(len(wavelet), dt), spectrum / (spectrum.max() or 1.0), color="black")
    right.set(xlabel="frequency (Hz)", ylabel="relative amplitude", xlim=(0, 4 * freq), title="spectrum")
    save(figure, path)


def plot_loss(path: Path | str, history: list[dict], labels: Sequence[str] = ("vp (m/s)",)) -> None:
    """Misfit and model error against the epoch; errors of several parameters relative to those of the first epoch."""
    if not history:
        raise DomainError("the history is empty; expected a line for each epoch, with epoch, misfit and model_error")
    figure = new_figure((9, 3.2))
    left, right = figure.subplots(1, 2)
    for line in history:
        if missing := {"epoch", "misfit", "model_error"} - set(line):
            raise DomainError(f"a line of the history has no {', '.join(sorted(missing))}: {line}")
    epochs = [line["epoch"] for line in history]
    misfits = as_numbers([line["misfit"] for line in history], "misfit", "a number", (1,))
    left.semilogy(epochs, misfits / (misfits[0] or 1), "o-", color="black", ms=3)
    left.set(xlabel="epoch", ylabel="misfit / first misfit" if misfits[0] else "misfit", title="data")
    errors = as_numbers([line["model_error"] for line in history], "model_error", "a number, or one a label", (1, 2))
    if errors.ndim == 2 and errors.shape[1] != len(labels):
        raise ShapeError(f"there are {len(labels)} labels; expected one for each of {errors.shape[1]} parameters")
    if errors.ndim == 1:
        right.plot(epochs, errors, "o-", color="black", ms=3)
        right.set(xlabel="epoch", ylabel="RMS error (m/s)", title="model")
    else:
        right.plot(
            epochs,
            errors / np.where(errors[0] == 0, 1, errors[0]),
            "o-",
            ms=3,
            label=[label.split()[0] for label in labels],
        )
        right.set(xlabel="epoch", ylabel="RMS error / first", title="model")
        right.legend()
    for axis in (left, right):
        axis.grid(alpha=0.3)
    save(figure, path)


def plot_epoch(path: Path | str, true, inverted, gradient, dh: float, epoch: int) -> None:
    """True model, inverted model and gradient of an epoch, one below the other, in km."""
    true = as_numbers(true, "the true model", "(nz, nx)", (2,))
    inverted, gradient = _alike(inverted, "the inverted model", true), _alike(gradient, "the gradient", true)
    steps = spacing(dh, 2)
    figure = new_figure(panel_size(true.shape * steps, 9.0, 3))
    axes = figure.subplots(3, 1, sharex=True)
    low, high = float(true.min()) / 1e3, float(true.max()) / 1e3
    panels = (
        ("true", true / 1e3, "viridis", low, high, "vp (km/s)"),
        (f"inverted, epoch {epoch}", inverted / 1e3, "viridis", low, high, "vp (km/s)"),
        ("gradient", gradient / largest(gradient, 99.5), "RdBu", -1, 1, "relative"),
    )
    for axis, (title, values, colours, vmin, vmax, label) in zip(axes, panels, strict=True):
        image = draw_section(axis, values, steps, colours, vmin=vmin, vmax=vmax)
        axis.set_title(title)
        axis.label_outer()
        add_colour_bar(figure, image, axis, label, values)
    save(figure, path)


def plot_parameters(path: Path | str, labels: Sequence[str], stages: Mapping[str, np.ndarray], dh: float) -> None:
    """Stages (n, nz, nx) of n parameters: a row for each stage, a column and a colour scale for each parameter."""
    if not 0 < len(stages) <= PANELS or not 0 < len(labels) <= PANELS:
        raise ShapeError(f"there are {len(stages)} stages of {len(labels)} parameters; expected 1 to {PANELS} of each")
    first = as_numbers(next(iter(stages.values())), "the first stage", "(n, nz, nx)", (3,))
    if len(first) != len(labels):
        raise ShapeError(f"there are {len(labels)} labels; expected one for each of the {len(first)} parameters")
    steps, shown = spacing(dh, 2), [_alike(values, f"stage {title!r}", first) for title, values in stages.items()]
    width = float(np.clip(3.0 * len(labels), 16.0, WIDEST))
    figure = new_figure(panel_size(shown[0].shape[1:] * steps, width, len(shown), len(labels)))
    axes = figure.subplots(len(shown), len(labels), sharex=True, sharey=True, squeeze=False)
    for column, label in enumerate(labels):
        low, high = float(shown[0][column].min()), float(shown[0][column].max())
        for row, title in enumerate(stages):
            axis, values = axes[row, column], shown[row][column]
            image = draw_section(axis, values, steps, vmin=low, vmax=high)
            axis.set_title(f"{label.split()[0]}, {title}", fontsize=10)
            axis.label_outer()
            add_colour_bar(figure, image, axis, label, values)
    save(figure, path)


def _alike(values, name: str, first: np.ndarray) -> np.ndarray:
    """Real numbers of the shape of `first`."""
    array = as_numbers(values, name, f"shape {first.shape}", (first.ndim,))
    if array.shape != first.shape:
        raise ShapeError(f"{name} has shape {array.shape}; expected {first.shape}, as the first")
    return array
