"""Earth models on disk and out of a generator. Readers of foreign formats load their library when called."""

from .arrays import read_array
from .elastic import ElasticModel, elastic_from_vp, read_elastic
from .prepared import PreparedModel, downsample, find_water, read_prepared, smooth, write_prepared
from .replacing import part_of, replacing, storing
from .synthetic import faulted_model

__all__ = [
    "ElasticModel",
    "PreparedModel",
    "downsample",
    "elastic_from_vp",
    "faulted_model",
    "find_water",
    "part_of",
    "read_array",
    "read_elastic",
    "read_prepared",
    "replacing",
    "smooth",
    "storing",
    "write_prepared",
]
