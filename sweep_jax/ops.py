"""An equation's operations in JAX, and helpers for traced values."""

import jax
import jax.numpy as jnp

from sweep_core.discretization.array_ops import Ops
from sweep_core.problem import Problem


class JaxOps(Ops):
    """Operations in one dtype; differentiable. Reads outside the grid clip to its edge, and writes are dropped."""

    xp = jnp

    def __init__(self, problem, dtype):
        self.dtype = jnp.dtype(dtype)
        super().__init__(problem, self.dtype)

    def pad(self, x, axis, count):
        width = [(0, 0)] * x.ndim
        width[axis - self.ndim] = (count, count)
        return jnp.pad(x, width)

    def typed(self, x):
        return x.astype(self.dtype)

    def hold(self, x):
        return jax.lax.stop_gradient(x)

    def array(self, values, dtype):
        return jnp.asarray(values, dtype)

    def zeros(self, shape):
        return jnp.zeros(shape, self.dtype)

    def repeated(self, body, state, count, enough):
        return jax.lax.fori_loop(0, count, lambda _, state: body(state), state)

    def take(self, x, cells):
        flat = jnp.broadcast_to(x.reshape(x.shape[0], -1), (cells.shape[0], x[0].size))
        return jnp.take_along_axis(flat, cells, axis=1, mode="clip")

    def add(self, x, cells, amounts):
        flat = x.reshape(x.shape[0], -1)
        return flat.at[jnp.arange(len(flat))[:, None], cells].add(amounts, mode="drop").reshape(x.shape)


def mark_inadmissible(problem: Problem, models) -> list[jax.Array]:
    """Return the models with NaN where parameters are inadmissible: their squares alone would look right."""
    good = problem.admits(*models)
    return [m * one_or_nan(good, m.dtype) for m in models]


def one_or_nan(good: jax.Array, dtype) -> jax.Array:
    """Return a factor, 1 or NaN, that also makes derivatives NaN."""
    return jnp.where(good, 1, jnp.nan).astype(dtype)
