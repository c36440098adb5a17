"""Sums over shots that the ranks of a group share, a batch of shots at a time."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from .._util.arrays import numpy_of
from ..distribution import Distributor, ShotPlan, ordered_sum, raise_on_all
from ..errors import SweepError
from .batches import AfterShots, batches, nan_for_failures, sum_batches

Pull = Callable[[np.ndarray], tuple[Any, list[Any]]]
"""A function of some shots that returns their misfit and its gradients."""


@attrs.frozen(eq=False)
class SharedShots:
    """The division of shots among the ranks of a group, and sums over all of them.

    Parameters
    ----------
    group : Distributor
        The ranks.
    costs : (nshots,) array, optional
        Cost of each shot of the survey; equal by default.
    batch : int
        Number of shots that a rank models at once.
    reduction : {'fast', 'ordered'}
        How shots are summed; see :func:`sweep_core.inversion.invert`.
    """

    group: Distributor
    costs: np.ndarray | None
    batch: int
    reduction: str

    def plan(self, indices: np.ndarray) -> ShotPlan:
        """Return the plan of some shots over the ranks."""
        return ShotPlan(len(indices), self.group.size, None if self.costs is None else self.costs[indices])

    def own(self, indices: np.ndarray) -> np.ndarray:
        """Return those of some shots that this rank models."""
        return indices[list(self.plan(indices).part(self.group.rank))]

    def own_batches(self, indices: np.ndarray) -> Iterator[np.ndarray]:
        """Yield those of some shots that this rank models, in batches."""
        return batches(self.own(indices), 1 if self.reduction == "ordered" else self.batch)

    def sum(
        self, pull: Pull, models: Sequence[np.ndarray], indices: np.ndarray, after: AfterShots
    ) -> tuple[float, list[np.ndarray]]:
        """Return the sums of the misfits and the gradients of some shots, on every rank.

        ``after(shots, misfit)`` is called after each batch of this rank. If a shot fails, every rank raises its error.
        """
        errors: list[SweepError] = []
        add = self._ordered_sum if self.reduction == "ordered" else self._fast_sum
        misfit, gradients = add(nan_for_failures(pull, models, errors), models, indices, after)
        if math.isnan(misfit):
            raise_on_all(self.group, errors[0] if errors else None)
        return misfit, gradients

    def _ordered_sum(self, pull, models, indices, after):
        def compute(place):
            shot = indices[place : place + 1]
            value, slopes = pull(shot)
            if after:
                after(shot, value)
            return float(value), [numpy_of(slope) for slope in slopes]

        return ordered_sum(self.group, self.plan(indices), compute, models)

    def _fast_sum(self, pull, models, indices, after):
        gradients = [np.zeros(model.shape) for model in models]
        misfit = sum_batches(pull, self.own(indices), self.batch, gradients, after)
        if self.group.size > 1:
            packed = numpy_of(self.group.all_reduce(np.concatenate([[misfit], *(g.ravel() for g in gradients)])))
            parts = np.split(packed[1:], np.cumsum([g.size for g in gradients])[:-1])
            misfit, gradients = packed[0], [part.reshape(g.shape) for part, g in zip(parts, gradients, strict=True)]
        return float(misfit), gradients
