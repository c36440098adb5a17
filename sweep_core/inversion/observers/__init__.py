"""Observers of an inversion: how they are told, and those that ship with the library."""

from .figures import DataFigures, EpochFigures
from .files import HistoryFile, ModelFiles, epochs_of
from .telling import Observers, StopInversion

__all__ = ["DataFigures", "EpochFigures", "HistoryFile", "ModelFiles", "Observers", "StopInversion", "epochs_of"]
