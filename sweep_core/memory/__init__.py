"""How a gradient remembers the forward run: what a user may choose, one file per strategy, and what memory is left."""

from .auto import Auto
from .ckpt import Ckpt
from .full import Full
from .options import BoundaryOptions, CkptOptions, MemoryOptions
from .strategy import Run, Strategy

__all__ = ["BoundaryOptions", "CkptOptions", "MemoryOptions", "Run", "Strategy", "chosen"]

STRATEGIES: dict[str, type[Strategy]] = {"auto": Auto, "full": Full, "ckpt": Ckpt}


def chosen(memory: MemoryOptions) -> Strategy:
    """The strategy that the options name."""
    return STRATEGIES[memory.strategy](memory)
