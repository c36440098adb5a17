"""The wave equations that SWEEP brings along: one file each."""

from .acoustic import Acoustic
from .acoustic_variable_density import AcousticVariableDensity
from .elastic import Elastic
from .elastic_orthorhombic import ElasticOrthorhombic
from .elastic_vti import ElasticVTI

BROUGHT = (Acoustic, AcousticVariableDensity, Elastic, ElasticOrthorhombic, ElasticVTI)

__all__ = ["Acoustic", "AcousticVariableDensity", "Elastic", "ElasticOrthorhombic", "ElasticVTI"]
