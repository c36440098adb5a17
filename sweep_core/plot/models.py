"""Models, images and gradients with the survey over them: a section, or three slices through a volume."""

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
    """A model with its survey: a section, or three orthogonal slices through a volume.

    Parameters
    ----------
    model : (nz, nx) or (nz, ny, nx) array, or a list of one
        Of any array library. All but half a percent of its cells at either end of their range fit into the colours.
    dh : float or tuple of float
        Spacing, m.
    sources, receivers : array of int or float, optional
        Positions in cells, columns (x, z) or (x, y, z), of one shot or of all: (n, ndim) or (nshots, n, ndim).
        On the slices of a volume they are seen along the third axis.
    title : str
    label : str
        What the colours are, with the unit.
    point : tuple of int, optional
        The cell (x, y, z) in which the slices of a volume meet; its middle by default.
    fixed : bool array, optional
        True in cells, such as water, that the range of the colours leaves out.
    cmap : str
    ax : matplotlib Axes, optional
        Where to draw; four of them for a volume: map, legend, section at y, section at x. By default a figure of its
        own.

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
    model = as_model(model, "the model", EXPECTED, (2, 3))
    low, high = limits(model[free_cells(fixed, model.shape)])
    return _draw(model, dh, (sources, receivers), title, label, point, ax, cmap=cmap, vmin=low, vmax=high)


def plot_image(
    image: Any, dh: Any, sources: Any = None, receivers: Any = None, *, title: str = "",
    label: str = "image (arbitrary unit)", percentile: float = 99.0, point: Any = None, fixed: Any = None,
    cmap: str = GREY, ax: Any = None,
) -> Any:  # fmt: skip
    """An image of reflectors, a gradient or a change of a model, in colours that are symmetric about zero.

    Parameters
    ----------
    image : (nz, nx) or (nz, ny, nx) array, or a list of one
    percentile : float
        Amplitudes beyond this percentile of their magnitudes are clipped, over the cells that are neither fixed nor the
        outermost: in these a gradient also answers for the PML, unless the solver has ``edge_gradient="interior"``,
        which is the choice for images.
    cmap : str
        Grey by default; "RdBu_r" has red above zero and blue below.
    dh, sources, receivers, title, label, point, fixed, ax
        As in `plot_model`.

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
    image = as_model(image, "the image", EXPECTED, (2, 3))
    clip = largest(image[inner(free_cells(fixed, image.shape))], percentile)
    return _draw(image, dh, (sources, receivers), title, label, point, ax, cmap=cmap, vmin=-clip, vmax=clip)


def _draw(
    model: np.ndarray, dh: Any, positions: tuple[Any, Any], title: str, label: str, point: Any, ax: Any, **colours: Any
) -> Any:
    steps, survey = spacing(dh, model.ndim), read_survey(*positions, model.shape)
    if model.ndim == 3:
        return _volume(model, steps, survey, _meeting(point, model.shape), title, label, ax, **colours)
    if point is not None:
        raise DomainError(f"point is {point!r}; expected none, as the model is a section and not a volume")
    figure, (axis,) = panels(ax, 1, panel_size(model.shape * steps, width=9.0), lambda new: new.subplots())
    add_colour_bar(figure, draw_section(axis, model, steps, **colours), axis, label, model)
    draw_survey(axis, survey, steps)
    axis.set_title(title, loc="left")
    add_legend(axis)
    return figure


def draw_section(axis: Any, section: np.ndarray, steps: np.ndarray, cmap: str = SEQUENTIAL, **style: Any) -> Any:
    """The image of a section (nz, nx), in km at its true proportions, depth downwards."""
    low, high = limits(section)
    style = {"vmin": low, "vmax": high, **style}
    axis.set(xlabel=LABELS[-1], ylabel=LABELS[0])
    return axis.imshow(section, cmap, extent=map_extent(section.shape, steps), aspect="equal", **style)


def _meeting(point: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The cell (z, y, x) in which the slices meet."""
    if point is None:
        return tuple(n // 2 for n in shape)
    cell = as_numbers(point, "point", "a cell (x, y, z) of the model", (1,))[::-1]
    if cell.shape != (3,) or cell.dtype.kind not in "iu" or not ((cell >= 0) & (cell < shape)).all():
        raise DomainError(f"point is {point!r}; expected a cell (x, y, z) of the model, of {shape[::-1]} cells")
    return tuple(cell.tolist())


def _volume(
    model: np.ndarray,
    steps: np.ndarray,
    survey: Survey,
    cell: tuple[int, ...],
    title: str,
    label: str,
    ax: Any,
    **colours: Any,
) -> Any:
    """A map above the section along x, the section along y beside it, each marking where it cuts the others."""
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
        cut = {"color": "0.6", "linewidth": 0.8, "linestyle": "--"}  # seen on dark models and on white images
        axis.axhline(cell[rows] * pair[0], **cut)
        axis.axvline(cell[columns] * pair[1], **cut)
        draw_survey(axis, survey, steps, rows, columns)
    top.invert_yaxis()  # a map: y upwards
    corner.axis("off")
    draw_legend = top.get_legend_handles_labels()
    if draw_legend[1] or title:
        corner.legend(*draw_legend, loc="center", frameon=False, title=title or None)
    add_colour_bar(figure, image, four, label, model)
    return figure
