"""SWEEP on PyTorch. torch itself is imported with the first use of a name."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .executor import TorchExecutor
    from .memory import empty_pool
    from .optimiser import Torch
    from .parallel_solver import ParallelTorch, parallel
    from .prop import PropTorch

__all__ = ["ParallelTorch", "PropTorch", "Torch", "TorchExecutor", "empty_pool", "parallel"]
_HOMES = {
    "ParallelTorch": "parallel_solver",
    "PropTorch": "prop",
    "Torch": "optimiser",
    "TorchExecutor": "executor",
    "empty_pool": "memory",
    "parallel": "parallel_solver",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
