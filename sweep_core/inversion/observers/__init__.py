"""Observers of an inversion: the calls to them, and the observers of this library."""

from .figures import DataFigures, EpochFigures
from .files import HistoryFile, ModelFiles, epochs_of
from .telling import Observers, StopInversion

__all__ = ["DataFigures", "EpochFigures", "HistoryFile", "ModelFiles", "Observers", "StopInversion", "epochs_of"]
