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
from sweep_core.problem import Problem

from .memory import allocating, left_on
from .operators import Task, born_p, forward_p, snapshots_p
from .ops import JaxOps, admitted
from .private import ShapedArray
from .shim import forced_isa


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def forward(task: Task, coefficients, wavelet, survey):
    """(coefficients, wavelet) -> (record, snapshots, flag). A history is kept only where a derivative is taken.

    `survey` are the other buffers, by name.
    """
    arrays = survey | {"coefficients": coefficients, "wavelet": wavelet}
    record, seen, *_, flag = forward_p.bind(*(arrays[n] for n in task.read("forward")), task=task, history=False)
    return record, seen, flag


@partial(forward.defjvp, symbolic_zeros=True)
def _(task, primals, tangents):
    coefficients, wavelet, survey = primals
    if any(type(t) is not SymbolicZero for t in jax.tree.leaves(tangents[2])):
        raise UnsupportedError("impl='c' has no derivative in positions; use impl='eager'")
    if task.kind == "cpu":
        warn_if_above(sum(x.size for x in task.results(True, task.kept_names(True))), task.problem.memory)
    arrays = survey | {"coefficients": coefficients, "wavelet": wavelet}
    record, seen, *kept, flag = forward_p.bind(*(arrays[n] for n in task.read("forward")), task=task, history=True)
    by = tuple(type(t) is not SymbolicZero for t in tangents[:2])
    varied = [t for t, nonzero in zip(tangents, by, strict=False) if nonzero]
    arrays |= dict(zip(task.kept_names(True), kept, strict=True))
    (tangent,) = born_p.bind(*varied, *(arrays[n] for n in task.residuals()), task=task, by=by, batches=())
    none = SymbolicZero(ShapedArray(flag.shape, jax.dtypes.float0))
    if task.shape.snapshots is None:
        of_seen = SymbolicZero(ShapedArray(seen.shape, seen.dtype))
    else:
        of_seen = snapshots_p.bind(*varied, shape=seen.shape, dtype=seen.dtype)
    return (record, seen, flag), (tangent, of_seen, none)


def propagate(problem: Problem, shape: CallShape, shots: Shots, models, kind: str, device: jax.Device, unread: bool):
    """(record, snapshots by field, flag): (nshots, nt, nrec, nfield), ..., the status that a GPU leaves behind. Models
    that are `unread` were not checked.
    """
    kept = plan_history(kind, problem, shape, partial(left_on, device), traced=True)
    task = Task(kind, problem, shape, kept, forced_isa(kind, problem.equation.library))
    earth = None
    if interpolated(shots.sources, shots.receivers):
        held = tuple(map(jax.lax.stop_gradient, models))
        if unread or has_contacts(problem.equation.solid(*map(np.asarray, held))):
            earth = held
    survey = _survey(task, shots.sources, shots.receivers, shots.mask, earth)
    return _propagate(task, unread, survey, shots.wavelet, shots.mask, tuple(models))


@partial(jax.jit, static_argnums=(0,))
def _survey(task, sources, receivers, mask, models):
    """By itself, since runs with and without a derivative share it; `models` where contacts may be near."""
    shots = Shots(None, sources, receivers, mask)
    solid = None if models is None else solid_of(task.problem, models, jnp, jax.lax.stop_gradient)
    return survey_buffers(task.problem, task.shape, shots, jnp, solid)


@partial(jax.jit, static_argnums=(0, 1))
def _propagate(task, unread, survey, wavelet, mask, models):
    problem, shape = task.problem, task.shape
    cells, fixed = survey
    models = admitted(problem, models) if unread else models
    library = ArrayLibrary(jnp, jax.lax.stop_gradient, partial(jnp.asarray, dtype=shape.dtype))
    ops = JaxOps(problem, shape.dtype) if unread else None
    buffers = model_buffers(problem, shape, cells, wavelet, models, library, ops)
    record, seen, flag = forward(task, buffers["coefficients"], buffers["wavelet"], fixed)
    record = finalise_record(jnp, problem, shape, mask, record)
    return record, snapshots_of(problem, shape, seen), flag


@contextmanager
def refusals(memory: MemoryOptions | None = None):
    """Raises what the compiled library or an allocator refuses as the SweepError that it is, where XLA reports it at
    once; `memory` is what was chosen.
    """
    try:
        with allocating(memory or MemoryOptions()):
            yield
        return
    except jax.errors.JaxRuntimeError as error:
        found = re.search(r"SWEEP status (\d+): (.*)", str(error))
        if found is None:
            raise
    raise_for(int(found[1]), found[2])
