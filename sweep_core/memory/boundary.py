"""Strategy ``'boundary'``: strips along the PML are kept, from which the interior is run backward in time."""

from ..errors import UnsupportedError
from .options import BoundaryOptions
from .strategy import HistoryPlan, HistoryRequest, Strategy, adjoint_steps

AWAY = "needs torch with impl='c': a program of XLA keeps its strips on its device; use storage='gpu'"
CACHE_BYTES = 2 << 20
"""Cache of a core, in which the history of a chunk may stay."""
SHORTEST = 3
"""Least steps of a chunk: starting a shorter chunk costs more time than its history saves."""


class Boundary(Strategy):
    """Boundary values of the interior at every step, from which the history is recomputed in chunks.

    A chunk has as many steps as stay in the cache, but at least `SHORTEST`. If the gradient needs the waves in the PML,
    compiled code saves their state at regular chunks and recomputes the states of the chunks between at once. It saves
    about sqrt(n) states of n chunks and recomputes as many. Chunks are then long enough for the least memory.
    """

    strips = True

    @property
    def options(self) -> BoundaryOptions:
        """The user's, or those by default."""
        return self.memory.boundary or BoundaryOptions()

    @property
    def dtype(self) -> str | None:
        return self.options.dtype

    @property
    def compiled_refusal(self) -> str:
        storage = self.options.storage
        return "" if storage == "gpu" else f"BoundaryOptions(storage={storage!r}) {AWAY}"

    def refusal_of(self, kind: str, levels: int) -> str:
        if kind == "cpu" or self.options.storage != "disk":
            return ""
        return "a GPU cannot write strips into a file; use BoundaryOptions(storage='cpu')"

    @property
    def traced_refusal(self) -> str:
        return self.compiled_refusal

    @property
    def eager_refusal(self) -> str:
        return "MemoryOptions(strategy='boundary') needs impl='c', which runs backward in time; use strategy='ckpt'"

    def keep(self, run: HistoryRequest) -> HistoryPlan:
        steps = adjoint_steps(run.nt)
        # The state of the PML takes about half as much again as the history of a step, h: chunks of n steps take
        # n h + 2 (steps / n)^(1/2) 1.5 h, which is least where n^3 is 1.5^2 steps.
        least = round((1.5**2 * steps) ** (1 / 3)) if run.in_pml else SHORTEST
        chunk = min(max(run.cached(CACHE_BYTES), least), steps)
        place = self.options.storage, self.options.directory
        return HistoryPlan(chunk, None, *place, strips=True, in_pml=run.in_pml, dtype=self.lower(run))

    def segment(self, nt: int, barred: str = "") -> int:
        raise UnsupportedError(self.eager_refusal)
