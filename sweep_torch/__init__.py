"""SWEEP on PyTorch. torch itself is imported with the first use of a name."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .executor import TorchExecutor
    from .memory import empty_pool
    from .prop import PropTorch

__all__ = ["PropTorch", "TorchExecutor", "empty_pool"]


def __getattr__(name):
    if name == "PropTorch":
        from .prop import PropTorch

        return PropTorch
    if name == "TorchExecutor":
        from .executor import TorchExecutor

        return TorchExecutor
    if name == "empty_pool":
        from .memory import empty_pool

        return empty_pool
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
