"""The eager time loop: the equation's step in JAX operations under `lax.scan`, differentiable by JAX."""

from functools import partial

import jax
import jax.numpy as jnp

from sweep_core.acquisition.call_shape import CallShape
from sweep_core.acquisition.receivers import finalise_record, receiver_positions
from sweep_core.acquisition.shots import Shots
from sweep_core.acquisition.sources import driving_wavelet
from sweep_core.discretization.stability import excess
from sweep_core.execution.eager import EagerRun
from sweep_core.memory import make_strategy
from sweep_core.problem import Problem

from .ops import JaxOps, mark_inadmissible, one_or_nan


def propagate(problem: Problem, shape: CallShape, shots: Shots, models, unread: bool) -> tuple[jax.Array, dict]:
    """Return (record, snapshots): (nshots, nt, nrec, nfield), and fields by name.

    With `unread`, the models were not checked. The record is all NaN if a value is inadmissible, a position lies
    outside, or, for `unread` models, dt is unstable.
    """
    return _propagate(problem, shape, unread, shots.wavelet, shots.sources, shots.receivers, shots.mask, tuple(models))


@partial(jax.jit, static_argnums=(0, 1, 2))
def _propagate(problem, shape, unread, wavelet, sources, receivers, mask, models):
    shots = Shots(wavelet, sources, receivers, mask)
    models = mark_inadmissible(problem, models)
    receivers = receiver_positions(jnp, problem, shots)
    run = EagerRun(problem, JaxOps(problem, shape.dtype), shape, sources, receivers, models)

    def step(state, sample):
        new = run.advance(state, sample)
        return new, jnp.stack(run.record(state, new), axis=-1)

    samples = jnp.moveaxis(driving_wavelet(jnp, problem, shape, wavelet), -1, 0)
    scan = partial(_scan, step, length=make_strategy(problem.memory).segment(shape.steps))
    asked, start = shape.snapshots, run.start()
    state, record, images = _watched(run, scan, start, samples) if asked else (*scan(start, samples[:-1]), {})
    last = jnp.stack(run.record(state, _ahead(run, state, samples[-1])), axis=-1)
    record = finalise_record(jnp, problem, shape, mask, jnp.moveaxis(jnp.concatenate([record, last[None]]), 0, 1))
    points = [p.cells for p in (*run.sources, *run.receivers)]
    good = excess(problem, run.ops, models) <= 1 if unread else jnp.array(True)  # false where it is NaN
    return record * one_or_nan(_all_inside(points, good), record.dtype), images


def _ahead(run, state, sample):
    """Return the state one step later if the record or snapshots of this step need it, else the state itself."""
    return run.advance(state, sample) if run.one_more else state


def _watched(run, scan, state, samples):
    """Scan from one snapshot to the next, then up to the last sample; return (state, record, snapshots)."""
    asked = run.shape.snapshots

    def between(state, part):
        new, record = scan(state, part)
        return new, (record, run.snapshot(state, _ahead(run, state, part[0])))

    count = (len(samples) - 1) // asked.every
    whole, rest = samples[: count * asked.every], samples[count * asked.every :]
    state, (record, images) = jax.lax.scan(between, state, whole.reshape(count, asked.every, *samples.shape[1:]))
    record = record.reshape(count * asked.every, *record.shape[2:])
    last = [x[None] for x in run.snapshot(state, _ahead(run, state, rest[0]))]
    state, part = scan(state, rest[:-1])
    fields = [jnp.moveaxis(jnp.concatenate(pair), 0, 1) for pair in zip(images, last, strict=True)]
    return state, jnp.concatenate([record, part]), dict(zip(asked.fields, fields, strict=True))


def _scan(step, state, samples, length):
    """Run `lax.scan` in chunks of `length` steps, whose states are recomputed; the last chunk may be shorter."""
    if length >= len(samples):
        return jax.lax.scan(step, state, samples)
    count = len(samples) // length * length
    whole = samples[:count].reshape(-1, length, *samples.shape[1:])
    chunk = partial(jax.lax.scan, step)
    state, record = jax.lax.scan(jax.checkpoint(chunk, prevent_cse=False), state, whole)
    record = record.reshape(count, *record.shape[2:])
    if count < len(samples):
        state, rest = jax.checkpoint(chunk)(state, samples[count:])
        record = jnp.concatenate([record, rest])
    return state, record


def _all_inside(cells, good):
    """Return whether positions lie inside the grid and `good` is true."""
    for at in cells:
        good &= (at >= 0).all()
    return good
