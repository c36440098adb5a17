"""The wave equations that SWEEP brings along: one file each."""

from .acoustic import Acoustic
from .acoustic_variable_density import AcousticVariableDensity
from .elastic import Elastic
from .viscoacoustic import ViscoAcoustic

BROUGHT = (Acoustic, AcousticVariableDensity, Elastic, ViscoAcoustic)

__all__ = ["Acoustic", "AcousticVariableDensity", "Elastic", "ViscoAcoustic"]
