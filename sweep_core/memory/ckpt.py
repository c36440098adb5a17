"""Strategy ``'ckpt'``: states are saved on the way, and the history is recomputed from them."""

from math import ceil, log2, sqrt

from ..errors import UnsupportedError
from .options import CkptOptions
from .strategy import HistoryPlan, HistoryRequest, Strategy, adjoint_steps

SEGMENT = 16
"""Least steps of a segment of the recursive schedule.

Each segment is a call, which prepares about as much data as a step reads. Shorter segments save little memory, since
the adjoint holds a few states and images anyway.
"""


class Ckpt(Strategy):
    """Recomputation of equal chunks, or of segments in the binomial schedule.

    The number of chunks is that of :class:`CkptOptions`, or about the square root of the steps. The history of a
    segment takes as much memory as a state, but a segment has at least SEGMENT steps.
    """

    @property
    def options(self) -> CkptOptions:
        """The options of the user, or the default ones."""
        return self.memory.ckpt or CkptOptions()

    @property
    def compiled_refusal(self) -> str:
        options, plain = self.options, CkptOptions()
        if (options.mode, options.storage) == (plain.mode, plain.storage):
            return ""
        return (
            f"CkptOptions(mode={options.mode!r}, storage={options.storage!r}) needs impl='c', which runs in slices and "
            f"keeps states between them; use mode={plain.mode!r}, storage={plain.storage!r}"
        )

    @property
    def traced_refusal(self) -> str:
        storage = self.options.storage
        if storage == "gpu":
            return ""
        return (
            f"CkptOptions(storage={storage!r}) needs torch with impl='c': a program of XLA keeps states on its device; "
            "use storage='gpu'"
        )

    @property
    def eager_refusal(self) -> str:
        return self.compiled_refusal

    def keep(self, run: HistoryRequest) -> HistoryPlan:
        options = self.options
        if options.mode == "recursive":
            return recursive(run, options.count or max(round(log2(run.nt)), 1), options.storage, options.directory)
        length = self._length(run.nt)
        if options.storage == "gpu" or length >= adjoint_steps(run.nt):
            return HistoryPlan(length)
        return _sliced(run.nt, length, run.nt, options.storage, options.directory)

    def segment(self, nt: int, barred: str = "") -> int:
        length = self._length(nt)
        if barred and length < nt:
            raise UnsupportedError(
                f"{barred} cannot recompute (strategy 'ckpt') with impl='eager'; use strategy 'full' or impl='c'"
            )
        return length

    def _length(self, nt: int) -> int:
        steps = adjoint_steps(nt)
        chunks = min(self.options.chunks or round(sqrt(steps)), steps)
        return -(-steps // chunks)


def recursive(run: HistoryRequest, count: int, storage: str = "gpu", directory: str | None = None) -> HistoryPlan:
    """Return the plan of the binomial schedule with at most `count` states."""
    step = run.history() / adjoint_steps(run.nt)
    return _sliced(run.nt, max(SEGMENT, ceil(run.state() / max(step, 1))), count, storage, directory)


def _sliced(nt, length, count, storage, directory) -> HistoryPlan:
    """Return the plan of slices of `length` steps, or of one slice if it suffices.

    The state before the last one is needed only once.
    """
    if length >= adjoint_steps(nt):
        return HistoryPlan(adjoint_steps(nt))
    return HistoryPlan(length, min(count, -(-nt // length) - 2), storage, directory)
