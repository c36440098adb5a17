"""An equation's operations in JAX, and what compiled and eager runs ask of traced values."""

import jax
import jax.numpy as jnp
import numpy as np

from sweep_core.ops import Ops
from sweep_core.problem import Problem
from sweep_core.survey import cells_of


class JaxOps(Ops):
    """In one dtype; differentiable. Cells outside the grid are read from its edge and never written."""

    def __init__(self, problem, dtype):
        self.dtype = jnp.dtype(dtype)
        super().__init__(problem, self.dtype)

    def pad(self, x, axis, count):
        width = [(0, 0)] * x.ndim
        width[axis - self.ndim] = (count, count)
        return jnp.pad(x, width)

    def array(self, values, dtype):
        return jnp.asarray(values, dtype)

    def join(self, parts, axis):
        return jnp.concatenate(parts, axis=axis)

    def zeros(self, shape):
        return jnp.zeros(shape, self.dtype)

    def take(self, x, cells):
        flat = jnp.broadcast_to(x.reshape(x.shape[0], -1), (cells.shape[0], x[0].size))
        return jnp.take_along_axis(flat, cells, axis=1, mode="clip")

    def add(self, x, cells, amounts):
        flat = x.reshape(x.shape[0], -1)
        return flat.at[jnp.arange(len(flat))[:, None], cells].add(amounts, mode="drop").reshape(x.shape)


def cells_inside(problem: Problem, positions: jax.Array, nshots: int) -> jax.Array:
    """Flat cells (nshots, n) of the padded grid, int32; -1 where a position lies outside the model.

    A position outside could otherwise count as a cell of another row.
    """
    sizes = np.array(problem.grid.shape[::-1], np.int32)
    inside = ((positions >= 0) & (positions < sizes)).all(axis=-1)
    cells = cells_of(problem, positions.astype(jnp.int32), positions.shape[0])
    cells = jnp.where(inside.reshape(cells.shape), cells, -1)
    return jnp.broadcast_to(cells, (nshots, cells.shape[1]))


def admitted(problem: Problem, models) -> list[jax.Array]:
    """The models with NaN where a parameter is not finite and in bounds, also where its square would look right."""
    good = [(m > p.low) & (m < p.high) for p, m in zip(problem.equation.parameters, models, strict=True)]
    return [m * one_or_nan(g, m.dtype) for g, m in zip(good, models, strict=True)]


def one_or_nan(good: jax.Array, dtype) -> jax.Array:
    """What to multiply with, so that derivatives are NaN as well."""
    return jnp.where(good, 1, jnp.nan).astype(dtype)
