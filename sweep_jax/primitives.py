"""The compiled time loop as JAX primitives: forward, and born and adjoint, each the other's transpose.

forward(coefficients, wavelet, sources in, receivers out, tables) -> record, history, checkpoints, flag
born(tangents of `by`, *residuals) -> tangent of the record
adjoint(cotangent of the record, *residuals) -> cotangents of coefficients and wavelet

The residuals are coefficients, wavelet, sources in, receivers in, sources out, tables, history, checkpoints; points
are three arrays each. `by` says which of coefficients and wavelet have a tangent.
"""

from functools import partial

import attrs
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from sweep_core.call import CallShape
from sweep_core.errors import DeviceError, UnsupportedError
from sweep_core.native import CompiledCall, compiled_call, thread_count
from sweep_core.native.call import ADJOINT_OUTPUTS, FORWARD_OUTPUTS
from sweep_core.problem import Problem

from . import shim

ONCE = "is not supported by impl='c', which has first derivatives in reverse mode (grad, vjp); use impl='eager'"


@attrs.frozen
class Task:
    """What is static about a call; compiled programs are cached by it."""

    problem: Problem
    shape: CallShape
    kind: str
    isa: int

    def call(self, history: bool) -> CompiledCall:
        """Struct and buffers; without `history` nothing is kept for an adjoint."""
        return compiled_call(self.kind, self.problem, self.shape, history)

    def results(self, history: bool, names) -> list[jax.ShapeDtypeStruct]:
        """Shapes and dtypes of buffers."""
        call = self.call(history)
        return [jax.ShapeDtypeStruct(call.shapes[name], call.dtype(name)) for name in names]

    def stacked(self, size: int) -> "Task":
        """`size` calls in one, as more shots."""
        return attrs.evolve(self, shape=attrs.evolve(self.shape, shots=size * self.shape.shots))


def _call(operation, task, history, outputs, arguments, devices):
    """A custom call of XLA on the buffers of an operation, in the order of sweep.h; devices share a host's threads."""
    shim.load(task.kind)
    threads = thread_count() // min(devices, len(jax.local_devices(backend="cpu")))
    return jax.ffi.ffi_call(shim.target(task.kind), task.results(history, outputs))(
        *arguments,
        operation=operation,
        problem=np.frombuffer(bytes(task.call(history).struct), np.uint8),
        threads=np.int32(max(threads, 1)),
        isa=np.int32(task.isa),
        together=devices > 1,
    )


def _run_forward(*arguments, task, history, devices=1):
    record, kept, checkpoints, _, flag = _call("forward", task, history, FORWARD_OUTPUTS, arguments, devices)
    return [record, kept, checkpoints, flag]


def _run_adjoint(cotangent, *residuals, task, devices=1):
    *residuals, history, checkpoints = residuals
    arguments = *residuals, cotangent, history, checkpoints
    return _call("adjoint", task, True, ADJOINT_OUTPUTS, arguments, devices)[:2]


def _run_born(*arguments, task, by, devices=1):
    raise UnsupportedError(f"Born modelling (jax.jvp, jax.linearize, jax.jacfwd) {ONCE}")


def _device_count(context):
    """Devices that run a program together: pmap, shard_map, sharded arrays."""
    axes = context.module_context.axis_context
    return axes.num_devices if isinstance(axes, mlir.ShardingContext) else axes.mesh.size


def _primitive(name, run, results):
    """A primitive that is `run`, on the platform of its task; `results(parameters)` are its buffers."""
    primitive = Primitive(name)
    primitive.multiple_results = True
    primitive.def_impl(run)

    @primitive.def_abstract_eval
    def _(*arguments, task, **parameters):
        history, names = results(parameters)
        return [jax.core.ShapedArray(x.shape, x.dtype) for x in task.results(history, names)]

    def lower(platform, context, *arguments, task, **parameters):
        if task.kind != platform:
            raise DeviceError(
                f"a solver for {task.kind} was called in a program for {platform}; give PropJax the device, dev='{platform}'"
            )
        rule = mlir.lower_fun(partial(run, devices=_device_count(context)), multiple_results=True)
        return rule(context, *arguments, task=task, **parameters)

    for platform in shim.PLATFORMS:
        mlir.register_lowering(primitive, partial(lower, platform), platform=platform)
    return primitive


KEPT, TARGETS = ("record", "history", "checkpoints", "flag"), ("coefficients", "wavelet")
forward_p = _primitive("sweep_forward", _run_forward, lambda parameters: (parameters["history"], KEPT))
adjoint_p = _primitive("sweep_adjoint", _run_adjoint, lambda parameters: (True, TARGETS))
born_p = _primitive("sweep_born", _run_born, lambda parameters: (True, ("record",)))
LINEAR = {forward_p: lambda by: 0, adjoint_p: lambda by: 1, born_p: sum}
"""How many of the first arguments a primitive is linear in."""


