"""The figures of an inversion, written to files without a screen."""

from pathlib import Path

import numpy as np


def _figure(rows, columns, size, **options):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def plot_wavelet(path: Path, wavelet, dt: float, freq: float) -> None:
    """A wavelet against time, and its amplitude spectrum."""
    figure, ((left, right),) = _figure(1, 2, (9, 3))
    wavelet = np.asarray(wavelet, np.float64)
    shown = min(len(wavelet), int(4 / (freq * dt)))
    left.plot(np.arange(shown) * dt, wavelet[:shown], color="black")
    left.set(xlabel="time (s)", ylabel="amplitude", title=f"Ricker, {freq:g} Hz")
    spectrum = np.abs(np.fft.rfft(wavelet))
    right.plot(np.fft.rfftfreq(len(wavelet), dt), spectrum / spectrum.max(), color="black")
    right.set(xlabel="frequency (Hz)", ylabel="relative amplitude", xlim=(0, 4 * freq), title="spectrum")
    figure.savefig(path, dpi=120)


def plot_gather(path: Path, record, dt: float, x, titles: list[str]) -> None:
    """Shot gathers (nshots, nt, nrec) side by side, time downwards, clipped at the 98th percentile of all.

    Parameters
    ----------
    x : (nrec,) array
        Positions of the receivers, m.
    titles : list of str
        One for each gather.
    """
    record = np.asarray(record)
    figure, (axes,) = _figure(1, len(record), (4.2 * len(record), 5), sharey=True)
    clip = np.percentile(np.abs(record), 98) or 1.0
    extent = (x[0] / 1e3, x[-1] / 1e3, record.shape[1] * dt, 0)
    for axis, gather, title in zip(axes, record, titles, strict=True):
        image = axis.imshow(gather, cmap="gray", vmin=-clip, vmax=clip, aspect="auto", extent=extent)
        axis.set(xlabel="x (km)", title=title)
    axes[0].set_ylabel("time (s)")
    figure.colorbar(image, ax=list(axes), label="pressure", shrink=0.7)
    figure.savefig(path, dpi=120)


def plot_loss(path: Path, history: list[dict]) -> None:
    """Misfit and model error against the epoch."""
    figure, ((left, right),) = _figure(1, 2, (9, 3.2))
    epochs = [line["epoch"] for line in history]
    left.semilogy(epochs, [line["misfit"] / history[0]["misfit"] for line in history], "o-", color="black", ms=3)
    left.set(xlabel="epoch", ylabel="misfit / first misfit", title="data")
    right.plot(epochs, [line["model_error"] for line in history], "o-", color="black", ms=3)
    right.set(xlabel="epoch", ylabel="RMS error (m/s)", title="model")
    for axis in (left, right):
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def plot_epoch(path: Path, true, inverted, gradient, dh: float, epoch: int) -> None:
    """True model, inverted model and gradient of an epoch, one below the other, in km."""
    true, inverted, gradient = (np.asarray(x) for x in (true, inverted, gradient))
    width = 9.0
    height = 3 * (width * 0.8 * true.shape[0] / true.shape[1] + 0.6)
    figure, axes = _figure(3, 1, (width, height), sharex=True)
    extent = (0, true.shape[1] * dh / 1e3, true.shape[0] * dh / 1e3, 0)
    low, high = float(true.min()) / 1e3, float(true.max()) / 1e3
    largest = float(np.percentile(np.abs(gradient), 99.5)) or 1.0
    panels = (
        ("true", true / 1e3, "viridis", low, high, "vp (km/s)"),
        (f"inverted, epoch {epoch}", inverted / 1e3, "viridis", low, high, "vp (km/s)"),
        ("gradient", gradient / largest, "RdBu", -1, 1, "relative"),
    )
    for axis, (title, values, colours, vmin, vmax, label) in zip(axes[:, 0], panels, strict=True):
        image = axis.imshow(values, cmap=colours, vmin=vmin, vmax=vmax, extent=extent, aspect="equal")
        axis.set(ylabel="depth (km)", title=title)
        figure.colorbar(image, ax=axis, label=label, shrink=0.9)
    axes[-1, 0].set_xlabel("x (km)")
    figure.savefig(path, dpi=120)
