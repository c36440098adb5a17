"""The selection of cases for make test holds every pair of values in few cases."""

from itertools import combinations, product

from cover import cover

SIZES = (4, 3, 3, 2)
CASES = [frozenset(combinations(enumerate(values), 2)) for values in product(*map(range, SIZES))]


def test_every_pair_is_covered_by_few_cases():
    remaining = cover(CASES)
    assert set().union(*(CASES[i] for i in remaining)) == set().union(*CASES)
    assert 12 <= len(remaining) <= 18 < len(CASES) == 72
