"""Everything static about one compiled call: the struct, the sizes of its buffers, the lists of points."""

import ctypes as c
from functools import lru_cache
from itertools import chain
from math import prod
from typing import Any

import attrs
import numpy as np

from ..call import CallShape
from ..discretization.operators import along_z, axis_of, closed, heights
from ..errors import UnsupportedError
from ..positions import Points, points_of
from ..problem import Problem
from ..survey import Shots, listening
from . import structs
from .library import Library, interruptible, load

LONG_CALL = 2e9
"""Cell updates (about a second) from which a call runs beside the main thread, which then hears Ctrl-C."""


@attrs.frozen
class Buffer:
    """One array that an operation is handed, whose dtype is a NumPy name.

    `role` is ``"in"`` of what is read, ``"out"`` of what is written, and ``"state"`` or ``"scratch"`` of what need not
    be looked at; of these the layout is the library's own: one axis of ``"uint8"``.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    role: str


@attrs.frozen(eq=False)
class CompiledCall:
    """A call that may be made any number of times, with other values.

    `buffers` are those of each operation, in their order. `work` is the number of cell updates of a forward run,
    `whole` the bytes of a history of all steps, if any is kept.
    """

    library: Library
    problem: Problem
    shape: CallShape
    struct: structs.SweepProblem
    buffers: dict[str, tuple[Buffer, ...]]
    work: int
    whole: int

    def named(self) -> dict[str, Buffer]:
        """The buffers of all operations by name; scratch as large as the largest of them needs."""
        found: dict[str, Buffer] = {}
        for buffer in chain.from_iterable(self.buffers.values()):
            if buffer.name not in found or buffer.shape > found[buffer.name].shape:
                found[buffer.name] = buffer
        return found

    def made(self, operation: str) -> tuple[Buffer, ...]:
        """Those that an operation does not read but write; they come last."""
        return tuple(b for b in self.buffers[operation] if b.role != "in")

    def run(self, operation: str, buffers, threads: int = 1, stream: int = 0, keep: Any = None) -> None:
        """Calls the library on (address, bytes) pairs in the order of `buffers`, which `keep` holds until it returns.

        A long call on a CPU runs beside this thread; one on a GPU queues its work in this thread, whose current device
        is the caller's.
        """
        control = structs.SweepControl()

        def call():
            self.library.call(operation, self.struct, buffers, threads, stream, control)

        if self.library.kind == "cpu" and self.work > LONG_CALL:
            interruptible(call, control, keep)
        else:
            call()


@lru_cache(maxsize=64)
def compiled_call(
    kind: str, problem: Problem, shape: CallShape, gradient: bool, room: int = 0, beside_cache: int | None = None
) -> CompiledCall:
    """The call of `problem` for arrays of `shape`; with `gradient` the forward run leaves a history.

    `room` and `beside_cache` are what may be kept of it, in bytes; see :meth:`Problem.chunk`.

    Raises
    ------
    UnsupportedError
        Where there are no shots, which the library does not run; see :func:`sweep_core.call.without_shots`.
    """
    if not shape.shots:
        raise UnsupportedError(
            "there are no shots for compiled code to run; the answer is sweep_core.call.without_shots"
        )
    library = load(kind, problem.equation.library)
    ndim = problem.grid.ndim
    cells = prod(problem.padded_shape)
    sources, receivers = len(problem.source_type), len(problem.recorded)
    # Where sources increment the field, each of their cells has a signal of its own: see `signals`.
    columns = shape.sources * sources * (shape.source_taps if problem.source_scaling == "increment" else 1)
    asked = shape.snapshots
    low, high = zip(*problem.pml, strict=True)
    region = (asked and asked.region) or ((0, 0),) * ndim
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
        last=shape.steps,
        chunk=shape.steps if gradient else 0,
        source_columns=columns,
        receiver_columns=shape.receivers * receivers,
        source_points=_points(problem, problem.source_type, shape.sources * shape.source_taps),
        receiver_points=_points(problem, problem.recorded, shape.receivers * shape.receiver_taps),
        free_surface=problem.free_surface,
        snapshot_every=asked.every if asked else 0,
        snapshot_fields=sum(1 << problem.field_index(f) for f in asked.fields) if asked else 0,
        snapshot_low=tuple(width + first for width, (first, _) in zip(low, region, strict=True)),
        snapshot_high=tuple(width + end for width, (_, end) in zip(low, region, strict=True)),
        coefficient_limit=problem.equation.coefficient_limit(problem.largest_speed) * (1 + 1e-6),
        weights=tuple(_weights(problem, axis) for axis in range(ndim)),
        equation=problem.equation.name.encode(),
    )
    whole = 0
    if gradient:
        whole = next(need.bytes for need in library.buffers("forward", struct) if need.name == b"history")
        beside_cache = None if beside_cache is None else beside_cache // shape.shots
        struct.chunk = problem.chunk(shape.steps, whole // shape.shots, room // shape.shots, beside_cache)
    shapes = _shapes(problem, shape, struct)
    buffers = {
        operation: tuple(_buffer(need, shapes, shape.dtype) for need in library.buffers(operation, struct))
        for operation in structs.OPERATIONS
    }
    return CompiledCall(library, problem, shape, struct, buffers, cells * shape.steps * shape.shots, whole)


def _shapes(problem, shape, struct):
    """Shapes of the arrays that frameworks fill and read, by the last word of their names."""
    asked = shape.snapshots
    return {
        "coefficients": (shape.earths, len(problem.coefficient_names), *problem.padded_shape),
        "wavelet": (shape.shots, shape.steps, struct.source_columns),
        "record": shape.seen(problem),
        "cotangent": shape.seen(problem),
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
    """Weights along one axis, as the struct has them."""
    numbers = axis_of(problem, axis)
    return tuple(np.concatenate([numbers.d, numbers.d1, numbers.d2, numbers.mean]))


@lru_cache(maxsize=64)
def tables(problem: Problem) -> np.ndarray:
    """What the library is handed as ``"tables"``, float64: PML profiles of all axes, rows next to a free surface."""
    parts = []
    for axis in range(problem.grid.ndim):
        numbers = axis_of(problem, axis)
        parts += [numbers.decay, numbers.gain, numbers.half_decay, numbers.half_gain]
    if problem.free_surface:
        parts += [rows.ravel() for of, field in along_z(problem) for rows in closed(problem, of, field)]
    table = np.concatenate(parts)
    table.setflags(write=False)
    return table


def _points(problem: Problem, names, count: int) -> tuple[int, ...]:
    """Points of one shot in each field of the equation: `count` where its name is among `names`."""
    named = [problem.field_index(name) for name in names]
    return tuple(count * (field in named) for field in range(structs.MAX_FIELDS))


def signals(problem: Problem, shape: CallShape, xp, samples, cells, coefficients):
    """What the compiled code injects, (nshots, nt, columns), from samples (nshots or 1, nsrc or 1, nfield or 1, nt).

    It multiplies by :meth:`Equation.source_coefficient`. Where sources increment the field by the wavelet as it
    is, that is divided out in each of the `cells`, (nshots, nsrc, taps) for each source field; `coefficients` are
    (earths, coefficients, *padded grid) and the framework's own.
    """
    samples = xp.broadcast_to(samples, (shape.shots, shape.sources, len(problem.source_type), shape.steps))
    if problem.source_scaling == "physical":
        return samples.reshape(shape.shots, -1, shape.steps).swapaxes(1, 2)
    flat = coefficients.reshape(shape.earths, coefficients.shape[1], -1)
    shots = np.arange(shape.shots)[:, None, None] if shape.earths > 1 else 0
    columns = []
    for i, (field, at) in enumerate(zip(problem.source_type, cells, strict=True)):
        name, each = problem.equation.source_coefficient(field), samples[:, :, None, i]
        if name is None:
            columns.append(xp.broadcast_to(each, (*at.shape, shape.steps)))
        else:
            columns.append(each / flat[:, problem.coefficient_names.index(name)][shots, at][..., None])
    return xp.stack(columns, 3).reshape(shape.shots, -1, shape.steps).swapaxes(1, 2)


def seen_fields(problem: Problem, shape: CallShape, seen) -> dict:
    """Snapshots by the name of the field, (nshots, nsnap, *region) each, from the buffer of that name."""
    if shape.snapshots is None:
        return {}
    order = sorted(shape.snapshots.fields, key=problem.field_index)
    return {field: seen[:, :, order.index(field)] for field in shape.snapshots.fields}


def gather_list(problem: Problem, kind: str, points: list[Points], xp, dtype):
    """(cell, column, weight) of the ``'sources'`` or ``'receivers'``, trace by trace; xp is numpy or jax.numpy.

    `points` are those of each field of source_type or receiver_type. The result is (nshots, points), field after field
    in the order of the equation.
    """
    fields = list(problem.source_type if kind == "sources" else problem.recorded)
    volume = problem.grid.cell_volume
    lists = []
    for field in sorted(fields, key=problem.field_index):
        at = points[fields.index(field)]
        nshots, n, taps = at.cells.shape
        scale, each = 1.0, 1
        if kind == "sources" and problem.source_scaling == "physical":
            scale = problem.equation.source_weight(field, problem.dt, volume)
            high = heights(problem, problem.field(field))
            if high is not None:
                scale = scale / xp.asarray(high)[at.cells // prod(problem.padded_shape[1:])]
        elif kind == "sources":
            each = taps
        column = np.arange(n * taps, dtype="int32") // (taps // each) * len(fields) + fields.index(field)
        lists.append((at.cells.astype("int32"), np.broadcast_to(column, (nshots, n * taps)), at.weights * scale))
    joined = [xp.concatenate([x.reshape(x.shape[0], -1) for x in parts], axis=1) for parts in zip(*lists, strict=True)]
    return joined[0], xp.asarray(joined[1]), joined[2].astype(dtype)


def _by_cell(listed, fields: int, xp):
    """A gather_list of so many fields, sorted by cell within each shot and field, as injection needs it."""
    nshots, total = listed[0].shape
    within = listed[0].reshape(nshots, fields, -1)
    start = np.arange(fields, dtype="int32")[:, None] * within.shape[2]
    order = (xp.argsort(within, axis=2, stable=True) + start).reshape(nshots, total)
    return tuple(xp.take_along_axis(x, order, axis=1) for x in listed)


def point_lists(problem: Problem, shape: CallShape, shots: Shots, xp, dtype):
    """(cells of each source field, what the library takes of points by the names of its buffers).

    Sources and receivers are arrays of xp, numpy or jax.numpy.
    """
    named: dict[str, Any] = {}
    for kind, fields, positions in (
        ("sources", problem.source_type, shots.sources),
        ("receivers", problem.recorded, listening(xp, problem, shots)),
    ):
        points = points_of(xp, problem, fields, positions, shape.shots)
        if kind == "sources":
            cells = [p.cells for p in points]
        listed = gather_list(problem, kind, points, xp, dtype)
        for what, parts in (("inject", _by_cell(listed, len(fields), xp)), ("gather", listed)):
            parts = zip(("cell", "column", "weight"), parts, strict=True)
            named |= {f"{kind[:-1]}_{what}_{part}": x for part, x in parts}
    return cells, named
