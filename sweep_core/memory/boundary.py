"""Strategy ``'boundary'``: strips along the PML are kept, from which the interior is run backward in time."""

from math import isqrt

from ..errors import UnsupportedError
from .auto import CACHE_BYTES
from .strategy import Kept, Run, Strategy, adjoint_steps


class Boundary(Strategy):
    """Keeps boundary values of the interior at every step; the history of some steps at once is made of them.

    So many as stay in the cache, but no fewer than take about as much as what is saved of the PML before each chunk.
    """

    strips = True

    @property
    def eager_refusal(self) -> str:
        return "MemoryOptions(strategy='boundary') needs impl='c', which runs backward in time; use strategy='ckpt'"

    def keep(self, run: Run) -> Kept:
        steps = adjoint_steps(run.nt)
        cached = CACHE_BYTES // max(run.history() // run.shots // steps, 1)
        # The state of the PML is about half as large again as the history of a step.
        return Kept(min(max(cached, isqrt(3 * steps // 2)), steps), strips=True)

    def segment(self, nt: int, barred: str = "") -> int:
        raise UnsupportedError(self.eager_refusal)
