"""Rows (trace; field, cell, weight) of sources and receivers, as lists that the compiled code reads."""

from typing import Any

import attrs
import numpy as np

from ..problem import Problem
from .call_shape import CallShape
from .contacts import points_beside
from .positions import Points, widen
from .receivers import receiver_positions
from .shots import Shots
from .sources import signals_of_each, source_weights


def point_lists(problem: Problem, shape: CallShape, shots: Shots, xp, dtype, solid):
    """Return the cells of each source field, and the buffers of points by their names.

    Sources and receivers are arrays of xp, numpy or jax.numpy; `solid` is that of `solid_of`.
    """
    sources, receivers = (
        points_beside(xp, problem, names, widen(positions, shape.dtype), shape.shots, solid)
        for names, positions in (
            (problem.source_type, shots.sources),
            (problem.receiver_type, receiver_positions(xp, problem, shots)),
        )
    )
    strong = [attrs.evolve(p, weights=source_weights(problem, p, xp.asarray)[0]) for p in sources]
    named: dict[str, Any] = {}
    for kind, points, columns, signals in (
        ("source", strong, len(problem.source_type), signals_of_each(problem, shape.source_taps)),
        ("receiver", receivers, len(problem.receiver_type), 1),
    ):
        by_field = [[p for p in points if p.field == field.name] for field in problem.fields]
        rows = [_rows(some, columns, signals, xp, dtype) for some in by_field if some]
        for action, lists in (("inject", [_by_cell(each, xp) for each in rows]), ("gather", rows)):
            for part, joined in zip(("cell", "column", "weight"), zip(*lists, strict=True), strict=True):
                named[f"{kind}_{action}_{part}"] = xp.concatenate(joined, axis=1)
    return [p.cells for p in sources], named


def _rows(points: list[Points], columns: int, signals: int, xp, dtype):
    """Return (cell, column, weight), (nshots, points) each, of the points of one field.

    The points are in the order of traces, and those of a trace are sorted by column. `signals` is the number of signals
    of a position, one for each tap or one for all. Each signal is a trace of `columns`.
    """
    nshots, n, taps = points[0].cells.shape
    shape = nshots, n * signals, taps // signals
    cell, weight = (
        xp.stack([x.reshape(shape) for x in parts], 2)
        for parts in zip(*((p.cells.astype("int32"), (p.share * p.weights).astype(dtype)) for p in points), strict=True)
    )
    trace, own = np.arange(n * signals, dtype="int32"), np.array([p.column for p in points], "int32")
    column = np.broadcast_to((trace[:, None] * columns + own)[..., None], cell.shape)
    return tuple(x.reshape(nshots, -1) for x in (cell, xp.asarray(column), weight))


def _by_cell(rows, xp):
    """Return the rows of one field sorted by cell within each shot, for injection."""
    order = xp.argsort(rows[0], axis=1, stable=True)
    return tuple(xp.take_along_axis(x, order, axis=1) for x in rows)
