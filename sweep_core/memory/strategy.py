"""What a memory strategy answers, and what it is told of a run."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import attrs

from .options import MemoryOptions
from .revolve import fewest_advances
from .schedule import Schedule


@attrs.frozen
class HistoryRequest:
    """A compiled run that is to leave a history.

    Parameters
    ----------
    nt, shots : int
        Time steps and shots.
    history : callable
        Bytes of a history of all steps of all shots.
    left : callable
        Bytes that are left where the history is kept; None where nothing tells. Like `history` it is called only by a
        strategy to which it matters.
    on_cpu : bool
        Whether a CPU computes, in whose cache the history of a few steps may stay.
    traced : bool
        Whether the answer holds for calls to come, each of which gets fresh memory: it goes into a program of XLA.
    together : bool
        Whether histories of several calls may live together, as under torch.func.
    state : callable
        Bytes of a wave state of all shots.
    taken : callable
        Bytes that a gradient takes on the device where a :class:`HistoryPlan` is kept.
    slices : bool
        Whether the run can be made in slices.
    in_pml : bool
        Whether the gradient needs the waves in the PML.
    dtype : str
        Of the models.
    """

    nt: int
    shots: int
    history: Callable[[], int]
    left: Callable[[], int | None]
    on_cpu: bool = True
    traced: bool = False
    together: bool = False
    state: Callable[[], int] = lambda: 0
    taken: Callable[["HistoryPlan"], int] = lambda kept: 0
    slices: bool = True
    in_pml: bool = True
    dtype: str = "float32"

    def cached(self, bytes_: int) -> int:
        """Steps whose history takes so many bytes; 0 where that of one takes more."""
        return bytes_ // max(self.history() // self.shots // adjoint_steps(self.nt), 1)


@attrs.frozen
class HistoryPlan:
    """What a compiled run keeps for its adjoint.

    Parameters
    ----------
    chunk : int
        Steps of history that are held at once, as in the C ABI; nt - 1 or more keep all of them, 0 keeps nothing.
    states : int, optional
        Where stated, the run is made in slices of `chunk` steps, and so many states are held at once by those who
        call; otherwise compiled code makes it in one call, and saves a state before each chunk itself.
    storage, directory : str
        Where those states are, or else the history; see :class:`CkptOptions`.
    strips : bool
        Whether the history of a chunk is made of boundary strips.
    in_pml : bool
        With strips, whether the waves in the PML are made again, too.
    dtype : str, optional
        The precision of the history, in which all steps of it are kept, where it is less than that of the run.
    interval : int
        Every so many steps of it are kept.
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
        """What lies at `storage`: the ``'history'``, or the ``'states'`` of a run in slices."""
        return "history" if self.strips else "states"

    @property
    def packed(self) -> bool:
        """Whether all steps are kept in another way than they are made."""
        return self.dtype is not None or self.interval > 1

    @property
    def sliced(self) -> bool:
        """Whether the run is made in slices."""
        return self.states is not None

    def time(self, nt: int) -> float:
        """That of a gradient, relative to one whose history is kept, of which the adjoint is two thirds.

        With strips, what is in the PML is made twice more, which counts as if all cells were: most work is there.
        """
        forward = 1.0 if (self.chunk >= adjoint_steps(nt) or self.packed) and not self.strips else 2.0 + self.in_pml
        if self.sliced:
            segments = self.schedule(nt).segments
            forward = 1 + fewest_advances(segments, (self.states or 0) + 1) / segments
        return (forward + 2) / 3

    def schedule(self, nt: int) -> Schedule:
        """In which order the slices are made."""
        return Schedule(nt, self.chunk, self.states or 0)


NO_HISTORY = HistoryPlan(0)
"""Of a run without a gradient."""


def adjoint_steps(nt: int) -> int:
    """Steps whose history an adjoint reads: all but the last one."""
    return max(nt - 1, 1)


@attrs.frozen
class Strategy(ABC):
    """Which steps of a forward run are kept for its gradient."""

    memory: MemoryOptions
    strips: ClassVar[bool] = False
    """Whether a compiled run keeps boundary strips instead of its history."""

    @property
    def dtype(self) -> str | None:
        """The precision of what is kept of each step; None: that of the models."""
        return None

    def lower(self, run: HistoryRequest) -> str | None:
        """That precision where it is less than the run's."""
        return None if self.dtype == run.dtype else self.dtype

    @property
    def interval(self) -> int:
        """Every so many steps are kept."""
        return 1

    @property
    def compiled_refusal(self) -> str:
        """Why it cannot be done in one call of compiled code; empty where it can."""
        return ""

    def refusal_of(self, kind: str, levels: int) -> str:
        """Why compiled code, ``'cpu'`` or ``'cuda'``, cannot keep it of an equation with so many levels in time."""
        return ""

    @property
    def traced_refusal(self) -> str:
        """Why it cannot be done by calls of compiled code in a program of XLA; empty where it can."""
        return ""

    @property
    def eager_refusal(self) -> str:
        """Why it cannot be done by eager operations; empty where it can."""
        return ""

    @abstractmethod
    def keep(self, run: HistoryRequest) -> HistoryPlan:
        """What a compiled run keeps."""

    @abstractmethod
    def segment(self, nt: int, barred: str = "") -> int:
        """Steps between the states that an eager run keeps, to recompute what is between; nt - 1 or more keep all.

        `barred` names what makes it impossible to recompute, if anything does.

        Raises
        ------
        UnsupportedError
            Where that is what the strategy stands for.
        """
