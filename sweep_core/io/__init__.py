"""Earth models on disk and out of a generator. Readers of foreign formats load their library when called."""

from .prepared import PreparedModel, downsample, find_water, read_prepared, smooth, write_prepared
from .synthetic import faulted_model

__all__ = [
    "PreparedModel",
    "downsample",
    "faulted_model",
    "find_water",
    "read_prepared",
    "smooth",
    "write_prepared",
]
