"""The compiled time loop under `jax.custom_jvp`: forward and exact adjoint through the C ABI."""

import re
from contextlib import contextmanager
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from sweep_core.call import CallShape
from sweep_core.native import gather_list, inject_list
from sweep_core.native.library import raise_for
from sweep_core.ops import extend
from sweep_core.problem import Problem
from sweep_core.survey import Shots, samples_of

from .ops import admitted, cells_inside
from .primitives import Task, born_p, forward_p
from .shim import forced_isa


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def forward(task: Task, coefficients, wavelet, points, tables):
    """(coefficients, wavelet) -> (record, flag). A history is kept only where a derivative is taken.

    `points` are those of sources in, sources out, receivers in, receivers out: (cell, column, weight) each.
    """
    record, _, _, flag = forward_p.bind(coefficients, wavelet, *points[0], *points[3], tables, task=task, history=False)
    return record, flag


@partial(forward.defjvp, symbolic_zeros=True)
def _(task, primals, tangents):
    coefficients, wavelet, (sources_in, sources_out, receivers_in, receivers_out), tables = primals
    record, history, checkpoints, flag = forward_p.bind(
        coefficients, wavelet, *sources_in, *receivers_out, tables, task=task, history=True
    )
    by = tuple(type(t) is not SymbolicZero for t in tangents[:2])
    varied = [t for t, nonzero in zip(tangents, by, strict=False) if nonzero]
    points = *sources_in, *receivers_in, *sources_out
    (tangent,) = born_p.bind(
        *varied, coefficients, wavelet, *points, tables, history, checkpoints, task=task, by=by, batches=()
    )
    none = SymbolicZero(jax.core.ShapedArray(flag.shape, jax.dtypes.float0))
    return (record, flag), (tangent, none)


def propagate(problem: Problem, shape: CallShape, shots: Shots, models, kind: str) -> tuple[jax.Array, jax.Array]:
    """(record, flag): the record (nshots, nt, nrec, nfield), and the status word that a GPU leaves behind."""
    task = Task(problem, shape, kind, forced_isa(kind))
    return _propagate(task, shots.wavelet, shots.sources, shots.receivers, tuple(models))


@partial(jax.jit, static_argnums=(0,))
def _propagate(task, wavelet, sources, receivers, models):
    problem, shape = task.problem, task.shape
    dtype = np.dtype(shape.dtype)
    sources, receivers = (
        cells_inside(problem, p, shape.shots) for p in (sources, receivers if receivers.ndim == 3 else receivers[None])
    )
    points = tuple(
        make(problem, name, cells, jnp, dtype)
        for name, cells in (("sources", sources), ("receivers", receivers))
        for make in (inject_list, gather_list)
    )
    coefficients = [
        extend(problem, c, jnp.concatenate) for c in problem.equation.coefficients(*admitted(problem, models))
    ]
    samples = jnp.broadcast_to(samples_of(wavelet), (shape.shots, shape.sources, shape.steps)).swapaxes(1, 2)
    tables = jnp.asarray(problem.tables(), dtype)
    record, flag = forward(task, jnp.stack(coefficients)[None], samples, points, tables)
    return record.reshape(shape.record(problem)), flag


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
