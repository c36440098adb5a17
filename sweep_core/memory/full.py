"""Strategy ``'full'``: keep every step, or one step of each interval, in the requested precision."""

from .auto import CACHE_BYTES
from .strategy import HistoryPlan, HistoryRequest, Strategy, adjoint_steps

PACKED = 4
"""Least number of steps that are packed at once."""


class Full(Strategy):
    """The history of all steps. With a lower precision or an interval it is packed by groups that fit in the cache."""

    @property
    def dtype(self) -> str | None:
        return self.memory.dtype

    @property
    def interval(self) -> int:
        return self.memory.interval

    @property
    def eager_refusal(self) -> str:
        lossy = self.memory.lossy
        return f"MemoryOptions({lossy}) needs impl='c', which keeps its own history; leave it out" if lossy else ""

    def refusal_of(self, kind: str, levels: int) -> str:
        if self.interval == 1 or levels == 2:
            return ""
        return (
            f"MemoryOptions(interval={self.interval}) needs an equation of second order in time; images of this one "
            "take differences between one step and the next: use dtype='int8'"
        )

    def keep(self, run: HistoryRequest) -> HistoryPlan:
        steps = adjoint_steps(run.nt)
        dtype = self.lower(run)
        if dtype is None and self.interval == 1:
            return HistoryPlan(steps)
        at_once = max(run.cached(CACHE_BYTES), PACKED, self.interval)
        return HistoryPlan(min(at_once, steps), dtype=dtype, interval=self.interval)

    def segment(self, nt: int, barred: str = "") -> int:
        return nt