def _refuse_derivative(primals, tangents, **parameters):
    raise UnsupportedError(f"a second derivative {ONCE}")


def _jvp(primitive, primals, tangents, **parameters):
    count = LINEAR[primitive](parameters.get("by"))
    if any(type(t) is not ad.Zero for t in tangents[count:]):
        _refuse_derivative(primals, tangents)
    varied = [ad.instantiate_zeros(t) for t in tangents[:count]]
    return [primitive.bind(*first, *primals[count:], **parameters) for first in (primals[:count], varied)]


def _transpose_born(cotangents, *arguments, task, by):
    residuals = arguments[sum(by) :]
    gradients = adjoint_p.bind(ad.instantiate_zeros(*cotangents), *residuals, task=task)
    return [g for g, wanted in zip(gradients, by, strict=True) if wanted] + [None] * len(residuals)


def _transpose_adjoint(cotangents, _, *residuals, task):
    by = tuple(type(c) is not ad.Zero for c in cotangents)
    given = [c for c, nonzero in zip(cotangents, by, strict=True) if nonzero]
    return [*born_p.bind(*given, *residuals, task=task, by=by)] + [None] * len(residuals)


ad.primitive_jvps[forward_p] = _refuse_derivative
ad.primitive_jvps[adjoint_p] = partial(_jvp, adjoint_p)
ad.primitive_jvps[born_p] = partial(_jvp, born_p)
ad.primitive_transposes[born_p] = _transpose_born
ad.primitive_transposes[adjoint_p] = _transpose_adjoint


def _size(arguments, dims):
    return next(a.shape[d] for a, d in zip(arguments, dims, strict=True) if d is not None)


def _one_by_one(primitive, arguments, dims, **parameters):
    """A batch as a loop. Its transpose wants linear arguments first, none of them constant."""
    count, size = LINEAR[primitive](parameters.get("by")), _size(arguments, dims)
    looped = [i for i, d in enumerate(dims) if d is not None or i < count]

    def one(items):
        chosen = dict(zip(looped, items, strict=True))
        return primitive.bind(*(chosen.get(i, a) for i, a in enumerate(arguments)), **parameters)

    results = jax.lax.map(one, [_batch_first(arguments[i], dims[i], size) for i in looped])
    return results, [0] * len(results)


def _batch_first(x, dim, size):
    return jnp.broadcast_to(x, (size, *x.shape)) if dim is None else jnp.moveaxis(x, dim, 0)


def _as_shots(primitive, shared, arguments, dims, task, **parameters):
    """(results of one call for the batch, its size); all shots see the arguments at `shared`, which are no batch."""
    size = _size(arguments, dims)

    def stacked(x, dim):
        x = _batch_first(x, dim, size)
        return x.reshape(-1, *x.shape[2:])

    pairs = enumerate(zip(arguments, dims, strict=True))
    chosen = [a if i in shared else stacked(a, d) for i, (a, d) in pairs]
    return primitive.bind(*chosen, task=task.stacked(size), **parameters), size


def _batch_forward(arguments, dims, *, task, history):
    shared = {0, len(arguments) - 1}  # coefficients, tables
    if any(dims[i] is not None for i in shared):
        return _one_by_one(forward_p, arguments, dims, task=task, history=history)
    (*kept, flag), size = _as_shots(forward_p, shared, arguments, dims, task, history=history)
    shapes = [x.shape for x in task.results(history, KEPT[:-1])]
    # What is kept lies shot after shot, so that each call of the batch finds its own part.
    return [x.reshape(size, *shape) for x, shape in zip(kept, shapes, strict=True)] + [flag], [0, 0, 0, None]


def _batch_born(arguments, dims, *, task, by):
    shared = {sum(by), len(arguments) - 3} | ({0} if by[0] else set())  # coefficients, tables, their tangent
    if any(dims[i] is not None for i in shared):
        return _one_by_one(born_p, arguments, dims, task=task, by=by)
    (record,), size = _as_shots(born_p, shared, arguments, dims, task, by=by)
    return [record.reshape(size, *task.results(True, KEPT[:1])[0].shape)], [0]


batching.primitive_batchers[forward_p] = _batch_forward
batching.primitive_batchers[born_p] = _batch_born
batching.primitive_batchers[adjoint_p] = partial(_one_by_one, adjoint_p)  # a gradient each, not their sum
