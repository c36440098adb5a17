"""How far, in time, the energy of an observed trace must be carried to become the modelled one."""

import math
from typing import Any

from ..errors import DomainError
from ..typing import Record
from .records import TIME, counted, loudness, records


def wasserstein(synthetic: Record, observed: Record, sharpness: float = 3.0) -> tuple[Any, Any]:
    """sum over traces of W2^2(p(s), p(d)) / nt^2, and its derivative in s = `synthetic`; d is `observed`.

    W2 is the quadratic Wasserstein distance, in samples, of two distributions over time, each of masses p(x)_k =
    log(1 + exp(b x_k)) / sum_j log(1 + exp(b x_j)) that are spread evenly over their samples; b is `sharpness` over the
    largest sample of the observed trace. It grows with the square of a delay beyond half a period, where least squares
    lets an inversion stop (Yang, Engquist, Sun and Hamfeldt 2018, Geophysics 83, trace by trace).

    Parameters
    ----------
    synthetic, observed : (nshots, nt, nrec, nfield) array
        Arrays of one library. Observed traces that no wave reaches count nothing: those below 1e-6 of the loudest of
        their shot and field.
    sharpness : float
        Small: positive and negative samples weigh much alike. Large: positive ones alone.

    Returns
    -------
    value : array without axes
        The misfit, a sum over shots.
    adjoint_source : array
        Its derivative in `synthetic`, of the shape and dtype of `synthetic`.

    Raises
    ------
    ShapeError, DtypeError, DomainError
        The records differ in shape, are no arrays of one library and dtype, or `sharpness` is not positive.
    """
    if isinstance(sharpness, bool) or not isinstance(sharpness, int | float) or not 0 < sharpness < math.inf:
        raise DomainError(f"sharpness is {sharpness!r}; expected a positive, finite number")
    xp = records(synthetic, observed)
    nt = synthetic.shape[TIME]
    loudest, level = loudness(xp, observed)
    counts = level != 0
    scale = sharpness / (loudest * xp.where(counts, level, xp.ones_like(level)))
    masses, slopes, total = _masses(xp, scale * synthetic)
    given = _masses(xp, scale * observed)[0]
    cost, potential = _transport(xp, masses, given, nt)
    # Masses are divided by their sum, so a constant part of the potential moves nothing.
    mean = xp.sum(masses * potential, axis=TIME, keepdims=True)
    derivative = scale * slopes / total * (potential - mean)
    value = xp.sum(xp.where(counts, cost, 0 * cost))
    return value, xp.where(counts, derivative, 0 * derivative)


def _masses(xp: Any, x: Any) -> tuple[Any, Any, Any]:
    """Softplus of x over its sum, the derivative of softplus, and the sum."""
    decayed = xp.exp(-xp.abs(x))
    soft = xp.where(x > 0, x, 0 * x) + xp.log1p(decayed)
    total = xp.sum(soft, axis=TIME, keepdims=True)
    return soft / total, xp.where(x > 0, 1 / (1 + decayed), decayed / (1 + decayed)), total


def _transport(xp: Any, p: Any, q: Any, nt: int) -> tuple[Any, Any]:
    """Cost of carrying masses p to q, spread evenly over their samples, and its derivative in p: the mean over a sample
    of the potential whose slope is twice the way.

    Levels of both cumulative masses, sorted, cut the unit of mass into parts; each moves from within one sample of p to
    within one of q, by a way that is linear in the level.
    """
    of_p, of_q = (xp.cumulative_sum(masses, axis=TIME) for masses in (p, q))
    levels = xp.concat([of_p, of_q], axis=TIME)
    order = xp.argsort(levels, axis=TIME, stable=True)
    ends_p = order < nt
    is_p = xp.astype(ends_p, order.dtype)
    passed = xp.cumulative_sum(is_p, axis=TIME) - is_p  # levels of p below a part
    high = xp.take_along_axis(levels, order, axis=TIME)

    def before(x: Any) -> Any:
        return xp.concat([xp.zeros_like(x[:, :1]), x[:, :-1]], axis=TIME)

    low = before(high)

    def within(masses: Any, level: Any, sample: Any, ends: Any) -> tuple[Any, Any, Any]:
        """Where a part begins and ends, in samples, and its sample, which `ends` with it or goes on."""
        beyond = sample >= nt  # what rounding leaves behind the last one
        sample = xp.clip(sample, max=nt - 1)
        mass = xp.take_along_axis(masses, sample, axis=TIME)
        below = xp.take_along_axis(level - masses, sample, axis=TIME)
        # Of loud traces masses lie below the rounding of levels, or are zero: their ends are known all the same.
        zero, one, some = 0 * mass, 0 * mass + 1, xp.where(mass > 0, mass, mass + 1)
        begin, end = (xp.clip((at - below) / some, min=0, max=1) for at in (low, high))
        begins = xp.concat([xp.ones_like(ends[:, :1]), ends[:, :-1]], axis=TIME)
        begin, end = xp.where(begins, zero, begin), xp.where(ends, one, end)
        sample = xp.astype(sample, masses.dtype)
        return sample + xp.where(beyond, one, begin), sample + xp.where(beyond, one, end), sample

    begin, end, sample = within(p, of_p, passed, ends_p)
    first, last, _ = within(q, of_q, counted(xp, order) - passed, ~ends_p)
    a, b = (begin - first) / nt, (end - last) / nt
    cost = xp.sum((high - low) * (a * a + a * b + b * b), axis=TIME, keepdims=True) / 3
    left, right = sample + 1 - begin, sample + 1 - end
    inside = (end - begin) * ((2 * left + right) * a + (left + 2 * right) * b) / 3
    until, sums = (xp.cumulative_sum(x, axis=TIME) for x in ((end - begin) * (a + b), inside))
    place = xp.argsort(order, axis=TIME)[:, :nt]  # of the part that ends a sample of p
    potential, sums = (xp.take_along_axis(x, place, axis=TIME) for x in (until, sums))
    return cost, (before(potential) + sums - before(sums)) / nt
