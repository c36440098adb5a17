"""The regular grid of a model: cells per axis and their spacing."""

import math
from numbers import Integral, Real

import attrs

from .errors import DomainError, ShapeError

AXES = {2: ("z", "x"), 3: ("z", "y", "x")}


def _shape(value) -> tuple[int, ...]:
    try:
        shape = tuple(value)
    except TypeError:
        raise ShapeError(f"shape is {value!r}; expected (nz, nx) or (nz, ny, nx)") from None
    if len(shape) not in AXES or not all(isinstance(n, Integral) and n > 0 for n in shape):
        raise ShapeError(f"shape is {value!r}; expected (nz, nx) or (nz, ny, nx), positive whole numbers")
    return tuple(int(n) for n in shape)


@attrs.frozen
class Grid:
    """Cells of a model, depth first.

    Parameters
    ----------
    shape : tuple of int
        ``(nz, nx)`` or ``(nz, ny, nx)``.
    spacing : float or tuple of float
        Cell size in metres, one for all axes or one for each in the order of `shape`.

    Raises
    ------
    ShapeError, DomainError
        Where a number of cells or a spacing is missing or not positive.
    """

    shape: tuple[int, ...] = attrs.field(converter=_shape)
    spacing: tuple[float, ...] = attrs.field()

    def __init__(self, shape, spacing):
        shape = _shape(shape)
        values = (spacing,) * len(shape) if isinstance(spacing, Real) else spacing
        try:
            values = tuple(float(h) for h in values)
        except (TypeError, ValueError):
            raise DomainError(f"dh is {spacing!r}; expected metres, a number or one per axis") from None
        if len(values) != len(shape):
            raise ShapeError(f"dh has {len(values)} values for {len(shape)} axes {AXES[len(shape)]}")
        if not all(math.isfinite(h) and h > 0 for h in values):
            raise DomainError(f"dh is {spacing!r}; a spacing must be positive and finite (metres)")
        self.__attrs_init__(shape, values)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes in array order: ``('z', 'x')`` or ``('z', 'y', 'x')``."""
        return AXES[self.ndim]

    @property
    def cell_volume(self) -> float:
        """Product of the spacings, m^ndim: one over the delta function of a point source."""
        return math.prod(self.spacing)
