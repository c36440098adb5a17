"""Pairwise covering: the selection of cases that `make test` runs of a product of parameters."""

from collections import Counter, defaultdict
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import prod

WHOLE = ("torch-c",)
"""Executors whose every case runs."""
COSTS = {"torch-eager": 2, "jax-c": 4, "jax-eager": 12, "elastic": 3, "acoustic_variable_density": 2}
"""CPU time of a case by the names of its executor and its equation, over that of a cheap one."""


def redundant(items) -> list:
    """Return those of pytest's items that `make test` may leave out.

    Tests of one file share the work. The rest guarantees: each two values of parameters that meet in a case of the file
    meet in one that runs, and each test runs with each value that it has. Executors of `WHOLE` run every case; pairs
    that these do not hold are covered by the cheapest cases (`COSTS`). A test with two values, and three values, meet
    in `make test-all`.
    """
    files, left_out = defaultdict(list), []
    for item in items:
        files[item.path].append(item)
    for cases in files.values():
        always = {i for i, item in enumerate(cases) if is_whole(item)}
        kept = cover([pairs(item) for item in cases], [cost(item) for item in cases], always)
        left_out += [item for i, item in enumerate(cases) if i not in kept]
    return left_out


def parameters(item) -> dict:
    return item.callspec.params if hasattr(item, "callspec") else {}


def is_whole(item) -> bool:
    return getattr(parameters(item).get("entry"), "name", None) in WHOLE


def cost(item) -> int:
    return prod(COSTS.get(getattr(value, "name", None), 1) for value in parameters(item).values())


def pairs(item) -> frozenset:
    """The pairs of values of a case; a value is told by how it is written."""
    values = [("", item.originalname), *((name, repr(value)) for name, value in sorted(parameters(item).items()))]
    return frozenset(combinations(values, min(2, len(values))))


def cover(cases, costs, always=()) -> set[int]:
    """Return indices of cases that hold all pairs of all, those of `always` among them.

    Greedy: the next case is the one that adds most pairs per cost, the first of equals. At the end a case whose pairs
    others hold too is dropped, the most expensive first.
    """
    kept = set(always)
    missing = set().union(*cases) - set().union(*(cases[i] for i in kept))
    waiting = [(-len(case) / cost, i) for i, (case, cost) in enumerate(zip(cases, costs, strict=True))]
    heapify(waiting)
    while missing:
        _, i = heappop(waiting)
        gain = len(cases[i] & missing) / costs[i]
        if waiting and (-gain, i) > waiting[0]:
            heappush(waiting, (-gain, i))  # gains only fall: the best is a case that keeps its place
        else:
            kept.add(i)
            missing -= cases[i]
    held = Counter(pair for i in kept for pair in cases[i])
    for i in sorted(kept - set(always), key=lambda i: (-costs[i], i)):
        if all(held[pair] > 1 for pair in cases[i]):
            kept.remove(i)
            held.subtract(cases[i])
    return kept
