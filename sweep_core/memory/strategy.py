"""Memory strategies: the description of a run, and the plan of its history."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import attrs

from .options import MemoryOptions
from .revolve import fewest_advances
from .schedule import Schedule


@attrs.frozen
class HistoryRequest:
    """The facts about a compiled run from which a strategy plans its history.

    Parameters
    ----------
    nt, shots : int
        Time steps and shots.
    history : callable
        Bytes of a history of all steps of all shots.
    left : callable
        Bytes left in the place of the history; None if unknown. A strategy calls it and `history` only if it needs
        them.
    on_cpu : bool
        True if a CPU computes, whose cache may hold the history of a few steps.
    traced : bool
        True if later calls of a program of XLA reuse the plan, each with fresh memory.
    histories_coexist : bool
        True if histories of several calls may live at the same time, as under torch.func.
    state : callable
        Bytes of a wave state of all shots.
    bytes_of : callable
        Bytes of a gradient on the device, by its :class:`HistoryPlan`.
    slices : bool
        True if the run can be computed in slices.
    in_pml : bool
        True if the gradient needs the waves in the PML.
    dtype : str
        Dtype of the models.
    """

    nt: int
    shots: int
    history: Callable[[], int]
    left: Callable[[], int | None]
    on_cpu: bool = True
    traced: bool = False
    histories_coexist: bool = False
    state: Callable[[], int] = lambda: 0
    bytes_of: Callable[["HistoryPlan"], int] = lambda plan: 0
    slices: bool = True
    in_pml: bool = True
    dtype: str = "float32"

    def cached(self, bytes_: int) -> int:
        """Return the number of steps whose history takes at most `bytes_`."""
        return bytes_ // max(self.history() // self.shots // adjoint_steps(self.nt), 1)


@attrs.frozen
class HistoryPlan:
    """The history and the states that a compiled run keeps for its adjoint.

    Parameters
    ----------
    chunk : int
        Steps of the history in memory at one time, as in the C ABI: nt - 1 or more keep all steps, 0 keeps none.
    states : int, optional
        With a number, the caller computes the run in slices of `chunk` steps and holds at most so many states. Without
        one, compiled code computes the run in one call and saves a state before each chunk.
    storage, directory : str
        Place of the states, or of the history of strips; see :class:`CkptOptions`.
    strips : bool
        True if the history of a chunk is recomputed from boundary strips.
    in_pml : bool
        True if, with strips, the waves in the PML are recomputed too.
    dtype : str, optional
        Precision of the history if it is lower than that of the run.
    interval : int
        Every `interval`-th step of the history is kept.
    """

    chunk: int
    states: int | None = None
    storage: str = "gpu"
    directory: str | None = None
    strips: bool = False
    in_pml: bool = False
    dtype: str | None = None
    interval: int = 1

    @property
    def placed(self) -> str:
        """The content of `storage`: the ``'history'``, or the ``'states'`` of a run in slices."""
        return "history" if self.strips else "states"

    @property
    def packed(self) -> bool:
        """True if the history has another precision or fewer steps than the run."""
        return self.dtype is not None or self.interval > 1

    @property
    def sliced(self) -> bool:
        """True if the run is computed in slices."""
        return self.states is not None

    def time(self, nt: int) -> float:
        """Return the time of a gradient over that of a gradient with a full history, whose adjoint takes two thirds.

        With strips, the waves in the PML are computed twice more. This counts as a whole run, since most work is there.
        """
        forward = 1.0 if (self.chunk >= adjoint_steps(nt) or self.packed) and not self.strips else 2.0 + self.in_pml
        if self.sliced:
            segments = self.schedule(nt).segments
            forward = 1 + fewest_advances(segments, (self.states or 0) + 1) / segments
        return (forward + 2) / 3

    def schedule(self, nt: int) -> Schedule:
        """Return the order of the slices."""
        return Schedule(nt, self.chunk, self.states or 0)


NO_HISTORY = HistoryPlan(0)
"""The plan of a run without a gradient."""


def adjoint_steps(nt: int) -> int:
    """Return the number of steps whose history an adjoint reads: all but the last step."""
    return max(nt - 1, 1)


@attrs.frozen
class Strategy(ABC):
    """The choice of the steps that a forward run keeps for its gradient."""

    memory: MemoryOptions
    strips: ClassVar[bool] = False
    """True if a compiled run keeps boundary strips instead of its history."""

    @property
    def dtype(self) -> str | None:
        """The precision of the history; None for that of the models."""
        return None

    def lower(self, run: HistoryRequest) -> str | None:
        """Return the precision of the history if it is lower than that of the run."""
        return None if self.dtype == run.dtype else self.dtype

    @property
    def interval(self) -> int:
        """The interval between kept steps."""
        return 1

    @property
    def compiled_refusal(self) -> str:
        """The reason why one call of compiled code cannot follow the strategy; empty if it can."""
        return ""

    def refusal_of(self, kind: str, levels: int) -> str:
        """Return the reason why compiled code of a `kind` cannot follow it with these time levels, or ''."""
        return ""

    @property
    def traced_refusal(self) -> str:
        """The reason why compiled code in a program of XLA cannot follow the strategy; empty if it can."""
        return ""

    @property
    def eager_refusal(self) -> str:
        """The reason why eager operations cannot follow the strategy; empty if they can."""
        return ""

    @abstractmethod
    def keep(self, run: HistoryRequest) -> HistoryPlan:
        """Return the plan of the history of a compiled run."""

    @abstractmethod
    def segment(self, nt: int, barred: str = "") -> int:
        """Return the steps between the states that an eager run keeps; nt - 1 or more keep all steps.

        `barred` is the reason why recomputing is impossible, or empty.

        Raises
        ------
        UnsupportedError
            If recomputing is impossible and the strategy is to recompute.
        """
