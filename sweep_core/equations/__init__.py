"""The wave equations that SWEEP brings along: one file each."""

from .acoustic import Acoustic
from .acoustic_tti import AcousticTTI
from .acoustic_variable_density import AcousticVariableDensity
from .acoustic_vti import AcousticVTI
from .elastic import Elastic

BROUGHT = (Acoustic, AcousticVariableDensity, AcousticVTI, AcousticTTI, Elastic)

__all__ = ["Acoustic", "AcousticTTI", "AcousticVTI", "AcousticVariableDensity", "Elastic"]
