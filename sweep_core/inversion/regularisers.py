"""Preferred models, where the data do not tell: functions of one parameter that return a value and its gradient.

The parameter comes over its mean at the start, and a value is a mean over cells, so that a weight means the same on any
grid and for any parameter: a weight of 1 is the misfit at the start of a stage for each unit of the value.
"""

from typing import Any, Protocol

import attrs
import numpy as np

from .._util import validators
from ..errors import OptionError

_weight = validators.amount("a positive number")


class Regulariser(Protocol):
    """What prefers some models to others."""

    weight: float

    def __call__(self, model: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""


def _differences(model: np.ndarray) -> np.ndarray:
    """(ndim, *shape) from each cell to the next along each axis, zero at the end."""
    return np.stack([np.diff(model, axis=a, append=model.take([-1], axis=a)) for a in range(model.ndim)])


def _transposed(differences: np.ndarray) -> np.ndarray:
    """The transpose of `_differences`, whose last values along an axis are zero."""
    parts = []
    for axis, part in enumerate(differences):
        before = np.roll(part, 1, axis=axis)
        before[(slice(None),) * axis + (0,)] = 0
        parts.append(before - part)
    return np.sum(parts, axis=0)


@attrs.frozen
class Tikhonov:
    """``0.5 mean |D m|^2``: smooth models (Tikhonov 1963). D m are differences from a cell to the next.

    Parameters
    ----------
    weight : float
        Weight beside the misfit, over that at the start of a stage.

    Raises
    ------
    OptionError
        For a weight that is not positive.
    """

    weight: float = attrs.field(validator=_weight)

    def __call__(self, model: np.ndarray) -> tuple[float, np.ndarray]:
        steps = _differences(model)
        return 0.5 * float((steps**2).sum()) / model.size, _transposed(steps) / model.size


@attrs.frozen
class TotalVariation:
    """mean of ``sqrt(|D m|^2 + edge^2) - edge``: layers with sharp edges (Rudin, Osher and Fatemi 1992).

    Parameters
    ----------
    weight : float
        Weight beside the misfit, over that at the start of a stage.
    edge : float
        Relative difference of two cells above which a step is an edge: below it the model is smoothed as by
        :class:`Tikhonov`.
    """

    weight: float = attrs.field(validator=_weight)
    edge: float = attrs.field(default=2e-3, validator=_weight)

    def __call__(self, model: np.ndarray) -> tuple[float, np.ndarray]:
        steps = _differences(model)
        size = np.sqrt((steps**2).sum(axis=0) + self.edge**2)
        return float((size - self.edge).sum()) / model.size, _transposed(steps / size) / model.size


def penalty(regularisers: Any, models: Any, means: Any) -> tuple[float, list[np.ndarray]]:
    """The weighted sum of all regularisers over all parameters, relative to `means`, and its gradient in each."""
    value, gradients = 0.0, [np.zeros(model.shape) for model in models]
    for regulariser in regularisers:
        for model, mean, gradient in zip(models, means, gradients, strict=True):
            added, slope = regulariser(model.astype(np.float64) / mean)
            value += regulariser.weight * added
            gradient += regulariser.weight / mean * slope
    return value, gradients


def check_regularisers(given: Any) -> tuple[Regulariser, ...]:
    """A tuple of regularisers; OptionError for what is none."""
    found = tuple(given) if isinstance(given, list | tuple) else (given,)
    for each in found:
        if isinstance(each, type) or not callable(each) or not hasattr(each, "weight"):
            raise OptionError(f"regularise holds {each!r}; expected TotalVariation(weight), Tikhonov(weight), ...")
    return found
