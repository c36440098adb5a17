"""The wave equations that SWEEP brings along: one file each."""

from .acoustic import Acoustic
from .acoustic_variable_density import AcousticVariableDensity
from .elastic import Elastic
from .viscoacoustic import ViscoAcoustic
from .viscoelastic import ViscoElastic

BROUGHT = (Acoustic, AcousticVariableDensity, Elastic, ViscoAcoustic, ViscoElastic)

__all__ = ["Acoustic", "AcousticVariableDensity", "Elastic", "ViscoAcoustic", "ViscoElastic"]
