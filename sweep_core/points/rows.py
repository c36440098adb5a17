"""Rows (field, cell, weight) of sources and receivers, as lists that the compiled code reads."""

from typing import Any

import attrs
import numpy as np

from ..call import CallShape
from ..problem import Problem
from ..survey import Shots
from .positions import Points, points_of
from .receivers import listening
from .sources import signals_of_each, strengths


def point_lists(problem: Problem, shape: CallShape, shots: Shots, xp, dtype):
    """(cells of each source field, what the library takes of points by the names of its buffers).

    Sources and receivers are arrays of xp, numpy or jax.numpy.
    """
    driven, heard = problem.source_type, problem.recorded
    sources = points_of(xp, problem, driven, shots.sources, shape.shots)
    receivers = points_of(xp, problem, heard, listening(xp, problem, shots), shape.shots)
    strong = [
        attrs.evolve(p, weights=strengths(problem, field, p, xp.asarray)[0])
        for field, p in zip(driven, sources, strict=True)
    ]
    named: dict[str, Any] = {}
    for kind, fields, points, each in (
        ("source", driven, strong, signals_of_each(problem, shape.source_taps)),
        ("receiver", heard, receivers, 1),
    ):
        listed = _rows(problem, fields, points, each, xp, dtype)
        for what, parts in (("inject", _by_cell(listed, len(fields), xp)), ("gather", listed)):
            parts = zip(("cell", "column", "weight"), parts, strict=True)
            named |= {f"{kind}_{what}_{part}": x for part, x in parts}
    return [p.cells for p in sources], named


def _rows(problem, fields: tuple[str, ...], points: list[Points], each: int, xp, dtype):
    """(cell, column, weight), (nshots, points) each: field after field in the order of the equation, trace by trace.

    `points` are those of each of the `fields`; a trace has `each` columns, as many as taps or one for all.
    """
    lists = []
    for field in sorted(fields, key=problem.field_index):
        at = points[fields.index(field)]
        nshots, n, taps = at.cells.shape
        column = np.arange(n * taps, dtype="int32") // (taps // each) * len(fields) + fields.index(field)
        lists.append((at.cells.astype("int32"), np.broadcast_to(column, (nshots, n * taps)), at.weights))
    joined = [xp.concatenate([x.reshape(x.shape[0], -1) for x in parts], axis=1) for parts in zip(*lists, strict=True)]
    return joined[0], xp.asarray(joined[1]), joined[2].astype(dtype)


def _by_cell(listed, fields: int, xp):
    """Rows of so many fields, sorted by cell within each shot and field, as injection needs it."""
    nshots, total = listed[0].shape
    within = listed[0].reshape(nshots, fields, -1)
    start = np.arange(fields, dtype="int32")[:, None] * within.shape[2]
    order = (xp.argsort(within, axis=2, stable=True) + start).reshape(nshots, total)
    return tuple(xp.take_along_axis(x, order, axis=1) for x in listed)
