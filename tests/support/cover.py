"""Which cases are enough: those that hold every pair of values, where the test is a value too."""

from collections import defaultdict
from itertools import combinations

WHOLE = ("torch-c",)
"""Executors whose every case is cheap."""


def redundant(items) -> list:
    """Return the items of pytest that may be left out.

    Tests of one file with the same parameters share the work. Each pair of values meets in a case of some test, and each
    test has each value, but not each combination.
    """
    alike, left_out = defaultdict(list), []
    for item in items:
        alike[item.path, *sorted(parameters(item))].append(item)
    for cases in alike.values():
        remaining = cover([pairs(item) for item in cases])
        left_out += [item for i, item in enumerate(cases) if i not in remaining and not whole(item)]
    return left_out


def parameters(item) -> dict:
    return item.callspec.params if hasattr(item, "callspec") else {}


def whole(item) -> bool:
    return getattr(parameters(item).get("entry"), "name", None) in WHOLE


def pairs(item) -> frozenset:
    """The pairs of values of a case; a value is told by how it is written."""
    values = [("", item.originalname), *((name, repr(value)) for name, value in sorted(parameters(item).items()))]
    return frozenset(combinations(values, min(2, len(values))))


def cover(cases) -> set[int]:
    """Indices of cases that hold all pairs of all: each the one that adds most, the first of equals."""
    missing, remaining = set().union(*cases), set()
    while missing:
        best = max(range(len(cases)), key=lambda i: len(cases[i] & missing))
        remaining.add(best)
        missing -= cases[best]
    return remaining
