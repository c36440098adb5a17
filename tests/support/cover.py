"""The selection of test cases that contain every pair of values; the test itself is one of the values."""

from collections import defaultdict
from itertools import combinations

WHOLE = ("torch-c",)
"""Executors that run all cases, because each is cheap."""


def redundant(items) -> list:
    """Return the items of pytest that may be left out.

    Tests of one file with the same parameters share the combinations. Each pair of values is in a case of some test,
    and each value is in a case of each test.
    """
    same_parameters, left_out = defaultdict(list), []
    for item in items:
        same_parameters[item.path, *sorted(parameters(item))].append(item)
    for cases in same_parameters.values():
        remaining = cover([pairs(item) for item in cases])
        left_out += [item for i, item in enumerate(cases) if i not in remaining and not runs_all_cases(item)]
    return left_out


def parameters(item) -> dict:
    return item.callspec.params if hasattr(item, "callspec") else {}


def runs_all_cases(item) -> bool:
    return getattr(parameters(item).get("entry"), "name", None) in WHOLE


def pairs(item) -> frozenset:
    """Return the pairs of values of a case; the repr identifies a value."""
    values = [("", item.originalname), *((name, repr(value)) for name, value in sorted(parameters(item).items()))]
    return frozenset(combinations(values, min(2, len(values))))


def cover(cases) -> set[int]:
    """Return indices of cases that contain all pairs, by a greedy choice; the first of equal cases wins."""
    missing, remaining = set().union(*cases), set()
    while missing:
        best = max(range(len(cases)), key=lambda i: len(cases[i] & missing))
        remaining.add(best)
        missing -= cases[best]
    return remaining
