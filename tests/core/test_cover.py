"""The selection of cases of make test: every pair is covered, by the cheapest cases."""

from itertools import combinations, product

import pytest
from cover import cover

SIZES = (4, 3, 3, 2)


def pairs(values):
    return frozenset(combinations(enumerate(values), 2))


CASES = [pairs(values) for values in product(*map(range, SIZES))]


def pairs_of(kept):
    return set().union(*(CASES[i] for i in kept))


@pytest.mark.parametrize("always", [(), (7, 31)])
def test_every_pair_is_covered_by_few_cases(always):
    kept = cover(CASES, [1] * len(CASES), always)
    assert pairs_of(kept) == pairs_of(range(len(CASES)))
    assert kept >= set(always) and len(kept) <= 18 < len(CASES) == 72
    assert all(pairs_of(kept - {i}) < pairs_of(kept) for i in kept - set(always))


def test_the_cheaper_of_equals_is_taken():
    assert cover([CASES[0], CASES[0], CASES[1]], [3, 1, 1]) == {1, 2}


def test_pairs_that_always_run_are_not_covered_again():
    assert cover([CASES[0], CASES[1], CASES[1]], [9, 1, 1], always={0, 1}) == {0, 1}
