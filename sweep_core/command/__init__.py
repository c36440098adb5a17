"""The command ``seismic-sweep``; ``python -m sweep_core.command`` is the same."""

from .main import main

__all__ = ["main"]
