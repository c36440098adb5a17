"""Figures of models, images and gradients with the survey: a section, or three slices through a volume."""

from typing import Any

import numpy as np

from ..errors import DomainError
from .canvas import map_extent, panel_size, panels
from .colours import GREY, SEQUENTIAL, add_colour_bar, inner, largest, limits
from .inputs import as_model, as_numbers, free_cells, spacing
from .survey import Survey, add_legend, draw_survey, read_survey

LABELS = ("depth (km)", "y (km)", "x (km)")
KINDS = ("map at depth", "section at y", "section at x")
EXPECTED = "(nz, nx) or (nz, ny, nx), depth first"


def plot_model(
    model: Any, dh: Any, sources: Any = None, receivers: Any = None, *, title: str = "", label: str = "vp (m/s)",
    point: Any = None, fixed: Any = None, cmap: str = SEQUENTIAL, ax: Any = None,
) -> Any:  # fmt: skip
    """Plot a model with its survey: a section, or three orthogonal slices through a volume.

    Parameters
    ----------
    model : (nz, nx) or (nz, ny, nx) array, or a list of one
        Model of any array library. The colours span its values without half a percent at each end.
    dh : float or tuple of float
        Grid spacing (m).
    sources, receivers : array of int or float, optional
        Positions in cells, columns (x, z) or (x, y, z), of one shot or of all: (n, ndim) or (nshots, n, ndim).
        The slices of a volume show them along the third axis.
    title : str
        Title.
    label : str
        Name of the quantity with its unit.
    point : tuple of int, optional
        The cell (x, y, z) in which the slices of a volume meet; the middle of the volume by default.
    fixed : bool array, optional
        True in cells, such as water, that do not change the range of the colours.
    cmap : str
        Colour map.
    ax : matplotlib Axes, optional
        Axes to draw into; four for a volume: map, legend, section at y, section at x. By default those of a new figure.

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
    model = as_model(model, "the model", EXPECTED, (2, 3))
    low, high = limits(model[free_cells(fixed, model.shape)])
    return _draw(model, dh, (sources, receivers), title, label, point, ax, cmap=cmap, vmin=low, vmax=high)


def plot_image(
    image: Any, dh: Any, sources: Any = None, receivers: Any = None, *, title: str = "",
    label: str = "image (arbitrary unit)", percentile: float = 99.0, point: Any = None, fixed: Any = None,
    cmap: str = GREY, ax: Any = None,
) -> Any:  # fmt: skip
    """Plot an image of reflectors, a gradient or a change of a model, in colours that are symmetric about zero.

    Parameters
    ----------
    image : (nz, nx) or (nz, ny, nx) array, or a list of one
        Image of any array library.
    percentile : float
        Amplitudes beyond this percentile of their magnitudes are clipped. The percentile leaves out fixed cells and the
        outermost cells: a gradient there includes the PML, unless the solver has ``edge_gradient="interior"``, the
        right choice for images.
    cmap : str
        Colour map; grey by default. "RdBu_r" is red above zero and blue below.
    dh, sources, receivers, title, label, point, fixed, ax
        See `plot_model`.

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
    image = as_model(image, "the image", EXPECTED, (2, 3))
    clip = largest(image[inner(free_cells(fixed, image.shape))], percentile)
    return _draw(image, dh, (sources, receivers), title, label, point, ax, cmap=cmap, vmin=-clip, vmax=clip)


def _draw(
    model: np.ndarray, dh: Any, positions: tuple[Any, Any], title: str, label: str, point: Any, ax: Any, **colours: Any
) -> Any:
    steps, survey = spacing(dh, model.ndim), read_survey(*positions, model.shape)
    if model.ndim == 3:
        return _draw_volume(model, steps, survey, _meeting_cell(point, model.shape), title, label, ax, **colours)
    if point is not None:
        raise DomainError(f"point is {point!r}; expected None, because the model is a section and not a volume")
    figure, (axis,) = panels(ax, 1, panel_size(model.shape * steps, width=9.0), lambda new: new.subplots())
    add_colour_bar(figure, draw_section(axis, model, steps, **colours), axis, label, model)
    draw_survey(axis, survey, steps)
    axis.set_title(title, loc="left")
    add_legend(axis)
    return figure


def draw_section(axis: Any, section: np.ndarray, steps: np.ndarray, cmap: str = SEQUENTIAL, **style: Any) -> Any:
    """Draw a section (nz, nx) in km at its true proportions, depth downwards, and return the image."""
    low, high = limits(section)
    style = {"vmin": low, "vmax": high, **style}
    axis.set(xlabel=LABELS[-1], ylabel=LABELS[0])
    return axis.imshow(section, cmap, extent=map_extent(section.shape, steps), aspect="equal", **style)


def _meeting_cell(point: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the cell (z, y, x) in which the slices meet."""
    if point is None:
        return tuple(n // 2 for n in shape)
    cell = as_numbers(point, "point", "a cell (x, y, z) of the model", (1,))[::-1]
    if cell.shape != (3,) or cell.dtype.kind not in "iu" or not ((cell >= 0) & (cell < shape)).all():
        raise DomainError(f"point is {point!r}; expected a cell (x, y, z) of the model, of {shape[::-1]} cells")
    return tuple(cell.tolist())


def _draw_volume(
    model: np.ndarray,
    steps: np.ndarray,
    survey: Survey,
    cell: tuple[int, ...],
    title: str,
    label: str,
    ax: Any,
    **colours: Any,
) -> Any:
    """Draw a map above the section along x, and the section along y beside it. Lines mark the other two slices."""
    depth, across, along = model.shape * steps
    width = 9.0
    scale = (width - 2.0) / (along + across)
    size = width, float(np.clip(scale * (depth + across), 3, 14)) + 1.4
    shares = {"width_ratios": (along, across), "height_ratios": (across, depth)}
    figure, four = panels(ax, 4, size, lambda new: new.subplots(2, 2, gridspec_kw=shares))
    top, corner, front, side = four
    for axis, fixed, rows, columns in ((top, 0, 1, 2), (front, 1, 0, 2), (side, 2, 0, 1)):
        pair = steps[[rows, columns]]
        image = draw_section(axis, model.take(cell[fixed], fixed), pair, **colours)
        axis.set(xlabel=LABELS[columns], ylabel=LABELS[rows])
        axis.set_title(f"{KINDS[fixed]} = {cell[fixed] * steps[fixed]:.2f} km", loc="left", fontsize=10)
        cut = {"color": "0.6", "linewidth": 0.8, "linestyle": "--"}  # visible on dark models and on white images
        axis.axhline(cell[rows] * pair[0], **cut)
        axis.axvline(cell[columns] * pair[1], **cut)
        draw_survey(axis, survey, steps, rows, columns)
    top.invert_yaxis()  # a map: y upwards
    corner.axis("off")
    handles, names = top.get_legend_handles_labels()
    if names or title:
        corner.legend(handles, names, loc="center", frameon=False, title=title or None)
    add_colour_bar(figure, image, four, label, model)
    return figure
