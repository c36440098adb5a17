"""Elastic clusters for SWEEP: shots are tasks of a Dask scheduler, on workers that come and go."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .distributor import DaskDistributor
    from .executor import DaskExecutor

__all__ = ["DaskDistributor", "DaskExecutor"]


def __getattr__(name: str) -> Any:
    """Return a public name; Dask is imported with the first one, so that listing plugins does not need Dask."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{name.removeprefix('Dask').lower()}", __name__), name)
