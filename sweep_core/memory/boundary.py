"""Strategy ``'boundary'``: strips along the PML are kept, from which the interior is run backward in time."""

from math import isqrt

from ..errors import UnsupportedError
from .auto import CACHE_BYTES
from .options import BoundaryOptions
from .strategy import Kept, Run, Strategy, adjoint_steps

AWAY = "is for torch with impl='c' alone: a program of XLA keeps its strips on its device; use storage='gpu'"
SHORTEST = 8
"""Steps of a chunk; of fewer, to begin one costs more than the history of the steps takes."""


class Boundary(Strategy):
    """Keeps boundary values of the interior at every step; the history of some steps at once is made of them.

    So many as stay in the cache, but no fewer than take about as much as what is saved of the PML before each chunk, or
    than `SHORTEST` where nothing is.
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

    def keep(self, run: Run) -> Kept:
        steps = adjoint_steps(run.nt)
        # The state of the PML is about half as large again as the history of a step.
        least = isqrt(3 * steps // 2) if run.in_pml else SHORTEST
        chunk = min(max(run.cached(CACHE_BYTES), least), steps)
        options = self.options
        return Kept(chunk, storage=options.storage, directory=options.directory, strips=True, dtype=self.lower(run))

    def segment(self, nt: int, barred: str = "") -> int:
        raise UnsupportedError(self.eager_refusal)
