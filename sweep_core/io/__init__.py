"""Files of models and gathers, and a generator of models. Foreign formats import their library on use."""

from .arrays import read_array
from .elastic import ElasticModel, elastic_from_vp, read_elastic
from .gathers import Gathers
from .gathers_file import read_gathers, write_gathers
from .line import Line, Misfit, fit_line
from .observed_store import ObservedStore
from .prepared import PreparedModel, downsample, find_water, read_prepared, smooth, write_prepared
from .replacing import part_of, replacing, storing
from .segy import SegyFile, open_segy, read_segy, write_segy, write_segy_section
from .store_gathers import store_gathers
from .synthetic import faulted_model

__all__ = [
    "ElasticModel",
    "Gathers",
    "Line",
    "Misfit",
    "ObservedStore",
    "PreparedModel",
    "SegyFile",
    "downsample",
    "elastic_from_vp",
    "faulted_model",
    "find_water",
    "fit_line",
    "open_segy",
    "part_of",
    "read_array",
    "read_elastic",
    "read_gathers",
    "read_prepared",
    "read_segy",
    "replacing",
    "smooth",
    "store_gathers",
    "storing",
    "write_gathers",
    "write_prepared",
    "write_segy",
    "write_segy_section",
]
