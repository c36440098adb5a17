"""A sum over shots with the same bits for any number of ranks and any plan, right to rounding."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inverting import on_ranks

from sweep_core import SerialDistributor, ShotPlan
from sweep_core.distribution import ordered_sum

LIKE = [np.empty((3, 4)), np.empty(5)]


def shots(seed, count, spread):
    """Values and arrays of some shots, whose sizes differ by many orders of magnitude."""
    draw = np.random.default_rng(seed)
    scales = 10.0 ** draw.uniform(-spread, spread, count)
    return [(scale * draw.random(), [scale * draw.standard_normal(x.shape) for x in LIKE]) for scale in scales]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@given(st.integers(0, 99), st.integers(1, 7), st.sampled_from([0, 3, 30]), st.booleans())
def test_any_number_of_ranks_gives_the_same_bits(size, seed, count, spread, unequal):
    results = shots(seed, count, spread)
    plan = ShotPlan(count, size, np.arange(1.0, count + 1) if unequal else None)
    alone = ordered_sum(SerialDistributor(), ShotPlan(count, 1), results.__getitem__, LIKE)
    for total, sums in on_ranks(size, lambda group: ordered_sum(group, plan, results.__getitem__, LIKE)):
        assert total == alone[0]
        assert all(np.array_equal(a, b) for a, b in zip(sums, alone[1], strict=True))


@given(st.integers(0, 99), st.integers(1, 9), st.sampled_from([0, 3, 30]))
def test_the_sum_is_right_to_rounding(seed, count, spread):
    results = shots(seed, count, spread)
    total, sums = ordered_sum(SerialDistributor(), ShotPlan(count, 1), results.__getitem__, LIKE)
    assert total == math.fsum(value for value, _ in results)
    for n, result in enumerate(sums):
        exact = np.vectorize(lambda *x: math.fsum(x))(*(arrays[n] for _, arrays in results))
        largest = max(np.abs(arrays[n]).max() for _, arrays in results)
        assert np.abs(result - exact).max() <= 1e-13 * count * largest


@pytest.mark.parametrize("size", [1, 2])
def test_a_first_shot_of_zeros_is_no_scale(size):
    results = [(0.0, [np.zeros(x.shape) for x in LIKE]), (2.0, [np.full(x.shape, 1e-20) for x in LIKE])]
    for total, sums in on_ranks(size, lambda group: ordered_sum(group, ShotPlan(2, size), results.__getitem__, LIKE)):
        assert total == 2.0 and all(np.allclose(x, 1e-20, rtol=1e-14, atol=0) for x in sums)
    zeros = ordered_sum(SerialDistributor(), ShotPlan(2, 1), lambda shot: results[0], LIKE)
    assert zeros[0] == 0 and not any(x.any() for x in zeros[1])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("place", ["value", "array"])
def test_values_that_are_not_finite_are_not_hidden(place, bad):
    results = shots(0, 3, 0)
    results[1] = (bad, results[1][1]) if place == "value" else (1.0, [np.full(x.shape, bad) for x in LIKE])
    for total, sums in on_ranks(2, lambda group: ordered_sum(group, ShotPlan(3, 2), results.__getitem__, LIKE)):
        assert math.isnan(total) and all(np.isnan(x).all() for x in sums)
