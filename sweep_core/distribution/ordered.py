"""Sums over shots that do not depend on the number of ranks: integers with a common power-of-two scale."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._util.arrays import numpy_of
from .distributor import Distributor
from .elastic import ElasticDistributor, add_results, tree_sum
from .shot_plan import ShotPlan

Result = tuple[float, list[np.ndarray]]
"""The value and the arrays of one shot."""

BITS = 32
"""Bits of each of the two integers that hold a value; 2^20 shots cannot exceed the 53 bits of a float64."""
HEADROOM = 16
"""Bits by which the scale exceeds the first shot, so that other shots rarely exceed the scale."""
LOWEST, HIGHEST = -1100, 1100
"""Exponents that stand for zero, and for values that are not finite."""


def ordered_sum(group: Distributor, plan: ShotPlan, compute: Callable[[int], Result], like: Sequence[Any]) -> Result:
    """Return the sums of values and arrays over all shots, the same bits for any plan and number of ranks.

    A value x with abs(x) < 2^e becomes two integers a and b of 32 bits each,

        x = a 2^(e - 32) + b 2^(e - 64),

    and sums of integers are exact in any order. The exponent e is 16 more than that of the first shot; if a later shot
    exceeds it, all shots are computed once more with the exponent of the largest. The sum is exact but for the last bit
    of each x. It takes twice the memory and communication of a plain sum.

    Parameters
    ----------
    group : Distributor
        The ranks.
    plan : ShotPlan
        The shots of each rank.
    compute : callable
        ``compute(shot)`` returns the value and the arrays of one shot; every call returns the same bits.
    like : sequence of array
        Arrays of the shapes of those of `compute`.

    Returns
    -------
    total : float
        Sum of the values. NaN if a value or an array is not finite.
    sums : list of float64 array
        Sums of the arrays.
    """
    own = list(plan.part(group.rank))
    first = compute(own[0]) if own else None
    lead = _exponent(first) if first is not None and own[0] == 0 else 0
    exponent = int(numpy_of(group.all_reduce(np.array([float(lead)])))[0]) + HEADROOM
    while True:
        values, sums = np.zeros(plan.count), [np.zeros((2, *x.shape)) for x in like]
        largest = LOWEST
        for shot in own:
            result = first if first is not None and shot == own[0] else compute(shot)
            largest = max(largest, _exponent(result))
            if largest <= exponent:
                values[shot] = result[0]
                for total, x in zip(sums, result[1], strict=True):
                    total += _integers(x, exponent)
        exponents = np.zeros(HIGHEST - LOWEST + 1)
        exponents[largest - LOWEST] = 1
        highest = int(np.flatnonzero(numpy_of(group.all_reduce(exponents))).max()) + LOWEST
        if highest == HIGHEST:
            return math.nan, [np.full(x.shape, np.nan) for x in like]
        if highest <= exponent:
            break
        exponent = highest
    packed = numpy_of(group.all_reduce(np.concatenate([values, *(total.ravel() for total in sums)])))
    parts = np.split(packed[plan.count :], np.cumsum([total.size for total in sums])[:-1])
    halves = [part.reshape(total.shape) for part, total in zip(parts, sums, strict=True)]
    return _total(packed[: plan.count].tolist(), halves, exponent)


def ordered_tasks(group: ElasticDistributor, results: Sequence[Any]) -> tuple[float, list[np.ndarray], list[float]]:
    """Return the sums of the results of tasks, with the bits of :func:`ordered_sum`.

    The workers make the integers and add them, so twice the memory of a plain sum is needed there, not once a shot.

    Parameters
    ----------
    group : ElasticDistributor
        The workers.
    results : sequence of handle
        Value and arrays of each shot, one or more, in the order of the shots.

    Returns
    -------
    total : float
        Sum of the values. NaN if a value or an array is not finite.
    sums : list of float64 array
        Sums of the arrays.
    values : list of float
        The value of each shot.
    """
    exponent = group.call("scale of the sum", _scale, results[0])
    while True:
        parts = [group.call("integers of a shot", _packed, result, exponent) for result in results]
        (values, sums, highest), scale = group.fetch([tree_sum(group, _add, parts), exponent])
        if highest == HIGHEST:
            return math.nan, [np.full(total.shape[1:], np.nan) for total in sums], values
        if highest <= scale:
            return *_total(values, sums, scale), values
        exponent = group.place(highest)


def _scale(result: Result) -> int:
    return _exponent(result) + HEADROOM


def _packed(result: Result, exponent: int) -> tuple[list[float], list[np.ndarray], int]:
    """Return the value, the integers and the exponent of a shot; zeros if its exponent exceeds that of the sum."""
    value, arrays = result
    own = _exponent(result)
    fits = own <= exponent and own < HIGHEST
    return [value], [_integers(x, exponent) if fits else np.zeros((2, *x.shape)) for x in arrays], own


def _add(a: Any, b: Any) -> Any:
    return *add_results(a[:2], b[:2]), max(a[2], b[2])


def _total(values: Sequence[float], halves: Sequence[np.ndarray], exponent: int) -> Result:
    return math.fsum(values), [
        np.ldexp(high, exponent - BITS) + np.ldexp(low, exponent - 2 * BITS) for high, low in halves
    ]


def _exponent(result: Result) -> int:
    """Return the smallest e with abs(x) < 2^e for all entries x of the arrays."""
    value, arrays = result
    largest = max((float(np.abs(x).max(initial=0)) for x in arrays), default=0.0)
    if not (math.isfinite(value) and math.isfinite(largest)):
        return HIGHEST
    return math.frexp(largest)[1] if largest else LOWEST


def _integers(x: np.ndarray, exponent: int) -> np.ndarray:
    """Return the two integers of each entry, as float64."""
    scaled = np.ldexp(np.asarray(x, np.float64), 2 * BITS - exponent)
    high = np.rint(scaled * 2.0**-BITS)
    return np.stack([high, np.rint(scaled - high * 2.0**BITS)])
