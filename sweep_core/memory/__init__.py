"""How a gradient remembers the forward run: what a user may choose, one file per strategy, and what memory is left."""

from .auto import Auto
from .ckpt import Ckpt
from .full import Full
from .options import BoundaryOptions, CkptOptions, MemoryOptions
from .schedule import NONE, Schedule, Tape
from .strategy import NOTHING, Kept, Run, Strategy

__all__ = [
    "NONE",
    "NOTHING",
    "BoundaryOptions",
    "CkptOptions",
    "Kept",
    "MemoryOptions",
    "Run",
    "Schedule",
    "Strategy",
    "Tape",
    "chosen",
]

STRATEGIES: dict[str, type[Strategy]] = {"auto": Auto, "full": Full, "ckpt": Ckpt}


def chosen(memory: MemoryOptions) -> Strategy:
    """The strategy that the options name."""
    return STRATEGIES[memory.strategy](memory)
