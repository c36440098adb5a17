"""Models with the survey over them: a section, or three slices through a volume."""

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DomainError
from .canvas import add_colour_bar, as_numbers, limits, map_extent, new_figure, panel_size, save, spacing
from .survey import Survey, add_legend, draw_survey, read_survey

LABELS = ("depth (km)", "y (km)", "x (km)")
KINDS = ("map at depth", "section at y", "section at x")


def plot_model(
    path: Path | str, model: Any, dh: Any, sources: Any = None, receivers: Any = None, title: str = "",
    label: str = "vp (m/s)", point: Any = None, cmap: str = "viridis",
) -> None:  # fmt: skip
    """A model with its survey: a section, or three orthogonal slices through a volume.

    Parameters
    ----------
    path : path
        The picture; its suffix names the format.
    model : (nz, nx) or (nz, ny, nx) array
    dh : float or tuple of float
        Spacing, m.
    sources, receivers : array of int or float, optional
        Positions in cells, columns (x, z) or (x, y, z), of one shot or of all: (n, ndim) or (nshots, n, ndim).
        On the slices of a volume they are seen along the third axis.
    label : str
        What the colours are, with the unit.
    point : tuple of int, optional
        The cell (x, y, z) in which the slices of a volume meet; its middle by default.
    """
    model = as_numbers(model, "the model", "(nz, nx) or (nz, ny, nx), depth first", (2, 3))
    steps, survey = spacing(dh, model.ndim), read_survey(sources, receivers, model.shape)
    if model.ndim == 3:
        figure = _volume(model, steps, survey, _meeting(point, model.shape), label, cmap)
        figure.suptitle(title)
    else:
        figure = new_figure(panel_size(model.shape * steps, width=9.0))
        axis = figure.subplots()
        add_colour_bar(figure, draw_section(axis, model, steps, cmap), axis, label, model)
        draw_survey(axis, survey, steps)
        axis.set_title(title, loc="left")
        add_legend(axis)
    save(figure, path)


def draw_section(axis: Any, section: np.ndarray, steps: np.ndarray, cmap: str = "viridis", **style: Any) -> Any:
    """The image of a section (nz, nx), in km at its true proportions, depth downwards."""
    low, high = limits(section)
    style = {"vmin": low, "vmax": high, **style}
    axis.set(xlabel=LABELS[-1], ylabel=LABELS[0])
    return axis.imshow(section, cmap, extent=map_extent(section.shape, steps), aspect="equal", **style)


def _meeting(point: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The cell (z, y, x) in which the slices meet."""
    if point is None:
        return tuple(n // 2 for n in shape)
    cell = np.asarray(point)[..., ::-1]
    if cell.shape != (3,) or cell.dtype.kind not in "iu" or not ((cell >= 0) & (cell < shape)).all():
        raise DomainError(f"point is {point!r}; expected a cell (x, y, z) of the model, of {shape[::-1]} cells")
    return tuple(cell.tolist())


def _volume(model: np.ndarray, steps: np.ndarray, survey: Survey, cell: tuple, label: str, cmap: str) -> Any:
    """A map above the section along x, the section along y beside it, each marking where it cuts the others."""
    depth, across, along = model.shape * steps
    width = 9.0
    scale = (width - 2.0) / (along + across)
    figure = new_figure((width, float(np.clip(scale * (depth + across), 3, 14)) + 1.4))
    shares = {"width_ratios": (along, across), "height_ratios": (across, depth)}
    ((top, corner), (front, side)) = figure.subplots(2, 2, gridspec_kw=shares)
    low, high = limits(model)
    for axis, fixed, rows, columns in ((top, 0, 1, 2), (front, 1, 0, 2), (side, 2, 0, 1)):
        pair = steps[[rows, columns]]
        section = model.take(cell[fixed], fixed)
        image = draw_section(axis, section, pair, cmap, vmin=low, vmax=high)
        axis.set(xlabel=LABELS[columns], ylabel=LABELS[rows])
        axis.set_title(f"{KINDS[fixed]} = {cell[fixed] * steps[fixed]:.2f} km", loc="left", fontsize=10)
        axis.axhline(cell[rows] * pair[0], color="white", linewidth=0.8, linestyle="--")
        axis.axvline(cell[columns] * pair[1], color="white", linewidth=0.8, linestyle="--")
        draw_survey(axis, survey, steps, rows, columns)
    top.invert_yaxis()  # a map: y upwards
    corner.axis("off")
    draw_legend = top.get_legend_handles_labels()
    if draw_legend[1]:
        corner.legend(*draw_legend, loc="center", frameon=False)
    add_colour_bar(figure, image, (top, corner, front, side), label, model)
    return figure
