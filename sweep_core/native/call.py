"""Everything static about one compiled call: the struct, the sizes of its buffers, the tables."""

import ctypes as c
from functools import lru_cache, partial
from itertools import chain
from math import prod
from typing import Any

import attrs
import numpy as np

from ..acquisition.call_shape import CallShape
from ..acquisition.sources import signals_of_each
from ..discretization.node_averages import rows_before
from ..discretization.operators import along_z, axis_of, closed
from ..discretization.stability import coefficient_limit
from ..errors import UnsupportedError
from ..memory import make_strategy
from ..problem import Problem
from . import structs
from .library import Library, interruptible
from .selection import library_of

LONG_CALL = 2e9
"""Cell updates (about a second) from which a call runs beside the main thread, which then hears Ctrl-C."""


@attrs.frozen
class Buffer:
    """One array argument of an operation; its dtype is a NumPy name.

    `role` is ``"in"`` for an array that is read, ``"out"`` for one that is written, and ``"state"`` or ``"scratch"``
    for one that callers need not read. The library alone knows the layout of the last two: one axis of ``"uint8"``.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    role: str

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


@attrs.frozen(eq=False)
class CompiledCall:
    """A call that can run any number of times, with other values.

    `library` states the `buffers` of each operation, in their order, and runs forward and adjoint. `work` is the number
    of cell updates of a forward run.
    """

    library: Library
    problem: Problem
    shape: CallShape
    struct: structs.SweepProblem
    buffers: dict[str, tuple[Buffer, ...]]
    work: int

    @property
    def history(self) -> int:
        """The bytes of the history of a forward run."""
        return self.bytes_of("forward", "history")

    def library_of(self, operation: str) -> Library:
        """Return the library that runs an operation. The first Born run of an equation may compile it."""
        if operation != "born":
            return self.library
        return library_of(self.problem.equation, self.problem.grid.ndim, self.shape.dtype, self.library.kind, operation)

    def bytes_of(self, operation: str, name: str) -> int:
        """Return the bytes of a buffer of an operation."""
        return next(b.nbytes for b in self.buffers[operation] if b.name == name)

    def steps(self, first: int, last: int, history: bool) -> "CompiledCall":
        """Return the call of steps [first, last), with or without the history for an adjoint.

        The buffers keep the size of this call, which was sized for at least as many steps.
        """
        struct = structs.SweepProblem.from_buffer_copy(self.struct)
        struct.first, struct.last = first, last
        if not history:
            struct.chunk = 0
        return attrs.evolve(self, struct=struct, work=self.work * (last - first) // self.shape.steps)

    def sized(self) -> "CompiledCall":
        """Return the call with buffers for its own steps alone, in which the data of a shot are contiguous."""
        return attrs.evolve(self, buffers=_buffers(self.library, self.problem, self.shape, self.struct))

    def named(self) -> dict[str, Buffer]:
        """Return the buffers of all operations by name; scratch has the largest size of any operation."""
        largest: dict[str, Buffer] = {}
        for buffer in chain.from_iterable(self.buffers.values()):
            if buffer.name not in largest or buffer.shape > largest[buffer.name].shape:
                largest[buffer.name] = buffer
        return largest

    def outputs(self, operation: str) -> tuple[Buffer, ...]:
        """Return the buffers that an operation writes and does not read; they come last."""
        return tuple(b for b in self.buffers[operation] if b.role != "in")

    def run(self, operation: str, buffers, threads: int = 1, stream: int = 0, keep: Any = None) -> None:
        """Call the library on (address, bytes) pairs in the order of `buffers`; `keep` keeps their memory alive.

        A long call on a CPU runs beside this thread. A call on a GPU queues its work from this thread, on its current
        device.
        """
        control = structs.SweepControl()
        call = partial(self.library_of(operation).call, operation, self.struct, buffers, threads, stream, control)
        if self.library.kind == "cpu" and self.work > LONG_CALL:
            interruptible(call, control, keep)
        else:
            call()


@lru_cache(maxsize=64)
def compiled_call(
    kind: str, problem: Problem, shape: CallShape, chunk: int = 0, length: int | None = None
) -> CompiledCall:
    """Return the call of `problem` for arrays of `shape`.

    With a `chunk` of steps, that of :func:`plan_history`, the forward run leaves a history. For a run in slices
    (:meth:`CompiledCall.steps`) the buffers have the size of `length` steps.

    Raises
    ------
    UnsupportedError
        If there are no shots; :func:`sweep_core.acquisition.receivers.empty_record` answers such a call.
    """
    if not shape.shots:
        raise UnsupportedError(
            "there are no shots for compiled code to run; use sweep_core.acquisition.receivers.empty_record instead"
        )
    ndim = problem.grid.ndim
    library = library_of(problem.equation, ndim, shape.dtype, kind)
    cells = prod(problem.padded_shape)
    asked = shape.snapshots
    low, high = zip(*problem.pml, strict=True)
    region = (asked and asked.region) or ((0, 0),) * ndim
    traces = shape.sources * signals_of_each(problem, shape.source_taps)
    struct = structs.SweepProblem(
        bytes=c.sizeof(structs.SweepProblem),
        dtype=structs.DTYPES[shape.dtype],
        ndim=ndim,
        order=problem.equation.spatial_order,
        shape=problem.padded_shape,
        pml_low=low,
        pml_high=high,
        shots=shape.shots,
        earths=shape.earths,
        steps=shape.steps,
        first=0,
        last=min(length or shape.steps, shape.steps),
        chunk=chunk,
        source_traces=traces,
        receiver_traces=shape.receivers,
        source_columns=traces * len(problem.source_type),
        receiver_columns=shape.receivers * len(problem.receiver_type),
        source_points=_points(problem, problem.source_type, shape.sources * shape.source_taps),
        receiver_points=_points(problem, problem.receiver_type, shape.receivers * shape.receiver_taps),
        face_low=(structs.SURFACE if problem.free_surface else structs.ZERO, *(structs.ZERO,) * (ndim - 1)),
        face_high=(structs.ZERO,) * ndim,
        snapshot_every=asked.every if asked else 0,
        snapshot_fields=sum(1 << problem.field_index(f) for f in asked.fields) if asked else 0,
        snapshot_low=tuple(width + first for width, (first, _) in zip(low, region, strict=True)),
        snapshot_high=tuple(width + end for width, (_, end) in zip(low, region, strict=True)),
        boundary=boundary_of(problem, bool(chunk) and make_strategy(problem.memory).strips),
        stored=structs.DTYPES[make_strategy(problem.memory).dtype or shape.dtype],
        interval=make_strategy(problem.memory).interval,
        imaged_from=imaged_from(problem),
        coefficient_limit=coefficient_limit(problem),
        dt=problem.dt,
        spacing=problem.grid.spacing,
        weights=tuple(_weights(problem, axis) for axis in range(ndim)),
        equation=problem.equation.name.encode(),
    )
    buffers = _buffers(library, problem, shape, struct)
    return CompiledCall(library, problem, shape, struct, buffers, cells * shape.steps * shape.shots)


def boundary_of(problem: Problem, strips: bool) -> int:
    """Return the sweep_boundary of a run with or without strips."""
    if not strips:
        return structs.NO_STRIPS
    return structs.EXACT if answers_for_pml(problem) else structs.INTERIOR


def answers_for_pml(problem: Problem) -> bool:
    """Return True if a gradient needs the waves in the PML."""
    # Between nodes a coefficient of the outermost PML cells depends on the model's edge, too.
    return problem.edge_gradient == "exact" or any(field.stagger for field in problem.fields)


def imaged_from(problem: Problem) -> int:
    """Return the first row of the padded grid whose coefficients depend on unknown models."""
    before = rows_before(problem) if problem.memory.known_above else None
    return 0 if before is None else max(problem.pml[0][0] + problem.memory.known_above - before, 0)


def _buffers(library, problem, shape, struct):
    """Return the buffers of each operation, as the library asks for them."""
    shapes = _shapes(problem, shape, struct)
    return {
        operation: tuple(_buffer(need, shapes, shape.dtype) for need in library.buffers(operation, struct))
        for operation in structs.OPERATIONS
    }


def _shapes(problem, shape, struct):
    """Return the shapes of the arrays that frameworks fill and read, by the last word of their names."""
    asked = shape.snapshots
    return {
        "coefficients": (shape.earths, len(problem.coefficient_names), *problem.padded_shape),
        "wavelet": (shape.shots, shape.steps, struct.source_columns),
        "record": shape.record_shape(problem),
        "cotangent": shape.record_shape(problem),
        "snapshots": (shape.shots, asked.count(shape.steps), len(asked.fields), *asked.shape) if asked else (0,),
        **dict.fromkeys(("cell", "column", "weight"), (shape.shots, -1)),
    }


def _buffer(need, shapes, dtype):
    name = need.name.decode()
    dtype = {structs.VALUES: dtype, structs.INDICES: "int32", structs.BYTES: "uint8"}[need.type]
    count = need.bytes // np.dtype(dtype).itemsize
    shape = shapes.get(name.rsplit("_", 1)[-1], (count,))
    if shape[-1] == -1:
        shape = (*shape[:-1], count // prod(shape[:-1]))
    return Buffer(name, shape, dtype, structs.ROLES[need.role])


def _weights(problem, axis):
    """Return the weights along one axis, in the layout of the struct."""
    numbers = axis_of(problem, axis)
    return tuple(np.concatenate([numbers.d, numbers.d1, numbers.d2, numbers.mean, numbers.root]))


@lru_cache(maxsize=64)
def tables(problem: Problem) -> np.ndarray:
    """Return the buffer ``"tables"``, float64: PML profiles of all axes, rows next to a free surface, constants."""
    parts = []
    for axis in range(problem.grid.ndim):
        numbers = axis_of(problem, axis)
        parts += [profile for at in (numbers.whole, numbers.half) for profile in at]
    if problem.free_surface:
        parts += [rows.ravel() for of, field in along_z(problem) for rows in closed(problem, of, field)]
    parts.append(np.array([*problem.constants.values()], np.float64))
    table = np.concatenate(parts)
    table.setflags(write=False)
    return table


def _points(problem: Problem, names, count: int) -> tuple[int, ...]:
    """Return the points of one shot in each field of the equation: `count` for each of the `names` with that field."""
    parts = [problem.field_index(field) for name in names for field in problem.parts(name)]
    return tuple(count * parts.count(field) for field in range(structs.MAX_FIELDS))


def snapshots_of(problem: Problem, shape: CallShape, buffer: Any) -> dict:
    """Return snapshots by the name of the field, ``(nshots, nsnap, *region)`` each, from their buffer.

    Parameters
    ----------
    problem : Problem
        The problem.
    shape : CallShape
        Shapes of the call.
    buffer : (nshots, nsnap, nfield, *region) array
        Snapshots of all fields, in the order of the equation.

    Returns
    -------
    dict of str to array
        Empty if the call takes no snapshots.
    """
    if shape.snapshots is None:
        return {}
    order = sorted(shape.snapshots.fields, key=problem.field_index)
    return {field: buffer[:, :, order.index(field)] for field in shape.snapshots.fields}
