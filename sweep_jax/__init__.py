"""SWEEP on JAX. JAX itself is imported with the first use of a name."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .executor import JaxExecutor
    from .prop import PropJax

__all__ = ["JaxExecutor", "PropJax"]


def __getattr__(name):
    if name == "PropJax":
        from .prop import PropJax

        return PropJax
    if name == "JaxExecutor":
        from .executor import JaxExecutor

        return JaxExecutor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
