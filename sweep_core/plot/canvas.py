"""Canvases, axes and sizes of figures, and the writing of pictures."""

from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import OptionError, UnsupportedError
from ..io import replacing

PANELS = 12
"""The largest number of panels in a row or a column."""
WIDEST = 36.0
"""The largest width of a figure of many panels (inches)."""


def new_figure(size: tuple[float, float]) -> Any:
    """Return a figure without a window, whose panels of fixed proportions lie close together."""
    try:
        from .figure import NotebookFigure
    except ImportError:
        raise UnsupportedError("matplotlib is not installed; plotting needs it: pip install matplotlib") from None
    return NotebookFigure(size, layout="compressed")


def panels(ax: Any, count: int, size: tuple[float, float], make: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
    """Return a figure and its axes: those of `ax`, or those that `make(figure)` adds to a new figure."""
    if ax is None:
        figure = new_figure(size)
        axes = make(figure)
        return figure, list(axes.flat) if hasattr(axes, "flat") else [axes]
    from matplotlib.axes import Axes

    axes = list(getattr(ax, "flat", ax)) if isinstance(ax, Iterable) else [ax]
    if others := [each for each in axes if not isinstance(each, Axes)]:
        raise OptionError(
            f"ax is, or holds, {type(others[0]).__name__}; expected Axes of matplotlib, as plt.subplots() returns"
        )
    if len(axes) != count:
        raise OptionError(f"ax holds {len(axes)} axes; expected {count}, one for each panel")
    return axes[0].figure, axes


def save(figure: Any, path: Path | str, dpi: int = 120) -> None:
    """Write a figure to a file, completely or not at all. Missing folders are created.

    Parameters
    ----------
    figure : matplotlib Figure
        A figure of a function `plot_*`.
    path : path
        The file, whose suffix names the format.
    dpi : int
        Dots per inch.

    Raises
    ------
    OptionError
        `figure` is not a figure, the format is unknown, or `dpi` is out of range.
    StorageError
        The disk is full, or the system refuses to write.
    """
    if not hasattr(figure, "savefig"):
        raise OptionError(
            f"the figure is {type(figure).__name__}; expected a Figure of matplotlib, as plot_* return it"
        )
    formats, suffix = figure.canvas.get_supported_filetypes(), suffix_of(path, "the picture")
    if suffix not in formats:
        raise OptionError(
            f"the picture is {str(path)!r}; expected a name that ends in one of .{', .'.join(sorted(formats))}"
        )
    if isinstance(dpi, bool) or not isinstance(dpi, int | float) or not 0 < dpi < 10_000:
        raise OptionError(f"dpi is {dpi!r}; expected dots per inch, such as 120")
    with replacing(path) as stream:
        figure.savefig(stream, format=suffix, dpi=dpi)


def suffix_of(path: Any, name: str) -> str:
    """Return the suffix of a path in lower case, without the dot."""
    if not isinstance(path, str | PathLike):
        raise OptionError(f"the path of {name} is {path!r}; expected a path")
    return Path(path).suffix.removeprefix(".").lower()


def map_extent(shape: tuple[int, ...], steps: Any) -> tuple[float, float, float, float]:
    """Return left, right, bottom and top of an image whose cell (i, j) is centred on (i, j) * steps, rows downwards."""
    (rows, columns), (drow, dcolumn) = shape, steps
    return -0.5 * dcolumn, (columns - 0.5) * dcolumn, (rows - 0.5) * drow, -0.5 * drow


def panel_size(lengths: Any, width: float, rows: int = 1, columns: int = 1, bars: int = 1) -> tuple[float, float]:
    """Return the size of a figure of panels at true proportions (inches), at most `width` wide.

    `lengths` are (depth, along); a row has `bars` colour bars.
    """
    depth, along = lengths
    margin = 0.6 * (1 + columns + bars)
    panel = min((width - margin) / columns, 8.0 / rows * along / depth)
    height = float(rows * (max(panel * depth / along, 1.0) + 0.45) + 0.5)
    return max(columns * max(panel, 1.0) + margin, 4.0), height
