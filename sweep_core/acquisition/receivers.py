"""Positions of receivers, and the record that a user gets of a run."""

from .._util.arrays import whole
from ..numerics.time_dispersion import undisperse
from ..problem import Problem
from .call_shape import CallShape


def receiver_positions(xp, problem, shots):
    """Return receivers as (nshots or 1, nrec, ndim); masked ones are in the middle of the model. xp is numpy, ..."""
    receivers = shots.receivers if len(shots.receivers.shape) == 3 else shots.receivers[None]
    if shots.mask is None:
        return receivers
    if receivers.dtype.itemsize < 4:  # such integers may not hold the middle
        receivers = whole(xp, receivers)
    middle = [n // 2 for n in reversed(problem.grid.shape)]
    columns = [xp.where(shots.mask, receivers[..., i], middle[i]) for i in range(len(middle))]
    return xp.stack(columns, -1)


def finalise_record(xp, problem: Problem, shape: CallShape, mask, record):
    """Return the record of a user, (nshots, nt, nrec, nfield), from that of a run, (nshots, steps, nrec, nfield).

    The result is free of time dispersion, where the problem corrects it, and zero at masked receivers.
    """
    if problem.time_dispersion == "corrected":
        record = undisperse(xp, record.swapaxes(1, -1))[..., : shape.samples].swapaxes(1, -1)
    if mask is not None:
        record = xp.where(mask[:, None, :, None], record, xp.zeros_like(record))
    return record


def empty_record(problem: Problem, shape: CallShape, zeros):
    """Return (record, snapshots) of a call of no shots, such as that of a rank with none.

    ``zeros(shape)`` is that of the framework. All axes but the first have the length that they have in other calls.
    """
    asked = shape.snapshots
    record = zeros((0, shape.samples, shape.receivers, len(problem.receiver_type)))
    if asked is None:
        return record, {}
    return record, {field: zeros((0, asked.count(shape.samples), *asked.shape)) for field in asked.fields}
