"""Where receivers listen."""

from .._util.arrays import whole


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
