"""The regular grid of a model: cells per axis and their spacing."""

import math
from typing import Any

import attrs
import numpy as np

from ..errors import DomainError, ShapeError

AXES = {1: ("z",), 2: ("z", "x"), 3: ("z", "y", "x")}
SHAPES = "(nz,), (nz, nx) or (nz, ny, nx)"
MOST_CELLS = 2**31 - 1
"""Cells of a padded grid: positions are flat cells of 32 bits."""
SPACINGS = (1e-12, 1e12)
"""Smallest and largest spacing (m): volumes of cells and their inverses are numbers of single precision."""


@attrs.frozen
class Grid:
    """Cells of a model, depth first, and their size in metres; made by :func:`make_grid`."""

    shape: tuple[int, ...]
    spacing: tuple[float, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes in array order: ``('z',)``, ``('z', 'x')`` or ``('z', 'y', 'x')``."""
        return AXES[self.ndim]

    @property
    def cell_volume(self) -> float:
        """Product of the spacings, m^ndim: one over the delta function of a point source."""
        return math.prod(self.spacing)


def make_grid(shape: Any, spacing: Any) -> Grid:
    """Return a checked grid.

    Parameters
    ----------
    shape : tuple of int
        ``(nz,)``, ``(nz, nx)`` or ``(nz, ny, nx)``.
    spacing : float or tuple of float
        Cell size in metres, one for all axes or one for each in the order of `shape`.

    Raises
    ------
    ShapeError, DomainError
        If a number of cells or a spacing is missing or not positive.
    """
    try:
        cells = tuple(shape)
    except TypeError:
        cells = ()
    if len(cells) not in AXES or not all(_whole(n) and n > 0 for n in cells):
        raise ShapeError(f"shape is {shape!r}; expected {SHAPES}, positive whole numbers")
    try:
        spacings = (spacing,) * len(cells) if np.ndim(spacing) == 0 else tuple(spacing)
        sizes = tuple(math.nan if isinstance(h, str) else float(h) for h in spacings)
    except (TypeError, ValueError):
        raise DomainError(f"dh is {spacing!r}; expected metres, a number or one per axis") from None
    if len(sizes) != len(cells):
        raise ShapeError(f"dh has {len(sizes)} values; expected one, or one for each of the axes {AXES[len(cells)]}")
    if not all(SPACINGS[0] <= h <= SPACINGS[1] for h in sizes):
        raise DomainError(
            f"dh is {spacing!r}; expected positive, finite spacings, {SPACINGS[0]:g} to {SPACINGS[1]:g} m"
        )
    return Grid(tuple(int(n) for n in cells), sizes)


def _whole(n: Any) -> bool:
    return isinstance(n, int | np.integer) and not isinstance(n, bool)
