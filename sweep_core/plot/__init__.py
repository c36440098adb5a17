"""Figures; matplotlib is imported with the first one."""

from .figures import plot_epoch, plot_gather, plot_loss, plot_wavelet

__all__ = ["plot_epoch", "plot_gather", "plot_loss", "plot_wavelet"]
