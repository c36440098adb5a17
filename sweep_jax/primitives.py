"""The compiled time loop as JAX primitives: forward, and born and adjoint, each the other's transpose.

forward(coefficients, wavelet, sources in, receivers out, tables) -> record, snapshots, history, checkpoints, flag
born(tangents of `by`, *residuals) -> tangent of the record
adjoint(cotangent of the record, *residuals) -> cotangents of coefficients and wavelet

The residuals are coefficients, wavelet, sources in, receivers in, sources out, receivers out, tables, history,
checkpoints; points are three arrays each. `by` says which of coefficients and wavelet have a tangent; `batches`,
outermost first, which residuals have a leading batch axis. Tangents have all of them.
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
from sweep_core.native import OUTPUTS, CompiledCall, compiled_call, thread_count
from sweep_core.problem import Problem

from . import shim

ONCE = "is not supported by impl='c', which has first derivatives; use impl='eager'"


@attrs.frozen
class Task:
    """What is static about a call; compiled programs are cached by it. `room` is what ``'auto'`` may keep, in bytes."""

    problem: Problem
    shape: CallShape
    kind: str
    isa: int
    room: int = 0

    def call(self, history: bool) -> CompiledCall:
        """Struct and buffers; without `history` nothing is kept for an adjoint."""
        # Under jit XLA hands out fresh memory at every call, which chunks in the cache of a CPU do without.
        return compiled_call(self.kind, self.problem, self.shape, history, self.room, 0 if self.kind == "cpu" else None)

    def results(self, history: bool, names) -> list[jax.ShapeDtypeStruct]:
        """Shapes and dtypes of buffers."""
        call = self.call(history)
        return [jax.ShapeDtypeStruct(call.shapes[name], call.dtype(name)) for name in names]

    def stacked(self, size: int) -> "Task":
        """`size` calls in one, as more shots."""
        return attrs.evolve(self, shape=attrs.evolve(self.shape, shots=size * self.shape.shots))


def _threads(kind, devices):
    """Each device's share of the threads of this host; a GPU uses none."""
    if kind != "cpu":
        return 1
    return max(thread_count() // min(devices, len(jax.local_devices(backend="cpu"))), 1)


def _call(operation, task, history, arguments, devices):
    """A custom call of XLA on the buffers of an operation, in the order of sweep.h."""
    package = task.problem.equation.library
    shim.load(task.kind, package)
    return jax.ffi.ffi_call(shim.target(task.kind), task.results(history, OUTPUTS[operation]))(
        *arguments,
        operation=shim.named(operation, package),
        problem=np.frombuffer(bytes(task.call(history).struct), np.uint8),
        threads=np.int32(_threads(task.kind, devices)),
        isa=np.int32(task.isa),
        together=devices > 1,
    )


def _run_forward(*arguments, task, history, devices=1):
    record, seen, kept, checkpoints, _, flag = _call("forward", task, history, arguments, devices)
    return [record, seen, kept, checkpoints, flag]


def _run_adjoint(cotangent, *residuals, task, devices=1):
    *rest, tables, history, checkpoints = residuals  # of which the receivers out are not needed
    given = *rest[:11], tables, cotangent, history, checkpoints
    return _call("adjoint", task, True, given, devices)[:2]


def _run_born(*arguments, task, by, batches, devices=1):
    count = sum(by)
    if batches:
        looped, *inner = batches
        batch = [*arguments[:count], *(a for a, b in zip(arguments[count:], looped, strict=True) if b)]

        def one(items):
            items = iter(items)
            tangents = [next(items) for _ in range(count)]
            residuals = [next(items) if b else a for a, b in zip(arguments[count:], looped, strict=True)]
            return _run_born(*tangents, *residuals, task=task, by=by, batches=tuple(inner), devices=devices)

        return jax.lax.map(one, batch)
    coefficients, wavelet, *points = arguments[count : count + 14]
    varied = iter(arguments[:count])
    tangents = [
        next(varied) if nonzero else jnp.zeros_like(x) for nonzero, x in zip(by, (coefficients, wavelet), strict=True)
    ]
    given = coefficients, wavelet, *tangents, *points[:3], *points[9:], arguments[count + 14]
    return _call("born", task, True, given, devices)[:1]


def _device_count(context):
    """Devices that run a program together: pmap, shard_map, sharded arrays."""
    axes = context.module_context.axis_context
    return axes.num_devices if isinstance(axes, mlir.ShardingContext) else axes.mesh.size


def _primitive(name, run, buffers):
    """A primitive that is `run`, on the platform of its task; `buffers` are what it gives."""
    primitive = Primitive(name)
    primitive.multiple_results = True
    primitive.def_impl(run)

    @primitive.def_abstract_eval
    def _(*arguments, task, history=True, batches=(), by=()):
        sizes = arguments[0].shape[: len(batches)]
        return [jax.core.ShapedArray((*sizes, *x.shape), x.dtype) for x in task.results(history, buffers)]

    def lower(platform, context, *arguments, task, **parameters):
        if task.kind != platform:
            raise DeviceError(
                f"a solver for {task.kind} was called in a program for {platform}; give PropJax dev='{platform}'"
            )
        rule = mlir.lower_fun(partial(run, devices=_device_count(context)), multiple_results=True)
        return rule(context, *arguments, task=task, **parameters)

    for platform in shim.PLATFORMS:
        mlir.register_lowering(primitive, partial(lower, platform), platform=platform)
    return primitive


forward_p = _primitive("sweep_forward", _run_forward, ("record", "snapshots", "history", "checkpoints", "flag"))
adjoint_p = _primitive("sweep_adjoint", _run_adjoint, ("gradient_coefficients", "gradient_wavelet"))
born_p = _primitive("sweep_born", _run_born, ("record",))


def _refuse_derivative(primals, tangents, **parameters):
    raise UnsupportedError(f"a second derivative {ONCE}")


def _jvp(primitive, count, primals, tangents, **parameters):
    """The derivative of what is linear in its first `count` arguments, where the others do not vary."""
    if any(type(t) is not ad.Zero for t in tangents[count:]):
        _refuse_derivative(primals, tangents)
    varied = [ad.instantiate_zeros(t) for t in tangents[:count]]
    return [primitive.bind(*first, *primals[count:], **parameters) for first in (primals[:count], varied)]


def _jvp_adjoint(primals, tangents, **parameters):
    return _jvp(adjoint_p, 1, primals, tangents, **parameters)


def _jvp_born(primals, tangents, **parameters):
    return _jvp(born_p, sum(parameters["by"]), primals, tangents, **parameters)


def _transpose_born(cotangents, *arguments, task, by, batches):
    residuals = arguments[sum(by) :]
    adjoint = partial(adjoint_p.bind, task=task)
    for batched in reversed(batches):
        adjoint = jax.vmap(adjoint, in_axes=(0, *(0 if b else None for b in batched)))
    gradients = adjoint(ad.instantiate_zeros(*cotangents), *residuals)
    return [g for g, wanted in zip(gradients, by, strict=True) if wanted] + [None] * len(residuals)


def _transpose_adjoint(cotangents, _, *residuals, task):
    by = tuple(type(c) is not ad.Zero for c in cotangents)
    given = [c for c, nonzero in zip(cotangents, by, strict=True) if nonzero]
    return [*born_p.bind(*given, *residuals, task=task, by=by, batches=())] + [None] * len(residuals)


ad.primitive_jvps[forward_p] = _refuse_derivative
ad.primitive_jvps[adjoint_p] = _jvp_adjoint
ad.primitive_jvps[born_p] = _jvp_born
ad.primitive_transposes[born_p] = _transpose_born
ad.primitive_transposes[adjoint_p] = _transpose_adjoint


def _size(arguments, dims):
    return next(a.shape[d] for a, d in zip(arguments, dims, strict=True) if d is not None)


def _batch_first(x, dim, size):
    return jnp.broadcast_to(x, (size, *x.shape)) if dim is None else jnp.moveaxis(x, dim, 0)


def _one_by_one(primitive, arguments, dims, **parameters):
    """A batch as a loop over calls."""
    looped = {i: jnp.moveaxis(a, d, 0) for i, (a, d) in enumerate(zip(arguments, dims, strict=True)) if d is not None}

    def one(items):
        return primitive.bind(*(items.get(i, a) for i, a in enumerate(arguments)), **parameters)

    results = jax.lax.map(one, looped)
    return results, [0] * len(results)


def _as_shots(primitive, shared, arguments, dims, task, **parameters):
    """(results of one call for the batch, its size); all shots see the arguments at `shared`, which are no batch."""
    size = _size(arguments, dims)

    def stacked(x, dim):
        x = _batch_first(x, dim, size)
        return x.reshape(size * x.shape[1], *x.shape[2:])

    pairs = enumerate(zip(arguments, dims, strict=True))
    chosen = [a if i in shared else stacked(a, d) for i, (a, d) in pairs]
    return primitive.bind(*chosen, task=task.stacked(size), **parameters), size


def _batch_forward(arguments, dims, *, task, history):
    shared = {0, len(arguments) - 1}  # coefficients, tables
    if task.shape.earths > 1 or any(dims[i] is not None for i in shared):
        return _one_by_one(forward_p, arguments, dims, task=task, history=history)
    (*kept, flag), size = _as_shots(forward_p, shared, arguments, dims, task, history=history)
    likes = task.results(history, ("record", "snapshots", "history", "checkpoints"))
    # What is kept lies shot after shot, so that each call of the batch finds its own part.
    return [x.reshape(size, *like.shape) for x, like in zip(kept, likes, strict=True)] + [flag], [0, 0, 0, 0, None]


def _batch_born(arguments, dims, *, task, by, batches):
    """More shots where it can be; otherwise the batch is noted, and its transpose is that of adjoint."""
    count = sum(by)
    shared = {count, len(arguments) - 3} | ({0} if by[0] else set())  # coefficients, tables, their tangent
    if batches or task.shape.earths > 1 or any(dims[i] is not None for i in shared):
        size = _size(arguments, dims)
        pairs = enumerate(zip(arguments, dims, strict=True))
        moved = [_batch_first(a, d, size) if i < count or d is not None else a for i, (a, d) in pairs]
        batched = tuple(d is not None for d in dims[count:])
        return born_p.bind(*moved, task=task, by=by, batches=(batched, *batches)), [0]
    (record,), size = _as_shots(born_p, shared, arguments, dims, task, by=by, batches=())
    (like,) = task.results(True, ("record",))
    return [record.reshape(size, *like.shape)], [0]


batching.primitive_batchers[forward_p] = _batch_forward
batching.primitive_batchers[born_p] = _batch_born
batching.primitive_batchers[adjoint_p] = partial(_one_by_one, adjoint_p)  # a gradient each, not their sum
