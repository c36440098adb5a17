"""Mirroring of cells whose parameters are not admissible together, such as vs above vp."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

HALVINGS = 50
STEP = 1e-5
"""Relative change of a parameter in the finite difference of the limit."""

Models = Sequence[np.ndarray]


class Mirror:
    """Models in which every cell is admissible, from models in which some cells are not.

    A cell moves along the ray from its start c. If c + t u is the limit of admissible values, an outer point c + u
    becomes c + t^2 u. Admissible points stay. A clip to the limit would have no derivative along the ray, so a cell
    that left the admissible region would never return.

    Parameters
    ----------
    fits : callable
        ``fits(*models)`` returns the mask of the admissible cells; see :meth:`sweep_core.Equation.fits`.
    start, models : sequence of array
        Cells of `start` are admissible, and so are all values between them and the limit.
    """

    def __init__(self, fits: Callable[..., Any], start: Models, models: Models):
        self._fits = fits
        self._out = out = ~np.broadcast_to(fits(*models), models[0].shape)
        self._centre = [c[out].astype(np.float64) for c in start]
        self._way = [m[out] - c for m, c in zip(models, self._centre, strict=True)]
        self._models = list(models)

    def models(self) -> list[np.ndarray]:
        """Return the admissible models."""
        if not self._out.any():
            return self._models
        limit = self._limit(self._way, rounded=True)
        inside, edge = (self._at(share, self._way, rounded=True) for share in (limit**2, limit))
        is_admissible = self._fits(*inside)  # rounding at the limit may make it false
        models = [model.copy() for model in self._models]
        for model, near, far in zip(models, inside, edge, strict=True):
            model[self._out] = np.where(is_admissible, near, far)
        return models

    def transposed(self, slopes: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the derivative in the original models from the derivative in the admissible models."""
        if not self._out.any():
            return list(slopes)
        limit, gradients = self._limit(self._way), [slope.copy() for slope in slopes]
        along = sum(way * slope[self._out] for way, slope in zip(self._way, slopes, strict=True))
        for number, slope in enumerate(gradients):
            size = np.abs(self._centre[number]) + np.abs(self._way[number])
            step = STEP * np.where(size > 0, size, 1.0)
            ahead, behind = (
                self._limit([way + side * step * (i == number) for i, way in enumerate(self._way)]) for side in (1, -1)
            )
            slope[self._out] = limit**2 * slope[self._out] + limit * (ahead - behind) / step * along
        return gradients

    def _at(self, share, way, rounded=False):
        """Return cells at a fraction of the way, in the dtypes of the models if `rounded`."""
        parts = zip(self._centre, way, self._models, strict=True)
        return [(c + share * u).astype(model.dtype if rounded else np.float64) for c, u, model in parts]

    def _limit(self, way, rounded=False) -> np.ndarray:
        """Return the largest fraction of the way at which a cell is admissible."""
        low, high = np.zeros(way[0].shape), np.ones(way[0].shape)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            fits = self._fits(*self._at(middle, way, rounded))
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return low
