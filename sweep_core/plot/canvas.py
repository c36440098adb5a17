"""What every figure shares: a canvas without a screen, arrays as they come, axes in km, clips."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DomainError, DtypeError, OptionError, ShapeError, UnsupportedError
from ..io import replacing

PANELS = 12
"""Panels side by side, or one below the other."""
WIDEST = 36.0
"""Inches of a figure of many panels."""


def new_figure(size: tuple[float, float]) -> Any:
    """A figure bound to no window; panels of fixed proportions lie close together."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UnsupportedError("plotting needs matplotlib, which is not installed: pip install matplotlib") from None
    figure = Figure(size, layout="compressed")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Any, path: Path | str, dpi: int = 120) -> None:
    """Writes a figure in the format that its suffix names; folders on the way are made."""
    known, suffix = figure.canvas.get_supported_filetypes(), Path(path).suffix.removeprefix(".").lower()
    if suffix not in known:
        raise OptionError(
            f"the picture is {str(path)!r}; expected a name that ends in one of .{', .'.join(sorted(known))}"
        )
    with replacing(path) as stream:
        figure.savefig(stream, format=suffix, dpi=dpi)


def as_numbers(values: Any, name: str, expected: str, ndim: Sequence[int]) -> np.ndarray:
    """A real, non-empty NumPy array of `values` with one of the dimensions `ndim`; `expected` says which in words."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:  # a tensor on a GPU, or one that requires a gradient
        raise DtypeError(f"{name} cannot be read as a NumPy array: {error}") from None
    if array.dtype.kind not in "iuf":
        raise DtypeError(f"{name} has dtype {array.dtype}; expected real numbers")
    if array.ndim not in ndim or 0 in array.shape:
        raise ShapeError(f"{name} has shape {array.shape}; expected {expected}")
    return array


def check_positive(value: Any, name: str, unit: str) -> float:
    """`value` as a float, refused unless it is one number above zero."""
    number = float(as_numbers(value, name, f"one number, {unit}", (0,)))
    if not (np.isfinite(number) and number > 0):
        raise DomainError(f"{name} is {value}; expected {unit}, positive")
    return number


def spacing(dh: Any, ndim: int) -> np.ndarray:
    """(ndim,) spacing in km, in the order of the axes."""
    values = as_numbers(dh, "dh", "a number, or one for each axis, in m", (0, 1))
    if values.shape not in ((), (1,), (ndim,)):
        raise ShapeError(f"dh has {values.size} values; expected one, or one for each of the {ndim} axes")
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise DomainError(f"dh is {dh}; expected metres, positive")
    return np.broadcast_to(values / 1e3, (ndim,))


def map_extent(shape: tuple[int, ...], steps: Any) -> tuple[float, float, float, float]:
    """Left, right, bottom, top of an image whose cell (i, j) is centred on (i, j) * steps, rows downwards."""
    (rows, columns), (drow, dcolumn) = shape, steps
    return -0.5 * dcolumn, (columns - 0.5) * dcolumn, (rows - 0.5) * drow, -0.5 * drow


def panel_size(lengths: Any, width: float, rows: int = 1, columns: int = 1) -> tuple[float, float]:
    """Inches of a figure of panels at true proportions, `lengths` being (depth, along): no wider than `width`."""
    depth, along = lengths
    margin = 1.2 + 0.6 * columns
    panel = min((width - margin) / columns, 8.0 / rows * along / depth)
    height = float(rows * (max(panel * depth / along, 1.0) + 0.45) + 0.5)
    return max(columns * max(panel, 1.0) + margin, 4.0), height


def add_colour_bar(figure: Any, image: Any, axes: Any, label: str, values: np.ndarray) -> None:
    """A colour bar on the right of one axis or several, pointed at an end that the values go beyond."""
    low, high = image.get_clim()
    below, above = bool((values < low).any()), bool((values > high).any())
    extend = {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[below, above]
    figure.colorbar(image, ax=axes, label=label, extend=extend, extendfrac=0.03, pad=0.02, aspect=25)


def largest(values: np.ndarray, percentile: float) -> float:
    """A percentile of the magnitudes that are finite; the largest where that is zero, 1 where all are."""
    if not 0 < percentile <= 100:
        raise DomainError(f"percentile is {percentile}; expected more than 0 and up to 100, which clips nothing")
    finite = np.abs(values[np.isfinite(values)])
    if not finite.any():
        return 1.0
    return float(np.percentile(finite, percentile)) or float(finite.max())


def limits(values: np.ndarray) -> tuple[float, float]:
    """The range of a model's colours: all but half a percent at either end, and never empty."""
    finite = values[np.isfinite(values)]
    low, high = np.percentile(finite, (0.5, 99.5)) if finite.size else (0.0, 1.0)
    return (float(low), float(high)) if high > low else (float(low) - 1.0, float(low) + 1.0)
