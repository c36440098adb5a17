"""The compiled time loop under `jax.custom_jvp`: forward and exact adjoint through the C ABI."""

import re
from contextlib import contextmanager
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from sweep_core.acquisition.call_shape import CallShape
from sweep_core.acquisition.contacts import has_contacts
from sweep_core.acquisition.positions import interpolated
from sweep_core.acquisition.receivers import finalise_record
from sweep_core.acquisition.shots import Shots
from sweep_core.discretization.array_ops import solid_of
from sweep_core.errors import UnsupportedError
from sweep_core.memory import MemoryOptions
from sweep_core.memory.limits import warn_if_above
from sweep_core.native import plan_history, snapshots_of
from sweep_core.native.library import raise_for
from sweep_core.native.prepare import ArrayLibrary, model_buffers, survey_buffers
from sweep_core.native.selection import library_of
from sweep_core.problem import Problem

from .memory import allocating, left_on
from .operators import Task, born_p, forward_p, snapshots_p
from .ops import JaxOps, mark_inadmissible
from .private import ShapedArray, Tracer
from .shim import forced_isa


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def forward(task: Task, coefficients, wavelet, survey):
    """Return (record, snapshots, flag). Only a run with a derivative keeps a history.

    `survey` holds the other buffers by name.
    """
    arrays = survey | {"coefficients": coefficients, "wavelet": wavelet}
    record, snapshots, *_, flag = forward_p.bind(*(arrays[n] for n in task.read("forward")), task=task, history=False)
    return record, snapshots, flag


@partial(forward.defjvp, symbolic_zeros=True)
def _(task, primals, tangents):
    coefficients, wavelet, survey = primals
    if any(type(t) is not SymbolicZero for t in jax.tree.leaves(tangents[2])):
        raise UnsupportedError("impl='c' has no derivative in positions; use impl='eager'")
    if task.kind == "cpu":
        warn_if_above(sum(x.size for x in task.results(True, task.kept_names(True))), task.problem.memory)
    arrays = survey | {"coefficients": coefficients, "wavelet": wavelet}
    record, waves, *history, flag = forward_p.bind(*(arrays[n] for n in task.read("forward")), task=task, history=True)
    varies = tuple(type(t) is not SymbolicZero for t in tangents[:2])
    directions = [t for t, nonzero in zip(tangents, varies, strict=False) if nonzero]
    arrays |= dict(zip(task.kept_names(True), history, strict=True))
    (tangent,) = born_p.bind(*directions, *(arrays[n] for n in task.residuals()), task=task, by=varies, batches=())
    none = SymbolicZero(ShapedArray(flag.shape, jax.dtypes.float0))
    if task.shape.snapshots is None:
        snapshot_tangent = SymbolicZero(ShapedArray(waves.shape, waves.dtype))
    else:
        snapshot_tangent = snapshots_p.bind(*directions, shape=waves.shape, dtype=waves.dtype)
    return (record, waves, flag), (tangent, snapshot_tangent, none)


def propagate(problem: Problem, shape: CallShape, shots: Shots, models, kind: str, device: jax.Device, unread: bool):
    """Return (record, snapshots by field, flag).

    The record is (nshots, nt, nrec, nfield), the flag the status word of a GPU. With `unread`, models and wavelet were
    not checked.
    """
    history = plan_history(kind, problem, shape, partial(left_on, device), traced=True)
    library = library_of(problem.equation, problem.grid.ndim, shape.dtype, kind)
    task = Task(kind, problem, shape, history, forced_isa(library))
    earth = None
    if interpolated(shots.sources, shots.receivers):
        constants = tuple(without_gradient(m) for m in models)
        if unread or has_contacts(problem.equation.solid(*map(np.asarray, constants))):
            earth = constants
    survey = _survey(task, shots.sources, shots.receivers, shots.mask, earth)
    return _propagate(task, unread, survey, shots.wavelet, shots.mask, tuple(models))


def without_gradient(x):
    """Return the array that `jax.grad` wraps; an array that can be read stays so, also inside `jax.jit`."""
    return jax.lax.stop_gradient(x) if isinstance(x, Tracer) else x


@partial(jax.jit, static_argnums=(0,))
def _survey(task, sources, receivers, mask, models):
    """Return the buffers of the survey, which runs with and without a derivative share.

    `models` are needed only where contacts of solid and fluid may be near.
    """
    shots = Shots(None, sources, receivers, mask)
    solid = None if models is None else solid_of(task.problem, models, jnp, jax.lax.stop_gradient)
    return survey_buffers(task.problem, task.shape, shots, jnp, solid)


@partial(jax.jit, static_argnums=(0, 1))
def _propagate(task, unread, survey, wavelet, mask, models):
    problem, shape = task.problem, task.shape
    cells, fixed = survey
    models = mark_inadmissible(problem, models) if unread else models
    library = ArrayLibrary(jnp, jax.lax.stop_gradient, partial(jnp.asarray, dtype=shape.dtype))
    ops = JaxOps(problem, shape.dtype) if unread else None
    buffers = model_buffers(problem, shape, cells, wavelet, models, library, ops)
    record, snapshots, flag = forward(task, buffers["coefficients"], buffers["wavelet"], fixed)
    record = finalise_record(jnp, problem, shape, mask, record)
    return record, snapshots_of(problem, shape, snapshots), flag


@contextmanager
def refusals(memory: MemoryOptions | None = None):
    """Turn an error of the compiled library or an allocator into its SweepError, where XLA reports it at once.

    The error of an allocator names the options in `memory`.
    """
    try:
        with allocating(memory or MemoryOptions()):
            yield
        return
    except jax.errors.JaxRuntimeError as error:
        match = re.search(r"SWEEP status (\d+): (.*)", str(error))
        if match is None:
            raise
    raise_for(int(match[1]), match[2])
