"""The time step and averages between cells, from which an equation computes its coefficients."""

from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from ..errors import OptionError
from ..numerics.grid import AXES, Grid


class NodeAverages:
    """Averages of arrays (..., *padded grid) at nodes that lie half a cell further along some axes.

    `xp` is numpy, torch or jax.numpy. The last node of an axis, beyond which there is no cell, has that cell's value.
    """

    def __init__(self, problem, xp: Any):
        self.problem, self.xp = problem, xp

    @property
    def dt(self) -> float:
        """The time step, s."""
        return self.problem.dt

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes, ``('z', 'x')`` or ``('z', 'y', 'x')``."""
        return AXES[self.problem.grid.ndim]

    def mean(self, x, axis: str):
        """Return the arithmetic mean of the two cells beside each node."""
        return 0.5 * (x + self._next(x, axis))

    def harmonic(self, x, *axes: str):
        """Return the harmonic mean of the cells around each node: two along one axis, four along two.

        It is zero, with derivative zero, if one of them is zero.
        """
        # `where` twice: the derivative of the branch that is not taken must be finite too.
        solid = x > 0
        inverse = 1 / self.xp.where(solid, x, 1.0)
        for axis in axes:
            solid, inverse = solid & self._next(solid, axis), inverse + self._next(inverse, axis)
        return self.xp.where(solid, 2 ** len(axes) / inverse, 0.0)

    def surfaced(self, inside, surface, *properties):
        """Return `inside`, with ``surface(*properties)`` in the cells of the free surface, if there is one."""
        if not self.problem.free_surface:
            return inside
        depth = -self.problem.grid.ndim
        top, rest = ((Ellipsis, rows, *(slice(None),) * (-depth - 1)) for rows in (slice(0, 1), slice(1, None)))
        return self.xp.concatenate([surface(*(x[top] for x in properties)), inside[rest]], depth)

    def _next(self, x, axis):
        """Return the cell after each one along an axis."""
        if axis not in self.axes:
            raise OptionError(f"the axis of a mean is {axis!r}; expected one of {self.axes}")
        depth = self.axes.index(axis) - len(self.axes)
        after = (slice(None),) * (-depth - 1)
        rest, last = x[(Ellipsis, slice(1, None), *after)], x[(Ellipsis, slice(-1, None), *after)]
        return self.xp.concatenate([rest, last], depth)


@lru_cache(maxsize=64)
def rows_before(problem) -> int | None:
    """Return the number of rows of coefficients that depend on the next row of the parameters: 1 with means along z.

    None if all rows may depend on it, or if the equation cannot compute coefficients for a few cells.
    """
    shape, changed = (8,) + (2,) * (problem.grid.ndim - 1), 6
    few, rng = attrs.evolve(problem, grid=Grid(shape, problem.grid.spacing)), np.random.default_rng(0)
    try:
        one, other = (problem.equation.example(shape, rng) for _ in range(2))
        mixed = [np.concatenate([a[:changed], b[changed:]]) for a, b in zip(one, other, strict=True)]
        results = [problem.equation.coefficients(NodeAverages(few, np), *models) for models in (one, mixed)]
    except Exception:  # such as one that holds an array of a model's shape
        return None
    across = tuple(range(1, len(shape)))
    differ = [np.broadcast_to(a != b, shape).any(axis=across) for a, b in zip(*results, strict=True)]
    first = int(np.argmax(np.any(differ, axis=0)))
    return changed - first if first else None
