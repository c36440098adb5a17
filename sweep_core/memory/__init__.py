"""How a gradient remembers the forward run: what a user may choose, one file per strategy, and what memory is left."""

from .auto import Auto
from .boundary import Boundary
from .ckpt import Ckpt
from .estimate import PURPOSES, Cost, Estimate, Taken
from .full import Full
from .options import BoundaryOptions, CkptOptions, MemoryOptions
from .schedule import NONE, Schedule, Tape
from .strategy import NOTHING, Kept, Run, Strategy

__all__ = [
    "NONE",
    "NOTHING",
    "PURPOSES",
    "BoundaryOptions",
    "CkptOptions",
    "Cost",
    "Estimate",
    "Kept",
    "MemoryOptions",
    "Run",
    "Schedule",
    "Strategy",
    "Taken",
    "Tape",
    "chosen",
]

STRATEGIES: dict[str, type[Strategy]] = {"auto": Auto, "full": Full, "ckpt": Ckpt, "boundary": Boundary}


def chosen(memory: MemoryOptions) -> Strategy:
    """The strategy that the options name."""
    return STRATEGIES[memory.strategy](memory)
