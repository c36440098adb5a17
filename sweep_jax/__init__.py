"""SWEEP on JAX. JAX itself is imported with the first use of a name."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .executor import JaxExecutor
    from .optimiser import Optax
    from .parallel_solver import ParallelJax, parallel
    from .prop import PropJax

__all__ = ["JaxExecutor", "Optax", "ParallelJax", "PropJax", "parallel"]
_HOMES = {
    "JaxExecutor": "executor",
    "Optax": "optimiser",
    "ParallelJax": "parallel_solver",
    "PropJax": "prop",
    "parallel": "parallel_solver",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
