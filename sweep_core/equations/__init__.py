"""The wave equations that SWEEP brings along: one file each."""

from .acoustic import Acoustic
from .acoustic_variable_density import AcousticVariableDensity
from .elastic import Elastic
from .elastic_orthorhombic import ElasticOrthorhombic
from .elastic_parameters import ElasticImpedance, ElasticLame, ElasticLogarithm
from .elastic_tti import ElasticTTI
from .elastic_vti import ElasticVTI
from .sh import SH

BROUGHT = (Acoustic, AcousticVariableDensity, Elastic, ElasticOrthorhombic, ElasticTTI, ElasticVTI, SH)
"""Registered equations; those in other parameters share the name and the compiled code of `Elastic`."""

__all__ = [
    "SH",
    "Acoustic",
    "AcousticVariableDensity",
    "Elastic",
    "ElasticImpedance",
    "ElasticLame",
    "ElasticLogarithm",
    "ElasticOrthorhombic",
    "ElasticTTI",
    "ElasticVTI",
]
