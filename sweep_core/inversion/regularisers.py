"""Regularisers: functions of one parameter that return a value and its gradient.

A regulariser receives the parameter relative to its mean at the start, and returns a mean over cells. So a weight means
the same on any grid and for any parameter: at a weight of 1, one unit of the value counts as much as the misfit at the
start of a stage.
"""

from typing import Any, Protocol

import attrs
import numpy as np

from .._util import validators
from ..errors import OptionError

_weight = validators.amount("a positive number")


class Regulariser(Protocol):
    """A function of a model that is small for preferred models."""

    weight: float

    def __call__(self, model: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient."""


def _differences(model: np.ndarray) -> np.ndarray:
    """Return the differences (ndim, *shape) from each cell to the next along each axis, zero at the end."""
    return np.stack([np.diff(model, axis=a, append=model.take([-1], axis=a)) for a in range(model.ndim)])


def _transposed(differences: np.ndarray) -> np.ndarray:
    """Return the transpose of `_differences`, applied to differences whose last values along their axis are zero."""
    parts = []
    for axis, part in enumerate(differences):
        before = np.roll(part, 1, axis=axis)
        before[(slice(None),) * axis + (0,)] = 0
        parts.append(before - part)
    return np.sum(parts, axis=0)


@attrs.frozen
class Tikhonov:
    """The regulariser ``0.5 mean |D m|^2``, for smooth models (Tikhonov 1963). D m are differences between neighbours.

    Parameters
    ----------
    weight : float
        Weight relative to the misfit at the start of a stage.

    Raises
    ------
    OptionError
        The weight is not positive.
    """

    weight: float = attrs.field(validator=_weight)

    def __call__(self, model: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient."""
        steps = _differences(model)
        return 0.5 * float((steps**2).sum()) / model.size, _transposed(steps) / model.size


@attrs.frozen
class TotalVariation:
    """The regulariser mean(``sqrt(|D m|^2 + edge^2) - edge``), for layers with sharp edges.

    D m are differences between neighbours (Rudin, Osher and Fatemi 1992).

    Parameters
    ----------
    weight : float
        Weight relative to the misfit at the start of a stage.
    edge : float
        Relative difference of two cells above which a step is an edge. Below it the model is smoothed as by
        :class:`Tikhonov`.

    Raises
    ------
    OptionError
        The weight or the edge is not positive.
    """

    weight: float = attrs.field(validator=_weight)
    edge: float = attrs.field(default=2e-3, validator=_weight)

    def __call__(self, model: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient."""
        steps = _differences(model)
        size = np.sqrt((steps**2).sum(axis=0) + self.edge**2)
        return float((size - self.edge).sum()) / model.size, _transposed(steps / size) / model.size


def penalty(regularisers: Any, models: Any, means: Any) -> tuple[float, list[np.ndarray]]:
    """Return the weighted sum of all regularisers over all parameters, relative to `means`, and its gradients."""
    value, gradients = 0.0, [np.zeros(model.shape) for model in models]
    for regulariser in regularisers:
        for model, mean, gradient in zip(models, means, gradients, strict=True):
            term, slope = regulariser(model.astype(np.float64) / mean)
            value += regulariser.weight * term
            gradient += regulariser.weight / mean * slope
    return value, gradients


def check_regularisers(regularise: Any) -> tuple[Regulariser, ...]:
    """Return one or several regularisers as a tuple, or raise an OptionError."""
    regularisers = tuple(regularise) if isinstance(regularise, list | tuple) else (regularise,)
    for each in regularisers:
        if isinstance(each, type) or not callable(each) or not hasattr(each, "weight"):
            raise OptionError(f"regularise holds {each!r}; expected TotalVariation(weight), Tikhonov(weight), ...")
    return regularisers
