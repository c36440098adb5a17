"""Everything static about one compiled call: the struct, the sizes of its buffers, the lists of points."""

import ctypes as c
from functools import lru_cache
from math import prod

import attrs
import numpy as np

from ..call import CallShape
from ..problem import Problem
from . import structs
from .library import Library, interruptible, load

FORWARD_BUFFERS = (
    *("coefficients", "wavelet", "inject_cell", "inject_column", "inject_weight"),
    *("gather_cell", "gather_column", "gather_weight", "tables"),
    *("record", "history", "checkpoints", "state", "flag"),
)
ADJOINT_BUFFERS = (
    *("coefficients", "wavelet", "source_cell", "source_column", "source_weight"),
    *(
        "inject_cell",
        "inject_column",
        "inject_weight",
        "gather_cell",
        "gather_column",
        "gather_weight",
        "tables",
    ),
    *("cotangent", "history", "checkpoints"),
    *("gradient_coefficients", "gradient_wavelet", "workspace", "flag"),
)
FORWARD_OUTPUTS, ADJOINT_OUTPUTS = FORWARD_BUFFERS[9:], ADJOINT_BUFFERS[15:]

LONG_CALL = 2e9
"""Cell updates (about a second) from which a call runs beside the main thread, which then hears Ctrl-C."""


@attrs.frozen(eq=False)
class CompiledCall:
    """A call that may be made any number of times, with other values.

    `shapes` gives the shape of each buffer by name; those counted in bytes (history, checkpoints, state, workspace)
    have one axis and dtype uint8.
    """

    library: Library
    problem: Problem
    shape: CallShape
    struct: structs.SweepProblem
    shapes: dict[str, tuple[int, ...]]

    def dtype(self, buffer: str) -> str:
        """NumPy name of the dtype of a buffer."""
        if buffer in ("history", "checkpoints", "state", "workspace"):
            return "uint8"
        return "int32" if buffer == "flag" or buffer.endswith(("_cell", "_column")) else self.shape.dtype

    def run(self, operation: str, buffers, threads: int = 1, stream: int = 0) -> None:
        """Calls the library on (address, bytes) pairs in the order of FORWARD_BUFFERS or ADJOINT_BUFFERS."""
        control = structs.SweepControl()

        def call():
            self.library.call(operation, self.struct, buffers, threads, stream, control)

        work = prod(self.problem.padded_shape) * self.shape.steps * self.shape.shots
        if work > LONG_CALL and not stream:
            interruptible(call, control)
        else:
            call()


@lru_cache(maxsize=64)
def compiled_call(kind: str, problem: Problem, shape: CallShape, gradient: bool) -> CompiledCall:
    """The call of `problem` for arrays of `shape`; with `gradient` the forward run leaves a history."""
    library = load(kind)
    ndim, itemsize = problem.grid.ndim, np.dtype(shape.dtype).itemsize
    cells = prod(problem.padded_shape)
    sources, receivers = len(problem.source_type), len(problem.receiver_type)
    struct = structs.SweepProblem(
        bytes=c.sizeof(structs.SweepProblem),
        dtype=structs.DTYPES[shape.dtype],
        ndim=ndim,
        order=problem.equation.spatial_order,
        shots=shape.shots,
        earths=1,
        steps=shape.steps,
        first=0,
        last=shape.steps,
        chunk=problem.chunk(shape.steps, cells * itemsize * len(problem.equation.fields)) if gradient else 0,
        source_columns=shape.sources * sources,
        receiver_columns=shape.receivers * receivers,
        coefficient_limit=problem.equation.coefficient_limit(problem.largest_speed) * (1 + 1e-6),
        equation=problem.equation.name.encode(),
    )
    for axis, (low, high) in enumerate(problem.pml):
        struct.shape[axis] = problem.padded_shape[axis]
        struct.pml_low[axis], struct.pml_high[axis] = low, high
    for names, points, count in (
        (problem.source_type, struct.source_points, shape.sources),
        (problem.receiver_type, struct.receiver_points, shape.receivers),
    ):
        for name in names:
            points[problem.equation.field_index(name)] = count
    sizes = library.query(struct)
    coefficients = (1, len(problem.equation.coefficient_names), *problem.padded_shape)
    wavelet = (shape.shots, shape.steps, shape.sources * sources)
    record = (shape.shots, shape.steps, shape.receivers * receivers)
    shapes = {"coefficients": coefficients, "gradient_coefficients": coefficients}
    shapes |= {"wavelet": wavelet, "gradient_wavelet": wavelet, "record": record, "cotangent": record}
    shapes |= {name: (getattr(sizes, name),) for name in ("history", "checkpoints", "state", "workspace")}
    shapes |= {"tables": (sizes.tables // itemsize,), "flag": (1,)}
    return CompiledCall(library, problem, shape, struct, shapes)


def _list(problem, fields, cells, weight, xp, dtype):
    """Cells, columns and weights (nshots, points), field after field in the order of the equation."""
    order = sorted(fields, key=problem.equation.field_index)
    n = cells.shape[1]
    columns = xp.concatenate([xp.arange(n, dtype="int32") * len(fields) + fields.index(f) for f in order])
    weights = xp.concatenate([xp.full(n, weight(f), dtype=dtype) for f in order])
    return xp.concatenate([cells.astype("int32")] * len(order), axis=1), columns, weights


def gather_list(problem: Problem, kind: str, cells, xp, dtype):
    """(cell, column, weight) of the ``'sources'`` or ``'receivers'``, trace by trace; xp is numpy or jax.numpy."""
    fields = list(problem.source_type if kind == "sources" else problem.receiver_type)
    volume = problem.grid.cell_volume

    def weight(field):
        return problem.equation.source_weight(field, problem.dt, volume) if kind == "sources" else 1.0

    cell, column, value = _list(problem, fields, cells, weight, xp, dtype)
    return cell, xp.broadcast_to(column, cell.shape), xp.broadcast_to(value, cell.shape)


def inject_list(problem: Problem, kind: str, cells, xp, dtype):
    """The same, sorted by cell within each shot and field, as injection needs it."""
    fields = problem.source_type if kind == "sources" else problem.receiver_type
    cell, column, value = gather_list(problem, kind, cells, xp, dtype)
    n = cells.shape[1]
    parts = [slice(i * n, (i + 1) * n) for i in range(len(fields))]
    order = xp.concatenate([xp.argsort(cell[:, p], axis=1, stable=True) + p.start for p in parts], axis=1)
    return tuple(xp.take_along_axis(x, order, axis=1) for x in (cell, column, value))
