"""The compiled time loop as JAX primitives: forward, and born and adjoint, each the other's transpose.

forward(inputs) -> record, snapshots, history, checkpoints or states, flag
born(tangents of `by`, *residuals) -> tangent of the record
adjoint(cotangent of the record, *residuals) -> cotangents of coefficients and wavelet

The library names the inputs of an operation (`Task.read`). Residuals are all inputs of the three operations except
those that are named here. `by` says which of coefficients and wavelet have a tangent; `batches`, outermost first, says
which residuals have a leading batch axis. Tangents have all of these axes.
"""

from functools import partial

import attrs
import jax
import jax.numpy as jnp
import numpy as np

from sweep_core.acquisition.snapshots import UNDERIVABLE
from sweep_core.errors import DeviceError, UnsupportedError
from sweep_core.memory import NONE
from sweep_core.native import CompiledCall, thread_count
from sweep_core.native.prepare import CallPlan
from sweep_core.native.structs import OPERATIONS

from . import shim, slices
from .private import Primitive, ShapedArray, ad, batching, device_count, mlir

GRADIENTS = ("gradient_coefficients", "gradient_wavelet")
TANGENTS = ("tangent_coefficients", "tangent_wavelet")
SHARED = ("coefficients", "tangent_coefficients", "tables")
"""Arrays without an axis of shots, where all shots see one earth."""
ONCE = "is not supported by impl='c', which has only first derivatives; use impl='eager'"


@attrs.frozen
class Task(CallPlan):
    """The static part of a call; compiled programs are cached by it."""

    isa: int

    def slice(self, first: int, last: int, history: bool, snapshots: bool = False) -> CompiledCall:
        """Return the call of steps [first, last) of the run, with buffers for these steps only."""
        return self.segment(snapshots).steps(first, last, history).sized()

    def kept_names(self, history: bool) -> list[str]:
        """Return the names of the arrays that a forward run keeps."""
        if not (history and self.history.sliced):
            return ["history", "checkpoints"]
        starts = self.history.schedule(self.shape.steps).forward_slots
        return ["history", *(f"state {slot}" for slot, start in enumerate(starts) if start != NONE)]

    def results(self, history: bool, names) -> list[jax.ShapeDtypeStruct]:
        """Return the shapes and dtypes of buffers."""
        named = self.whole(history).named()
        if history and self.history.sliced:
            steps, segments = self.shape.steps, self.history.schedule(self.shape.steps).segments
            last = self.slice((segments - 1) * self.history.chunk, steps, history)
            part = {b.name: b for b in last.buffers["forward"]}
            named |= {name: part[name.split()[0]] for name in self.kept_names(True)}
        return [_like(named[name]) for name in names]

    def forward_names(self, history: bool) -> list[str]:
        """Return the names of the results of the forward primitive, in their order."""
        return ["record", "snapshots", *self.kept_names(history), "flag"]

    def read(self, operation: str) -> list[str]:
        """Return the names of the arrays that an operation reads, in their order."""
        return [b.name for b in self.whole(False).buffers[operation] if b.role == "in"]

    def residuals(self) -> list[str]:
        """Return the names of the residuals, in their order."""
        read = dict.fromkeys(name for operation in OPERATIONS for name in self.read(operation))
        but = *TANGENTS, "cotangent", "history", "checkpoints"
        return [name for name in read if name not in but] + self.kept_names(True)

    def stacked(self, size: int) -> "Task":
        """Return `size` calls in one, as more shots."""
        return attrs.evolve(self, shape=attrs.evolve(self.shape, shots=size * self.shape.shots))


def _like(buffer):
    return jax.ShapeDtypeStruct(buffer.shape, buffer.dtype)


