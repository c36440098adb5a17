"""Figures of an inversion: models side by side, their differences, the gradient and the misfit."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import DtypeError, ShapeError
from .canvas import PANELS, WIDEST, panel_size, panels
from .colours import SEQUENTIAL, SIGNED, add_colour_bar, inner, largest, limits
from .curves import check_history, draw_misfit
from .inputs import as_models, check_labels, free_cells, spacing, unit_of
from .models import draw_section
from .survey import Survey, draw_survey, read_survey

CURVE = 2.0
"""Height of the misfit curve (inches)."""
NO_SURVEY: Survey = (None, None)
Row = tuple[str, np.ndarray, str, Sequence[tuple[float, float]]]


def plot_epoch(
    model: Any, dh: Any, *, start: Any, true: Any = None, gradient: Any = None, history: Any = None, fixed: Any = None,
    sources: Any = None, receivers: Any = None, labels: Sequence[str] = ("vp (m/s)",), title: str = "", ax: Any = None,
) -> Any:  # fmt: skip
    """Plot an inversion: start, true model and inverted model on one scale, gradient, differences and misfit.

    Parameters
    ----------
    model, start, true, gradient : (nz, nx) array, or a list of n, or (n, nz, nx)
        Arrays of any library; `true` and `gradient` are optional. Percentiles over the free cells clip the colours.
        The range of models is from 0.5 to 99.5 % of the true model, or of `start` and `model` without it. Differences
        share one scale, clipped at 99 % of their magnitudes. The gradient is clipped in the same way, without the
        outermost cells, where it includes the PML.
    dh : float or tuple of float
        Grid spacing (m).
    history : list of dict, optional
        Lines with misfits, see `plot_loss`.
    fixed : bool (nz, nx) array, optional
        True in cells that keep the start, such as water. They do not change the range of the colours.
    sources, receivers : array of int or float, optional
        Positions (x, z) in cells, drawn on the start.
    labels : list of str
        The n parameters with their units. Several parameters have one column each.
    title : str
        Title of the inverted model, such as its epoch.
    ax : matplotlib Axes, optional
        Axes to draw into, one for each panel in the order above, then the misfit; by default those of a new figure.

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
    first = as_models(start, "the start", labels)
    steps, shape = spacing(dh, 2), first.shape[1:]
    free, survey = free_cells(fixed, shape), read_survey(sources, receivers, shape)
    models = {"start": first}
    if true is not None:
        models["true"] = as_models(true, "the true model", labels, shape)
    models["inverted"] = now = as_models(model, "the inverted model", labels, shape)
    changes = {f"inverted − {name}": now - models[name] for name in ("start", "true") if name in models}
    rows = [(name, values, SEQUENTIAL, _ranges(models, free)) for name, values in models.items()]
    if gradient is not None:
        gradients = as_models(gradient, "the gradient", labels, shape)
        rows.append(("gradient", gradients, SIGNED, _clips([gradients], inner(free))))
    rows += [(name, values, SIGNED, _clips([*changes.values()], free)) for name, values in changes.items()]
    if history is not None:
        check_history(history)
    return _draw(rows, labels, steps, survey, ax, history, title)


