"""Strategy ``'full'``: every step is kept, or every so many, in the precision that is asked for."""

from .auto import CACHE_BYTES
from .strategy import HistoryPlan, HistoryRequest, Strategy, adjoint_steps

PACKED = 4
"""Steps that are packed at once at least."""


class Full(Strategy):
    """Keeps the history of all steps. In less precision, or of every so many, it is packed: of as many steps at once as
    stay in the cache.
    """

    @property
    def dtype(self) -> str | None:
        return self.memory.dtype

    @property
    def interval(self) -> int:
        return self.memory.interval

    @property
    def eager_refusal(self) -> str:
        lossy = self.memory.lossy
        return f"MemoryOptions({lossy}) needs impl='c', which keeps a history of its own; leave it out" if lossy else ""

    def refusal_of(self, kind: str, levels: int) -> str:
        if self.interval == 1 or levels == 2:
            return ""
        return (
            f"MemoryOptions(interval={self.interval}) is for equations of second order in time; the images of this one "
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
