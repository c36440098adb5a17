"""The eager time loop: the equation's step in JAX operations under `lax.scan`, differentiable by JAX."""

from functools import partial
from math import isqrt

import jax
import jax.numpy as jnp

from sweep_core.call import CallShape
from sweep_core.eager import EagerRun
from sweep_core.problem import Problem
from sweep_core.survey import Shots, samples_of

from .ops import JaxOps, admitted, cells_inside, one_or_nan


def chunk_length(problem: Problem, steps: int) -> int:
    """Steps between states that JAX keeps: all for ``'full'``; otherwise what is between is recomputed."""
    if problem.memory.strategy == "auto":
        return max(isqrt(steps), 1)
    return problem.chunk(steps, 0)


def propagate(problem: Problem, shape: CallShape, shots: Shots, models) -> jax.Array:
    """Record (nshots, nt, nrec, nfield); NaN throughout where a value is one that the problem does not admit."""
    return _propagate(problem, shape, shots.wavelet, shots.sources, shots.receivers, tuple(models))


@partial(jax.jit, static_argnums=(0, 1))
def _propagate(problem, shape, wavelet, sources, receivers, models):
    receivers = receivers if receivers.ndim == 3 else receivers[None]
    sources, receivers = (cells_inside(problem, p, shape.shots) for p in (sources, receivers))
    models = admitted(problem, models)
    run = EagerRun(problem, JaxOps(problem, shape.dtype), shape, sources, receivers, models)

    def step(state, sample):
        return run.advance(state, [sample]), jnp.stack(run.record(state), axis=-1)

    samples = jnp.moveaxis(samples_of(wavelet), -1, 0)[:-1]
    state, record = _scan(step, run.start(), samples, chunk_length(problem, shape.steps))
    last = jnp.stack(run.record(state), axis=-1)
    record = jnp.moveaxis(jnp.concatenate([record, last[None]]), 0, 1)
    return record * one_or_nan(_all_good(problem, (sources, receivers), models), record.dtype)


def _scan(step, state, samples, length):
    """`lax.scan` in chunks of `length` steps whose states are recomputed; one that is left over is shorter."""
    if length >= len(samples):
        return jax.lax.scan(step, state, samples)
    count = len(samples) // length * length
    whole = samples[:count].reshape(-1, length, *samples.shape[1:])
    chunk = partial(jax.lax.scan, step)
    state, record = jax.lax.scan(jax.checkpoint(chunk, prevent_cse=False), state, whole)
    record = record.reshape(-1, *record.shape[2:])
    if count < len(samples):
        state, rest = jax.checkpoint(chunk)(state, samples[count:])
        record = jnp.concatenate([record, rest])
    return state, record


def _all_good(problem, cells, models):
    """Whether positions lie inside, parameters are admitted, and dt is stable."""
    good = problem.equation.speed(*models).max() <= problem.largest_speed  # false where it is NaN
    for at in cells:
        good &= (at >= 0).all()
    return good
