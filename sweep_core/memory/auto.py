"""Strategy ``'auto'``: everything is kept where there is room for it; otherwise it is recomputed in chunks."""

from math import isqrt, sqrt

from .strategy import Kept, Run, Strategy, adjoint_steps

CACHE_BYTES = 8 << 20
"""History that stays in the share of a last-level cache that one core may expect."""
WORTHWHILE = 16
"""Steps that a chunk in the cache has at least: to save states for shorter ones costs more than it spares."""
CALL = 0.5, 2 << 30
"""Of one call whose buffers are used again: the share of what is left that a history may take, and the bytes that it
may take where little speaks for keeping it, or where nothing tells what is left."""
PROGRAM = 0.25, 0
"""The same of a program for many calls, which is compiled before anybody knows what will be left to them."""


class Auto(Strategy):
    """Keeps all steps if they fit; else chunks that stay in the cache, or those that take the least memory."""

    def keep(self, run: Run) -> Kept:
        steps, history = adjoint_steps(run.nt), run.history()
        cached = CACHE_BYTES // max(history // run.shots // steps, 1)
        if _is_room(run, history, run.on_cpu and cached >= WORTHWHILE):
            return Kept(steps)
        return Kept(min(steps, cached if cached >= WORTHWHILE else round(sqrt(steps))))

    def segment(self, nt: int, barred: str = "") -> int:
        return nt if barred else max(isqrt(nt), 1)


def _is_room(run: Run, history: int, beside_cache: bool) -> bool:
    """Whether all of a history may be kept; chunks `beside_cache` of a CPU would cost little instead."""
    share, little = PROGRAM if run.traced else CALL
    if history <= CACHE_BYTES:
        return True
    if history > little and (beside_cache or run.together):
        return False
    left = run.left()
    return history <= (little if left is None else share * left)
