"""Figures and films, written without a screen; matplotlib is imported with the first one."""

from .comparison import plot_comparison
from .field_data import plot_geometry, plot_traces
from .figures import plot_epoch, plot_loss, plot_parameters, plot_wavelet
from .gathers import plot_gather
from .history import plot_history
from .models import plot_model
from .shot import plot_shot
from .waves import movie, plot_snapshots

__all__ = [
    "movie",
    "plot_comparison",
    "plot_epoch",
    "plot_gather",
    "plot_geometry",
    "plot_history",
    "plot_loss",
    "plot_model",
    "plot_parameters",
    "plot_shot",
    "plot_snapshots",
    "plot_traces",
    "plot_wavelet",
]
