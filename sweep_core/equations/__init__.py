"""The wave equations that SWEEP brings along: one file each."""

from .acoustic import Acoustic
from .acoustic_born import AcousticBorn
from .acoustic_tti import AcousticTTI
from .acoustic_variable_density import AcousticVariableDensity
from .acoustic_vti import AcousticVTI
from .acoustic_vti_second_order import AcousticVTISecondOrder
from .elastic import Elastic
from .elastic_orthorhombic import ElasticOrthorhombic
from .elastic_parameters import ElasticImpedance, ElasticLame, ElasticLogarithm
from .elastic_tti import ElasticTTI
from .elastic_vti import ElasticVTI
from .sh import SH
from .viscoacoustic import ViscoAcoustic
from .viscoelastic import ViscoElastic
from .viscoelastic_vti import ViscoElasticVTI

BROUGHT = (
    Acoustic,
    AcousticBorn,
    AcousticTTI,
    AcousticVTI,
    AcousticVTISecondOrder,
    AcousticVariableDensity,
    Elastic,
    ElasticOrthorhombic,
    ElasticTTI,
    ElasticVTI,
    SH,
    ViscoAcoustic,
    ViscoElastic,
    ViscoElasticVTI,
)
"""Registered equations. `Elastic` in other parameters shares its name and its compiled code."""

__all__ = [
    "SH",
    "Acoustic",
    "AcousticBorn",
    "AcousticTTI",
    "AcousticVTI",
    "AcousticVTISecondOrder",
    "AcousticVariableDensity",
    "Elastic",
    "ElasticImpedance",
    "ElasticLame",
    "ElasticLogarithm",
    "ElasticOrthorhombic",
    "ElasticTTI",
    "ElasticVTI",
    "ViscoAcoustic",
    "ViscoElastic",
    "ViscoElasticVTI",
]
