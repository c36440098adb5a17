"""Colour maps that are perceptually uniform and safe for the colour-blind, their limits and their bars."""

from typing import Any

import numpy as np

from ..errors import DomainError

SEQUENTIAL = "viridis"
SIGNED = "RdBu_r"
GREY = "gray_r"
OBSERVED, MODELLED = "black", "#d55e00"
LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Colours of lines (Okabe and Ito 2008)."""


def largest(values: np.ndarray, percentile: float) -> float:
    """Return a percentile of the finite magnitudes; the largest one if that is zero, and 1 if all are zero."""
    if not isinstance(percentile, int | float | np.integer | np.floating) or not 0 < percentile <= 100:
        raise DomainError(f"percentile is {percentile!r}; expected more than 0 and up to 100, which clips nothing")
    finite = np.abs(values[np.isfinite(values)])
    if not finite.any():
        return 1.0
    return float(np.percentile(finite, percentile)) or float(finite.max())


def limits(values: np.ndarray) -> tuple[float, float]:
    """Return the range of a model's colours: all but half a percent of the values at each end, and never empty."""
    finite = values[np.isfinite(values)]
    low, high = np.percentile(finite, (0.5, 99.5)) if finite.size else (0.0, 1.0)
    return (float(low), float(high)) if high > low else (float(low) - 1.0, float(low) + 1.0)


def inner(free: np.ndarray) -> np.ndarray:
    """Return the free cells without the outermost ones, whose gradient includes the PML and would hide the rest."""
    inside = np.zeros_like(free)
    inside[tuple(slice(1, -1) for _ in free.shape)] = True
    return free & inside if (free & inside).any() else free


def add_colour_bar(figure: Any, image: Any, axes: Any, label: str, values: np.ndarray) -> None:
    """Add a colour bar to the right of one or several axes. It is pointed at an end that the values exceed."""
    low, high = image.get_clim()
    below, above = bool((values < low).any()), bool((values > high).any())
    extend = {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[below, above]
    figure.colorbar(image, ax=axes, label=label, extend=extend, extendfrac=0.03, pad=0.02, aspect=25)
