"""Strategy ``'auto'``: keep every step if there is room, and recompute chunks otherwise."""

from math import isqrt, sqrt

from ..errors import MemoryLimitError
from .ckpt import recursive
from .strategy import HistoryPlan, HistoryRequest, Strategy, adjoint_steps

CACHE_BYTES = 8 << 20
"""History that stays in the share of a last-level cache that one core may expect."""
WORTHWHILE = 16
"""Least steps of a chunk in the cache: for shorter chunks, saving states costs more time than the cache spares."""
CALL = 0.5, 2 << 30
"""Limits of the history of one call that reuses its buffers.

The first is a share of the memory left. The second, in bytes, holds beside other histories, or if the memory left is
unknown.
"""
PROGRAM = 0.25, 0
"""The same limits for a compiled program, whose calls come later, when less memory may be left."""


class Auto(Strategy):
    """All steps if they fit; otherwise chunks that stay in the cache, or those that take the least memory.

    A program of XLA on a CPU gets fresh memory at each call, so it prefers chunks in the cache. Within a budget, the
    strategy selects the fastest way that fits.
    """

    @property
    def eager_refusal(self) -> str:
        return "MemoryOptions(budget=...) needs impl='c', which computes its memory" if self.memory.budget else ""

    def keep(self, run: HistoryRequest) -> HistoryPlan:
        if self.memory.budget:
            return _fastest_within(self.memory.budget, run)
        steps, history = adjoint_steps(run.nt), run.history()
        cached = run.cached(CACHE_BYTES)
        in_cache = cached >= WORTHWHILE
        if _is_room(run, history, run.on_cpu and run.traced and in_cache):
            return HistoryPlan(steps)
        return HistoryPlan(min(steps, cached if in_cache else round(sqrt(steps))))

    def segment(self, nt: int, barred: str = "") -> int:
        return nt if barred else max(isqrt(nt), 1)


def _fastest_within(budget: int, run: HistoryRequest) -> HistoryPlan:
    """Return the plan of all steps if they fit, else of the fewest chunks, else of the most states that fit.

    Raises
    ------
    MemoryLimitError
        If nothing fits.
    """
    steps = adjoint_steps(run.nt)
    ways = [
        HistoryPlan(length) for length in dict.fromkeys(-(-steps // chunks) for chunks in range(1, isqrt(steps) + 1))
    ]
    if run.slices:
        few = recursive(run, 1)
        room = budget - run.bytes_of(few)
        ways += [recursive(run, 1 + max(room // max(run.state(), 1), 0)), few]
    for plan in ways:
        if run.bytes_of(plan) <= budget:
            return plan
    least = min(map(run.bytes_of, ways))
    raise MemoryLimitError(
        f"MemoryOptions: budget is {budget} bytes; expected {least} or more for a gradient of this call. Raise the "
        "budget, use fewer shots a call, or store states on disk by CkptOptions(storage='disk')"
    )


def _is_room(run: HistoryRequest, history: int, prefer_chunks: bool) -> bool:
    """Return True if the whole history may be kept; with `prefer_chunks` only a small one may."""
    share, little = PROGRAM if run.traced else CALL
    if history <= CACHE_BYTES:
        return True
    if history > little and (prefer_chunks or run.histories_coexist):
        return False
    left = run.left()
    return history <= (little if left is None else share * left)
