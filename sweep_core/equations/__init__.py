"""The wave equations that SWEEP brings along: one file each."""

from .acoustic import Acoustic

__all__ = ["Acoustic"]