def _threads(kind, devices):
    """Return each device's share of the threads of this host; 1 for a GPU, which uses none."""
    if kind != "cpu":
        return 1
    return max(thread_count() // min(devices, len(jax.local_devices(backend="cpu"))), 1)


def _call(operation, task, call, arrays, devices, in_place=None):
    """Return the outputs of an operation on arrays by name, as a custom call of XLA.

    An output whose name is in `in_place` overwrites that array; XLA copies the array first where it is still needed.
    """
    in_place = in_place or {}
    library = call.library_of(operation)
    shim.bind(library)
    outputs, read = call.outputs(operation), task.read(operation)
    aliased = [i for i, b in enumerate(outputs) if b.name in in_place]
    inputs = [arrays[name] for name in read] + [in_place[outputs[i].name] for i in aliased]
    aliases = {len(read) + n: i for n, i in enumerate(aliased)}
    foreign = jax.ffi.ffi_call(shim.target(task.kind), [_like(b) for b in outputs], input_output_aliases=aliases)
    with jax.named_scope(f"sweep::{operation}"):  # the name that profilers show
        results = foreign(
            *inputs,
            library=library.name,
            operation=np.int32(OPERATIONS.index(operation)),
            problem=np.frombuffer(bytes(call.struct), np.uint8),
            threads=np.int32(_threads(task.kind, devices)),
            isa=np.int32(task.isa),
            together=devices > 1,
            aliased=np.array(aliased, np.int32),
        )
    return {b.name: x for b, x in zip(outputs, results, strict=True)}


def _run_forward(*arguments, task, history, devices=1):
    arrays = dict(zip(task.read("forward"), arguments, strict=True))
    if history and task.history.sliced:
        outputs = slices.forward(task, partial(_call, task=task, devices=devices), arrays)
    else:
        outputs = _call("forward", task, task.whole(history), arrays, devices)
    return [outputs[name] for name in task.forward_names(history)]


def _run_adjoint(cotangent, *residuals, task, devices=1):
    arrays = dict(zip(task.residuals(), residuals, strict=True)) | {"cotangent": cotangent}
    if task.history.sliced:
        outputs = slices.adjoint(task, partial(_call, task=task, devices=devices), arrays)
    else:
        outputs = _call("adjoint", task, task.whole(True), arrays, devices)
    return [outputs[name] for name in GRADIENTS]


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
    arrays = dict(zip(task.residuals(), arguments[count:], strict=True))
    varied = iter(arguments[:count])
    for nonzero, name in zip(by, ("coefficients", "wavelet"), strict=True):
        arrays[f"tangent_{name}"] = next(varied) if nonzero else jnp.zeros_like(arrays[name])
    return [_call("born", task, task.whole(True), arrays, devices)["record"]]


def _primitive(name, run, buffers):
    """Return a primitive that calls `run` on the platform of its task; `buffers` names its results."""
    primitive = Primitive(name)
    primitive.multiple_results = True
    primitive.def_impl(run)

    @primitive.def_abstract_eval
    def _(*arguments, task, history=True, batches=(), by=()):
        sizes = arguments[0].shape[: len(batches)]
        return [ShapedArray((*sizes, *x.shape), x.dtype) for x in task.results(history, buffers(task, history))]

    def lower(platform, context, *arguments, task, **parameters):
        if task.kind != platform:
            raise DeviceError(
                f"a solver for {task.kind} was called in a program for {platform}; give PropJax dev='{platform}'"
            )
        rule = mlir.lower_fun(partial(run, devices=device_count(context)), multiple_results=True)
        return rule(context, *arguments, task=task, **parameters)

    for platform in shim.PLATFORMS:
        mlir.register_lowering(primitive, partial(lower, platform), platform=platform)
    return primitive


forward_p = _primitive("sweep_forward", _run_forward, Task.forward_names)
adjoint_p = _primitive("sweep_adjoint", _run_adjoint, lambda *_: GRADIENTS)
born_p = _primitive("sweep_born", _run_born, lambda *_: ("record",))


# The tangent of snapshots has a shape; computing or transposing it raises an error.
snapshots_p = Primitive("sweep_snapshots")


def _refuse_snapshots(*arguments, **parameters):
    raise UnsupportedError(UNDERIVABLE)


def _transpose_snapshots(cotangent, *tangents, **parameters):
    if type(cotangent) is not ad.Zero:
        _refuse_snapshots()
    return [None] * len(tangents)


def _batch_snapshots(tangents, dims, *, shape, dtype):
    return snapshots_p.bind(*tangents, shape=(_size(tangents, dims), *shape), dtype=dtype), 0


snapshots_p.def_impl(_refuse_snapshots)
snapshots_p.def_abstract_eval(lambda *_, shape, dtype: ShapedArray(shape, dtype))
mlir.register_lowering(snapshots_p, _refuse_snapshots)
batching.primitive_batchers[snapshots_p] = _batch_snapshots
ad.primitive_jvps[snapshots_p] = _refuse_snapshots
ad.primitive_transposes[snapshots_p] = _transpose_snapshots


def _refuse_derivative(primals, tangents, **parameters):
    raise UnsupportedError(f"a second derivative {ONCE}")


def _jvp(primitive, count, primals, tangents, **parameters):
    """Return the derivative of a primitive that is linear in its first `count` arguments; the others are constant."""
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
    tangents = [c for c, nonzero in zip(cotangents, by, strict=True) if nonzero]
    return [*born_p.bind(*tangents, *residuals, task=task, by=by, batches=())] + [None] * len(residuals)


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
    """Run a batch as a loop over calls."""
    looped = {i: jnp.moveaxis(a, d, 0) for i, (a, d) in enumerate(zip(arguments, dims, strict=True)) if d is not None}

    def one(items):
        return primitive.bind(*(items.get(i, a) for i, a in enumerate(arguments)), **parameters)

    results = jax.lax.map(one, looped)
    return results, [0] * len(results)


def _has_earths(task, names, dims):
    """Return whether the calls of a batch have several earths, so that shots cannot share one."""
    return task.shape.earths > 1 or any(d is not None for n, d in zip(names, dims, strict=True) if n in SHARED)


def _as_shots(primitive, names, arguments, dims, task, **parameters):
    """Run a batch as one call with more shots; return (results, size of the batch)."""
    size = _size(arguments, dims)

    def stacked(x, dim):
        x = _batch_first(x, dim, size)
        return x.reshape(size * x.shape[1], *x.shape[2:])

    stacked_arguments = [a if n in SHARED else stacked(a, d) for n, a, d in zip(names, arguments, dims, strict=True)]
    return primitive.bind(*stacked_arguments, task=task.stacked(size), **parameters), size


def _batch_forward(arguments, dims, *, task, history):
    names = task.read("forward")
    if _has_earths(task, names, dims):
        return _one_by_one(forward_p, arguments, dims, task=task, history=history)
    (*outputs, flag), size = _as_shots(forward_p, names, arguments, dims, task, history=history)
    likes = task.results(history, task.forward_names(history)[:-1])
    # Histories lie shot after shot, so each call of the batch finds its own part.
    outputs = [x.reshape(size, *like.shape) for x, like in zip(outputs, likes, strict=True)]
    return [*outputs, flag], [*[0] * len(outputs), None]


def _batch_born(arguments, dims, *, task, by, batches):
    """Run a batch as more shots if possible; otherwise note it in `batches`, which the transpose maps over."""
    count = sum(by)
    names = [name for name, nonzero in zip(TANGENTS, by, strict=True) if nonzero] + task.residuals()
    if batches or _has_earths(task, names, dims):
        size = _size(arguments, dims)
        pairs = enumerate(zip(arguments, dims, strict=True))
        moved = [_batch_first(a, d, size) if i < count or d is not None else a for i, (a, d) in pairs]
        batched = tuple(d is not None for d in dims[count:])
        return born_p.bind(*moved, task=task, by=by, batches=(batched, *batches)), [0]
    (record,), size = _as_shots(born_p, names, arguments, dims, task, by=by, batches=())
    (like,) = task.results(True, ("record",))
    return [record.reshape(size, *like.shape)], [0]


batching.primitive_batchers[forward_p] = _batch_forward
batching.primitive_batchers[born_p] = _batch_born
batching.primitive_batchers[adjoint_p] = partial(_one_by_one, adjoint_p)  # a gradient each, not their sum
