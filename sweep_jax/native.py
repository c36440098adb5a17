"""The compiled time loop under `jax.custom_jvp`: forward and exact adjoint through the C ABI."""

import re
from contextlib import contextmanager
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from sweep_core.call import CallShape, driving, finished
from sweep_core.errors import UnsupportedError
from sweep_core.native import point_lists, seen_fields, signals
from sweep_core.native.library import raise_for
from sweep_core.ops import coefficients_of
from sweep_core.problem import Problem
from sweep_core.survey import Shots, samples_of

from .ops import admitted
from .primitives import Task, born_p, forward_p
from .shim import forced_isa


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def forward(task: Task, coefficients, wavelet, points, tables):
    """(coefficients, wavelet) -> (record, snapshots, flag). A history is kept only where a derivative is taken.

    `points` are those of sources in, sources out, receivers in, receivers out: (cell, column, weight) each.
    """
    record, seen, _, _, flag = forward_p.bind(
        coefficients, wavelet, *points[0], *points[3], tables, task=task, history=False
    )
    return record, seen, flag


@partial(forward.defjvp, symbolic_zeros=True)
def _(task, primals, tangents):
    coefficients, wavelet, (sources_in, sources_out, receivers_in, receivers_out), tables = primals
    if any(type(t) is not SymbolicZero for t in jax.tree.leaves(tangents[2])):
        raise UnsupportedError("impl='c' has no derivative in positions; use impl='eager'")
    record, seen, history, checkpoints, flag = forward_p.bind(
        coefficients, wavelet, *sources_in, *receivers_out, tables, task=task, history=True
    )
    by = tuple(type(t) is not SymbolicZero for t in tangents[:2])
    varied = [t for t, nonzero in zip(tangents, by, strict=False) if nonzero]
    points = *sources_in, *receivers_in, *sources_out, *receivers_out
    (tangent,) = born_p.bind(
        *varied, coefficients, wavelet, *points, tables, history, checkpoints, task=task, by=by, batches=()
    )
    still = SymbolicZero(jax.core.ShapedArray(seen.shape, seen.dtype))
    none = SymbolicZero(jax.core.ShapedArray(flag.shape, jax.dtypes.float0))
    return (record, seen, flag), (tangent, still, none)


def propagate(problem: Problem, shape: CallShape, shots: Shots, models, kind: str):
    """(record, snapshots by field, flag): (nshots, nt, nrec, nfield), ..., the status that a GPU leaves behind."""
    task = Task(problem, shape, kind, forced_isa(kind, problem.equation.library))
    points = _points(task, shots.sources, shots.receivers, shots.mask)
    return _propagate(task, points, shots.wavelet, shots.mask, tuple(models))


@partial(jax.jit, static_argnums=(0,))
def _points(task, sources, receivers, mask):
    """By itself, since runs with and without a derivative share it."""
    shots = Shots(None, sources, receivers, mask)
    return point_lists(task.problem, task.shape, shots, jnp, np.dtype(task.shape.dtype))


@partial(jax.jit, static_argnums=(0,))
def _propagate(task, points, wavelet, mask, models):
    problem, shape = task.problem, task.shape
    cells, lists = points
    made = coefficients_of(problem, admitted(problem, models), shape.earths, jnp, jax.lax.stop_gradient)
    coefficients = jnp.stack(made, axis=1)
    samples = driving(jnp, problem, samples_of(wavelet, shape))
    samples = signals(problem, shape, jnp, samples, cells, coefficients)
    tables = jnp.asarray(problem.tables(), shape.dtype)
    record, seen, flag = forward(task, coefficients, samples, lists, tables)
    record = finished(jnp, problem, shape, mask, record)
    return record, seen_fields(problem, shape, seen), flag


@contextmanager
def refusals():
    """Raises what the compiled library refuses as the SweepError that it is, where XLA reports it at once."""
    try:
        yield
        return
    except jax.errors.JaxRuntimeError as error:
        found = re.search(r"SWEEP status (\d+): (.*)", str(error))
        if found is None:
            raise
    raise_for(int(found[1]), found[2])
