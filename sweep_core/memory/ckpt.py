"""Strategy ``'ckpt'``: states are saved on the way, and the history is recomputed from them, chunk after chunk."""

from math import sqrt

from ..errors import UnsupportedError
from .options import CkptOptions
from .strategy import Run, Strategy, adjoint_steps


class Ckpt(Strategy):
    """Equal chunks: as many as :class:`CkptOptions` says, or about the square root of the steps."""

    def chunk(self, run: Run) -> int:
        return self._length(run.nt)

    def segment(self, nt: int, barred: str = "") -> int:
        length = self._length(nt)
        if barred and length < nt:
            raise UnsupportedError(f"{barred} cannot recompute (strategy 'ckpt') with impl='eager'; use 'full' or 'c'")
        return length

    def _length(self, nt: int) -> int:
        steps, options = adjoint_steps(nt), self.memory.ckpt or CkptOptions()
        chunks = min(options.chunks or round(sqrt(steps)), steps)
        return -(-steps // chunks)
