"""The command ``seismic-sweep``; ``python -m sweep_core.cli`` is the same."""

from .main import main

__all__ = ["main"]
