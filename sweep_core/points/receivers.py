"""What receivers record: fields where they listen, and sums of these."""

from .positions import whole


def listening(xp, problem, shots):
    """Receivers as (nshots or 1, nrec, ndim), those that are masked in the middle of the model; xp is numpy, ..."""
    receivers = shots.receivers if len(shots.receivers.shape) == 3 else shots.receivers[None]
    if shots.mask is None:
        return receivers
    if receivers.dtype.itemsize < 4:  # such integers may not hold the middle
        receivers = whole(xp, receivers)
    middle = [n // 2 for n in reversed(problem.grid.shape)]
    columns = [xp.where(shots.mask, receivers[..., i], middle[i]) for i in range(len(middle))]
    return xp.stack(columns, -1)


def derived(xp, problem, record):
    """The record (..., fields of receiver_type), of which some are sums, from that of problem.recorded."""
    if problem.recorded == problem.receiver_type:
        return record
    sums = problem.equation.derived(problem.grid.ndim)
    parts = [sums.get(name, {name: 1.0}) for name in problem.receiver_type]
    columns = [sum(w * record[..., problem.recorded.index(f)] for f, w in part.items()) for part in parts]
    return xp.stack(columns, -1)
