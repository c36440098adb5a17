"""The memory of gradients: options, one file per strategy, estimates, and the memory left."""

from .auto import Auto
from .boundary import Boundary
from .ckpt import Ckpt
from .estimate import PURPOSES, Cost, Estimate, MemoryUse
from .full import Full
from .options import BoundaryOptions, CkptOptions, MemoryOptions
from .schedule import NONE, Schedule, Tape
from .strategy import NO_HISTORY, HistoryPlan, HistoryRequest, Strategy

__all__ = [
    "NONE",
    "NO_HISTORY",
    "PURPOSES",
    "BoundaryOptions",
    "CkptOptions",
    "Cost",
    "Estimate",
    "HistoryPlan",
    "HistoryRequest",
    "MemoryOptions",
    "MemoryUse",
    "Schedule",
    "Strategy",
    "Tape",
    "make_strategy",
]

STRATEGIES: dict[str, type[Strategy]] = {"auto": Auto, "full": Full, "ckpt": Ckpt, "boundary": Boundary}


def make_strategy(memory: MemoryOptions) -> Strategy:
    """Return the strategy that the options name.

    Parameters
    ----------
    memory : MemoryOptions
        The options.

    Returns
    -------
    Strategy
        The strategy.
    """
    return STRATEGIES[memory.strategy](memory)