def plot_parameters(
    labels: Sequence[str], stages: Mapping[str, Any], dh: Any, *, fixed: Any = None, ax: Any = None
) -> Any:
    """Plot models of n parameters: a row for each stage, a column for each parameter.

    The first stage sets the colour scale of each column.

    Parameters
    ----------
    labels : list of str
        The n parameters with their units.
    stages : dict
        Models by their titles, up to 12: (nz, nx) array, or a list of n, or (n, nz, nx).
    dh : float or tuple of float
        Grid spacing (m).
    fixed : bool (nz, nx) array, optional
        True in cells, such as water, that do not change the range of the colours.
    ax : matplotlib Axes, optional
        Axes to draw into, one for each panel, row by row; by default those of a new figure.

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
    if not isinstance(stages, Mapping):
        raise DtypeError(f"stages are {type(stages).__name__}; expected a dict of models by their titles")
    if not 0 < len(stages) <= PANELS or not 0 < len(check_labels(labels)) <= PANELS:
        raise ShapeError(f"there are {len(stages)} stages of {len(labels)} parameters; expected 1 to {PANELS} of each")
    shape: tuple[int, ...] | None = None
    models: dict[str, np.ndarray] = {}
    for name, values in stages.items():
        models[name] = as_models(values, f"stage {name!r}", labels, shape)
        shape = models[name].shape[1:]
    ranges = _ranges({"true": next(iter(models.values()))}, free_cells(fixed, shape or ()))
    rows = [(name, values, SEQUENTIAL, ranges) for name, values in models.items()]
    return _draw(rows, labels, spacing(dh, 2), NO_SURVEY, ax, stacked=True)


def _ranges(models: Mapping[str, np.ndarray], free: np.ndarray) -> list[tuple[float, float]]:
    """Return the range of each parameter over the free cells: that of the true model, or of all models without it."""
    shown = [models["true"]] if "true" in models else list(models.values())
    return [limits(np.concatenate([values[i][free] for values in shown])) for i in range(len(shown[0]))]


def _clips(values: Sequence[np.ndarray], free: np.ndarray) -> list[tuple[float, float]]:
    """Return the range of each parameter over the free cells, symmetric about zero."""
    clips = [largest(np.concatenate([each[i][free] for each in values]), 99.0) for i in range(len(values[0]))]
    return [(-clip, clip) for clip in clips]


def _draw(
    rows: Sequence[Row], labels: Sequence[str], steps: np.ndarray, survey: Survey, ax: Any, history: Any = None,
    title: str = "", stacked: bool = False,
) -> Any:  # fmt: skip
    """Draw panels in rows, and the misfit below. Panels of one parameter lie two in a row, unless `stacked`."""
    contents = [(row, i) for row in rows for i in range(len(labels))]
    columns = 2 if len(labels) == 1 and not stacked else len(labels)
    nrows = -(-len(contents) // columns)
    shape = rows[0][1].shape[1:]
    width, height = panel_size(shape * steps, float(np.clip(4.5 * columns, 11, WIDEST)), nrows, columns, columns)
    curve = CURVE if history is not None else 0.0
    size = max(width, 6.0 if curve else width), height + curve

    def make(figure: Any) -> Any:
        shares = [(height - 0.5) / nrows] * nrows + [curve] * bool(curve)
        grid = figure.add_gridspec(len(shares), columns, height_ratios=shares)
        new: list[Any] = []
        for n in range(len(contents)):
            shared = {"sharex": new[0], "sharey": new[0]} if new else {}
            new.append(figure.add_subplot(grid[n // columns, n % columns], **shared))
        return np.array(new + ([figure.add_subplot(grid[nrows, :])] if curve else []), dtype=object)

    figure, axes = panels(ax, len(contents) + bool(curve), size, make)
    for n, (axis, ((name, values, cmap, ranges), i)) in enumerate(zip(axes, contents, strict=False)):
        parameter = labels[i].split()[0]
        low, high = ranges[i]
        image = draw_section(axis, values[i], steps, cmap, vmin=low, vmax=high)
        heading = name if len(labels) == 1 else f"{parameter}, {name}"
        axis.set_title(f"{heading}, {title}" if title and name == "inverted" else heading, fontsize=10, loc="left")
        per = f" (per {unit_of(labels[i])})" if unit_of(labels[i]) else ""
        label = f"d misfit / d {parameter}{per}" if name == "gradient" else labels[i]
        add_colour_bar(figure, image, axis, label, values[i])
        if n < len(labels):
            draw_survey(axis, survey, steps)
        if ax is None and n % columns:
            axis.tick_params(labelleft=False)
            axis.set_ylabel("")
        if ax is None and n + columns < len(contents):
            axis.tick_params(labelbottom=False)
            axis.set_xlabel("")
    if ax is None and axes[0].get_legend_handles_labels()[1]:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False)
    if curve:
        draw_misfit(axes[-1], history)
    return figure
