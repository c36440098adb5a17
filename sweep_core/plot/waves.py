"""Figures and films of snapshots."""

from pathlib import Path
from typing import Any

import numpy as np

from .._util.arrays import evenly_spaced
from ..errors import DomainError, OptionError, ShapeError
from .canvas import PANELS, new_figure, panel_size, panels, suffix_of
from .colours import SIGNED, add_colour_bar, largest
from .components import UNNAMED, field_label, recorded_names
from .film import photograph, write_gif
from .inputs import as_model, as_numbers, spacing
from .models import draw_section


def plot_snapshots(
    snapshots: Any, times: Any, dh: Any, model: Any = None, *, solver: Any = None, field: str | None = None,
    percentile: float = 97.0, label: str | None = None, ax: Any = None,
) -> Any:  # fmt: skip
    """Plot snapshots side by side, with one clip that is symmetric about zero.

    Parameters
    ----------
    snapshots : (nsnap, nz, nx) array
        One field of one shot. At most 12 snapshots, evenly spaced, are drawn.
    times : (nsnap,) array
        Times of the snapshots (s).
    dh : float or tuple of float
        Grid spacing (m).
    model : (nz, nx) array, or a list of one, optional
        Model, drawn in pale grey beneath.
    solver : PropTorch, PropJax or Problem, optional
        The solver of the snapshots, which gives the unit of `field`.
    field : str, optional
        Name of the field, with `solver`; the first recorded field by default.
    percentile : float
        Amplitudes beyond this percentile of their magnitudes are clipped. Only cells with waves count.
    label : str, optional
        Name of the quantity; by default the field and its unit, or "amplitude" without a solver.
    ax : matplotlib Axes, optional
        Axes to draw into, one for each drawn snapshot; by default those of a new figure.

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
    snapshots, times, steps, model = read_snapshots(snapshots, times, dh, model)
    label, clip = name_waves(solver, field, label), wave_clip(snapshots, percentile)
    numbers = evenly_spaced(len(times), PANELS)
    columns = {1: 1, 2: 2, 4: 2}.get(len(numbers), 3)
    rows = -(-len(numbers) // columns)
    size = panel_size(snapshots.shape[1:] * steps, 4.0 * columns + 1, rows, columns)
    figure, axes = panels(ax, len(numbers), size, lambda new: new.subplots(rows, columns, sharex=True, sharey=True))
    for axis, n in zip(axes, numbers, strict=False):
        image = draw_snapshot(axis, snapshots[n], steps, clip, model)
        axis.set_title(f"{times[n]:.3f} s", loc="left", fontsize=10)
        if ax is None:
            axis.label_outer()
    for axis in axes[len(numbers) :]:
        axis.set_visible(False)
    add_colour_bar(figure, image, axes, label, snapshots)
    return figure


def movie(
    path: Path | str, snapshots: Any, times: Any, dh: Any, model: Any = None, *, fps: float = 15, solver: Any = None,
    field: str | None = None, percentile: float = 97.0, label: str | None = None,
) -> None:  # fmt: skip
    """Write an animated GIF of snapshots, which plays without end. No other program is needed.

    Parameters
    ----------
    path : path
        The file, whose name ends in .gif.
    snapshots, times, dh, model, solver, field, percentile, label
        See `plot_snapshots`; every snapshot is a frame.
    fps : float
        Frames per second, up to 50.

    Raises
    ------
    SweepError
        A ShapeError, DtypeError, DomainError, OptionError or StorageError that names the argument.
    UnsupportedError
        matplotlib is not installed.
    """
    if suffix_of(path, "the film") != "gif":
        raise OptionError(f"the film is {str(path)!r}; expected a name that ends in .gif")
    if not isinstance(fps, int | float) or not 0 < fps <= 50:
        raise DomainError(f"fps is {fps}; expected frames per second, above 0 and at most 50, the limit of a GIF")
    snapshots, times, steps, model = read_snapshots(snapshots, times, dh, model)
    label = name_waves(solver, field, label)
    figure = new_figure(panel_size(snapshots.shape[1:] * steps, 6.4))
    axis = figure.subplots()
    clip = wave_clip(snapshots, percentile)
    image = draw_snapshot(axis, snapshots[0], steps, clip, model)
    add_colour_bar(figure, image, axis, label, snapshots)
    frames = []
    for snapshot, time in zip(snapshots, times, strict=True):
        show(image, snapshot, clip)
        axis.set_title(f"{time:.3f} s", loc="left")
        frames.append(photograph(figure))
    write_gif(path, frames, fps)


def read_snapshots(snapshots: Any, times: Any, dh: Any, model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
    """Return snapshots, times, spacing (km) and model as checked NumPy arrays."""
    expected = "(nsnap, nz, nx), one field of one shot; choose a shot by snapshots[shot]"
    snapshots = as_numbers(snapshots, "snapshots", expected, (3,))
    times = as_numbers(times, "times", "(nsnap,), s", (1,))
    if len(times) != len(snapshots):
        raise ShapeError(f"there are {len(times)} times and {len(snapshots)} snapshots; expected one time for each")
    if model is not None:
        model = as_model(model, "the model", "(nz, nx)", (2,))
        if model.shape != snapshots.shape[1:]:
            raise ShapeError(f"the model has shape {model.shape}; expected that of a snapshot, {snapshots.shape[1:]}")
    return snapshots, times, spacing(dh, 2), model


def name_waves(solver: Any, field: str | None, label: str | None) -> str:
    """Return the label of snapshots."""
    if solver is None and field is not None:
        raise OptionError(f"field is {field!r}; expected solver= as well, which gives its unit, or label= instead")
    if label or solver is None:
        return label or UNNAMED
    return field_label(solver, recorded_names(solver)[0] if field is None else field)


def wave_clip(snapshots: np.ndarray, percentile: float) -> float:
    """Return a percentile over the cells that waves have reached. Cells at rest would lower it."""
    peak = largest(snapshots, 100)
    return largest(snapshots[np.abs(snapshots) > 1e-3 * peak], percentile)


def draw_snapshot(axis: Any, snapshot: np.ndarray, steps: np.ndarray, clip: float, model: Any) -> Any:
    """Draw a snapshot in red and blue, over the model in pale grey if there is one."""
    if model is not None:
        draw_section(axis, model, steps, "gray", alpha=0.35)
    image = draw_section(axis, snapshot, steps, SIGNED, vmin=-clip, vmax=clip, alpha=None if model is None else 1.0)
    show(image, snapshot, clip)
    return image


def show(image: Any, snapshot: np.ndarray, clip: float) -> None:
    """Show another snapshot in the same image. Over a model, weak amplitudes are transparent."""
    image.set_data(snapshot)
    if image.get_alpha() is not None:
        image.set_alpha(np.clip(3 * np.abs(np.nan_to_num(snapshot)) / clip - 0.05, 0, 1))
