"""A misfit of the distance in time over which the energy of one trace must move to become another trace."""

import math
from typing import Any

from ..errors import DomainError
from ..typing import Record
from .records import TIME, amplitude_levels, check_records, sample_numbers


def wasserstein(synthetic: Record, observed: Record, sharpness: float = 3.0) -> tuple[Any, Any]:
    """Return the sum over traces of W2^2(p(s), p(d)) / nt^2, and its derivative in s.

    s is `synthetic` and d is `observed`. W2 is the quadratic Wasserstein distance, in samples, of two distributions
    over time. A trace x has the masses p(x)_k = log(1 + exp(b x_k)) / sum_j log(1 + exp(b x_j)), each spread evenly
    over its sample. b is `sharpness` over the largest sample of the observed trace.

    The misfit grows with the square of a delay, also beyond half a period, where an inversion by least squares stops
    (Yang, Engquist, Sun and Hamfeldt 2018, Geophysics 83, trace by trace).

    Parameters
    ----------
    synthetic, observed : (nshots, nt, nrec, nfield) array
        Modelled and observed records, of one array library and one dtype. Observed traces below 1e-6 of the loudest of
        their shot and field hold no wave and add nothing.
    sharpness : float
        If small, positive and negative samples weigh almost the same. If large, only positive samples weigh.

    Returns
    -------
    value : array without axes
        The misfit, a sum over shots.
    adjoint_source : array
        Its derivative in `synthetic`, of the shape and dtype of `synthetic`.

    Raises
    ------
    ShapeError, DtypeError, DomainError
        The records differ in shape, are not arrays of one library and dtype, or `sharpness` is not positive.
    """
    if isinstance(sharpness, bool) or not isinstance(sharpness, int | float) or not 0 < sharpness < math.inf:
        raise DomainError(f"sharpness is {sharpness!r}; expected a positive, finite number")
    xp = check_records(synthetic, observed)
    nt = synthetic.shape[TIME]
    loudest, level = amplitude_levels(xp, observed)
    is_live = level != 0
    scale = sharpness / (loudest * xp.where(is_live, level, xp.ones_like(level)))
    masses, slopes, total = _masses(xp, scale * synthetic)
    target = _masses(xp, scale * observed)[0]
    cost, potential = _transport(xp, masses, target, nt)
    # The masses sum to one, so a constant in the potential has no effect.
    mean = xp.sum(masses * potential, axis=TIME, keepdims=True)
    derivative = scale * slopes / total * (potential - mean)
    value = xp.sum(xp.where(is_live, cost, 0 * cost))
    return value, xp.where(is_live, derivative, 0 * derivative)


def _masses(xp: Any, x: Any) -> tuple[Any, Any, Any]:
    """Return softplus(x) over its sum, the derivative of softplus, and the sum."""
    decayed = xp.exp(-xp.abs(x))
    soft = xp.where(x > 0, x, 0 * x) + xp.log1p(decayed)
    total = xp.sum(soft, axis=TIME, keepdims=True)
    return soft / total, xp.where(x > 0, 1 / (1 + decayed), decayed / (1 + decayed)), total


def _transport(xp: Any, p: Any, q: Any, nt: int) -> tuple[Any, Any]:
    """Return the cost of moving the masses p to q, and its derivative in p.

    The masses are spread evenly over their samples. The derivative is the mean, over a sample, of the potential whose
    slope is twice the distance moved.

    The sorted levels of both cumulative masses cut the unit of mass into pieces. Each piece moves from inside one
    sample of p to inside one sample of q, over a distance that is linear in the level.
    """
    levels_p, levels_q = (xp.cumulative_sum(masses, axis=TIME) for masses in (p, q))
    levels = xp.concat([levels_p, levels_q], axis=TIME)
    order = xp.argsort(levels, axis=TIME, stable=True)
    ends_p = order < nt
    is_p = xp.astype(ends_p, order.dtype)
    sample_p = xp.cumulative_sum(is_p, axis=TIME) - is_p  # the number of levels of p below a piece
    high = xp.take_along_axis(levels, order, axis=TIME)

    def before(x: Any) -> Any:
        return xp.concat([xp.zeros_like(x[:, :1]), x[:, :-1]], axis=TIME)

    low = before(high)

    def piece_bounds(masses: Any, level: Any, sample: Any, ends: Any) -> tuple[Any, Any, Any]:
        """Return the begin and the end of each piece, in samples, and the sample that holds the piece.

        `ends` is true for the last piece of a sample.
        """
        is_beyond = sample >= nt  # rounding leaves a piece after the last sample
        sample = xp.clip(sample, max=nt - 1)
        mass = xp.take_along_axis(masses, sample, axis=TIME)
        below = xp.take_along_axis(level - masses, sample, axis=TIME)
        # A mass of a loud trace may be zero or below the rounding of the levels. `ends` still tells its bounds.
        zero, one, divisor = 0 * mass, 0 * mass + 1, xp.where(mass > 0, mass, mass + 1)
        begin, end = (xp.clip((bound - below) / divisor, min=0, max=1) for bound in (low, high))
        begins = xp.concat([xp.ones_like(ends[:, :1]), ends[:, :-1]], axis=TIME)
        begin, end = xp.where(begins, zero, begin), xp.where(ends, one, end)
        sample = xp.astype(sample, masses.dtype)
        return sample + xp.where(is_beyond, one, begin), sample + xp.where(is_beyond, one, end), sample

    begin, end, sample = piece_bounds(p, levels_p, sample_p, ends_p)
    first, last, _ = piece_bounds(q, levels_q, sample_numbers(xp, order) - sample_p, ~ends_p)
    a, b = (begin - first) / nt, (end - last) / nt
    cost = xp.sum((high - low) * (a * a + a * b + b * b), axis=TIME, keepdims=True) / 3
    left, right = sample + 1 - begin, sample + 1 - end
    inside = (end - begin) * ((2 * left + right) * a + (left + 2 * right) * b) / 3
    potential, sums = (xp.cumulative_sum(x, axis=TIME) for x in ((end - begin) * (a + b), inside))
    last_piece = xp.argsort(order, axis=TIME)[:, :nt]  # of each sample of p
    potential, sums = (xp.take_along_axis(x, last_piece, axis=TIME) for x in (potential, sums))
    return cost, (before(potential) + sums - before(sums)) / nt
