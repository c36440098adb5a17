"""What every figure shares: a canvas without a screen or axes that are given, sizes, and how it is saved."""

from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import OptionError, UnsupportedError
from ..io import replacing

PANELS = 12
"""Panels side by side, or one below the other."""
WIDEST = 36.0
"""Inches of a figure of many panels."""


def new_figure(size: tuple[float, float]) -> Any:
    """A figure bound to no window; panels of fixed proportions lie close together."""
    try:
        from .figure import ShownFigure
    except ImportError:
        raise UnsupportedError("plotting needs matplotlib, which is not installed: pip install matplotlib") from None
    return ShownFigure(size, layout="compressed")


def panels(ax: Any, count: int, size: tuple[float, float], make: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
    """The figure, and the axes that are drawn into: those of `ax`, or those that `make(figure)` adds to a new one."""
    if ax is None:
        figure = new_figure(size)
        made = make(figure)
        return figure, list(made.flat) if hasattr(made, "flat") else [made]
    from matplotlib.axes import Axes

    given = list(getattr(ax, "flat", ax)) if isinstance(ax, Iterable) else [ax]
    if strange := [each for each in given if not isinstance(each, Axes)]:
        raise OptionError(
            f"ax is, or holds, {type(strange[0]).__name__}; expected Axes of matplotlib, as plt.subplots() returns"
        )
    if len(given) != count:
        raise OptionError(f"ax holds {len(given)} axes; expected {count}, one for each panel")
    return given[0].figure, given


def save(figure: Any, path: Path | str, dpi: int = 120) -> None:
    """Write a figure whole or not at all, in the format that the suffix names; folders on the way are made.

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
        For no figure, or an unknown format.
    StorageError
        If the disk is full, or refuses otherwise.
    """
    if not hasattr(figure, "savefig"):
        raise OptionError(
            f"the figure is {type(figure).__name__}; expected a Figure of matplotlib, as plot_* return it"
        )
    known, suffix = figure.canvas.get_supported_filetypes(), suffix_of(path, "the picture")
    if suffix not in known:
        raise OptionError(
            f"the picture is {str(path)!r}; expected a name that ends in one of .{', .'.join(sorted(known))}"
        )
    if isinstance(dpi, bool) or not isinstance(dpi, int | float) or not 0 < dpi < 10_000:
        raise OptionError(f"dpi is {dpi!r}; expected dots per inch, such as 120")
    with replacing(path) as stream:
        figure.savefig(stream, format=suffix, dpi=dpi)


def suffix_of(path: Any, name: str) -> str:
    """How a path ends, without the dot."""
    if not isinstance(path, str | PathLike):
        raise OptionError(f"{name} is to be written to {path!r}; expected a path")
    return Path(path).suffix.removeprefix(".").lower()


def map_extent(shape: tuple[int, ...], steps: Any) -> tuple[float, float, float, float]:
    """Left, right, bottom, top of an image whose cell (i, j) is centred on (i, j) * steps, rows downwards."""
    (rows, columns), (drow, dcolumn) = shape, steps
    return -0.5 * dcolumn, (columns - 0.5) * dcolumn, (rows - 0.5) * drow, -0.5 * drow


def panel_size(lengths: Any, width: float, rows: int = 1, columns: int = 1, bars: int = 1) -> tuple[float, float]:
    """Inches of a figure of panels at true proportions, `lengths` being (depth, along): no wider than `width`.

    A row has `bars` colour bars.
    """
    depth, along = lengths
    margin = 0.6 * (1 + columns + bars)
    panel = min((width - margin) / columns, 8.0 / rows * along / depth)
    height = float(rows * (max(panel * depth / along, 1.0) + 0.45) + 0.5)
    return max(columns * max(panel, 1.0) + margin, 4.0), height
