"""Cells whose parameters do not fit together, such as vs above vp, brought back to where they do."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

HALVINGS = 50
STEP = 1e-5
"""Change of a parameter, over its size, by which the limit is differentiated."""

Models = Sequence[np.ndarray]


class Mirror:
    """Models in which every cell fits, from models in which some do not.

    On the ray from the start of a cell, a point as many times beyond the limit as t^-1 goes to the part t of the way to
    it: c + u becomes c + t^2 u, where c + t u is the limit. Points inside stay. A clip to the limit would have no
    derivative along the ray, so that a cell that one step carried out would never come back.

    Parameters
    ----------
    fits : callable
        ``fits(*models)`` tells which cells are admissible; see :meth:`sweep_core.Equation.fits`.
    start, models : sequence of array
        Cells of `start` fit, and so does all that lies between them and the limit.
    """

    def __init__(self, fits: Callable[..., Any], start: Models, models: Models):
        self._fits = fits
        self._out = out = ~np.broadcast_to(fits(*models), models[0].shape)
        self._centre = [c[out].astype(np.float64) for c in start]
        self._way = [m[out] - c for m, c in zip(models, self._centre, strict=True)]
        self._models = list(models)

    def models(self) -> list[np.ndarray]:
        """Return the models that fit."""
        if not self._out.any():
            return self._models
        limit = self._limit(self._way, rounded=True)
        inside, edge = (self._at(share, self._way, rounded=True) for share in (limit**2, limit))
        sound = self._fits(*inside)  # but for what rounding does beside the limit
        found = [model.copy() for model in self._models]
        for model, near, far in zip(found, inside, edge, strict=True):
            model[self._out] = np.where(sound, near, far)
        return found

    def transposed(self, slopes: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the derivative in the models that were given, from the one in those that fit."""
        if not self._out.any():
            return list(slopes)
        limit, found = self._limit(self._way), [slope.copy() for slope in slopes]
        along = sum(way * slope[self._out] for way, slope in zip(self._way, slopes, strict=True))
        for number, slope in enumerate(found):
            size = np.abs(self._centre[number]) + np.abs(self._way[number])
            step = STEP * np.where(size > 0, size, 1.0)
            ahead, behind = (
                self._limit([way + side * step * (i == number) for i, way in enumerate(self._way)]) for side in (1, -1)
            )
            slope[self._out] = limit**2 * slope[self._out] + limit * (ahead - behind) / step * along
        return found

    def _at(self, share, way, rounded=False):
        """Return cells at a share of the way, in the dtypes of the models where they are `rounded`."""
        parts = zip(self._centre, way, self._models, strict=True)
        return [(c + share * u).astype(model.dtype if rounded else np.float64) for c, u, model in parts]

    def _limit(self, way, rounded=False) -> np.ndarray:
        """Return the largest share of the way at which a cell fits."""
        low, high = np.zeros(way[0].shape), np.ones(way[0].shape)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            good = self._fits(*self._at(middle, way, rounded))
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        return low
