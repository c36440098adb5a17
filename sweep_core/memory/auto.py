"""Strategy ``'auto'``: everything is kept where there is room for it; otherwise it is recomputed."""

from math import isqrt, sqrt

from ..errors import MemoryLimitError
from .ckpt import recursive
from .strategy import HistoryPlan, HistoryRequest, Strategy, adjoint_steps

CACHE_BYTES = 8 << 20
"""History that stays in the share of a last-level cache that one core may expect."""
WORTHWHILE = 16
"""Steps that a chunk in the cache has at least: to save states for shorter ones costs more than it spares."""
CALL = 0.5, 2 << 30
"""Of one call whose buffers are used again: the share of what is left that a history may take, and the bytes that it
may take where others live beside it, or where nothing tells what is left."""
PROGRAM = 0.25, 0
"""The same of a program for many calls, which is compiled before anybody knows what will be left to them."""


class Auto(Strategy):
    """Keeps all steps if they fit; else chunks that stay in the cache, or those that take the least memory. A program
    on a CPU, which finds fresh memory at each call, rather keeps chunks in the cache. Within a budget, the fastest that
    fits.
    """

    @property
    def eager_refusal(self) -> str:
        return "MemoryOptions(budget=...) needs impl='c', which tells what it takes" if self.memory.budget else ""

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
    """All steps if they fit; else as few chunks as fit; else as many states as fit.

    Raises
    ------
    MemoryLimitError
        Where nothing does.
    """
    steps = adjoint_steps(run.nt)
    ways = [
        HistoryPlan(length) for length in dict.fromkeys(-(-steps // chunks) for chunks in range(1, isqrt(steps) + 1))
    ]
    if run.slices:
        few = recursive(run, 1)
        room = budget - run.taken(few)
        ways += [recursive(run, 1 + max(room // max(run.state(), 1), 0)), few]
    for kept in ways:
        if run.taken(kept) <= budget:
            return kept
    least = min(map(run.taken, ways))
    raise MemoryLimitError(
        f"MemoryOptions: budget is {budget} bytes, and a gradient of this call takes {least} at least; give more, or "
        "fewer shots a call, or CkptOptions(storage='disk') where states may lie on disk"
    )


def _is_room(run: HistoryRequest, history: int, spared: bool) -> bool:
    """Whether all of a history may be kept; it is to be `spared` if more than little."""
    share, little = PROGRAM if run.traced else CALL
    if history <= CACHE_BYTES:
        return True
    if history > little and (spared or run.together):
        return False
    left = run.left()
    return history <= (little if left is None else share * left)
