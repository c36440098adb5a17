"""The wave equations that SWEEP brings along: one file each."""

from .acoustic import Acoustic
from .acoustic_born import AcousticBorn
from .acoustic_tti import AcousticTTI
from .acoustic_variable_density import AcousticVariableDensity
from .acoustic_vti import AcousticVTI
from .elastic import Elastic
from .viscoacoustic import ViscoAcoustic
from .viscoelastic import ViscoElastic

BROUGHT = (
    Acoustic,
    AcousticBorn,
    AcousticTTI,
    AcousticVTI,
    AcousticVariableDensity,
    Elastic,
    ViscoAcoustic,
    ViscoElastic,
)

__all__ = [
    "Acoustic",
    "AcousticBorn",
    "AcousticTTI",
    "AcousticVTI",
    "AcousticVariableDensity",
    "Elastic",
    "ViscoAcoustic",
    "ViscoElastic",
]
