"""Figures and films, drawn without a screen. `plot_*` return figures; matplotlib is imported on first use."""

from .canvas import save
from .comparison import plot_comparison
from .components import field_label
from .curves import plot_loss, plot_wavelet
from .epoch import plot_epoch, plot_parameters
from .field_data import plot_geometry, plot_traces
from .gathers import plot_gather
from .models import plot_image, plot_model
from .process import FigureProcess
from .profile import plot_profile, plot_scaling
from .shot import plot_shot
from .waves import movie, plot_snapshots

__all__ = [
    "FigureProcess",
    "field_label",
    "movie",
    "plot_comparison",
    "plot_epoch",
    "plot_gather",
    "plot_geometry",
    "plot_image",
    "plot_loss",
    "plot_model",
    "plot_parameters",
    "plot_profile",
    "plot_scaling",
    "plot_shot",
    "plot_snapshots",
    "plot_traces",
    "plot_wavelet",
    "save",
]
