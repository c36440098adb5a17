"""What a memory strategy answers, and what it is told of a run."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import attrs

from .options import MemoryOptions


@attrs.frozen
class Run:
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
    """

    nt: int
    shots: int
    history: Callable[[], int]
    left: Callable[[], int | None]
    on_cpu: bool = True
    traced: bool = False
    together: bool = False


def adjoint_steps(nt: int) -> int:
    """Steps whose history an adjoint reads: all but the last one."""
    return max(nt - 1, 1)


@attrs.frozen
class Strategy(ABC):
    """Which steps of a forward run are kept for its gradient."""

    memory: MemoryOptions

    @abstractmethod
    def chunk(self, run: Run) -> int:
        """Steps of history that a compiled run holds at once, as in the C ABI; nt - 1 or more keep all of them."""

    @abstractmethod
    def segment(self, nt: int, barred: str = "") -> int:
        """Steps between the states that an eager run keeps, to recompute what is between; nt - 1 or more keep all.

        `barred` names what makes it impossible to recompute, if anything does.

        Raises
        ------
        UnsupportedError
            Where that is what the strategy stands for.
        """
