"""SWEEP on PyTorch. torch itself is imported with the first use of a name."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .executor import TorchExecutor
    from .prop import PropTorch

__all__ = ["PropTorch", "TorchExecutor"]


def __getattr__(name):
    if name == "PropTorch":
        from .prop import PropTorch

        return PropTorch
    if name == "TorchExecutor":
        from .executor import TorchExecutor

        return TorchExecutor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
