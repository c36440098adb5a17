"""Shots in batches: their records, and sums of their misfits and gradients."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._util.arrays import numpy_of
from ..acquisition.shots import Shots
from ..errors import DataError, NotFiniteError, SweepError

AfterShots = Callable[[Any, Any], None] | None
"""A function of the shots of a batch and their misfit, which is called after each batch."""

FAILURES = DataError, NotFiniteError
"""Errors of single shots: their data cannot be read, or their record is not finite."""


def is_finite(misfit: float, gradients: Sequence[np.ndarray]) -> bool:
    """Return True if the misfit and all gradients are finite."""
    return bool(np.isfinite(misfit)) and all(np.isfinite(part).all() for part in gradients)


def batches(indices: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Yield the shots in batches of `size`."""
    return (indices[first : first + size] for first in range(0, len(indices), size))


def modelled(executor, problem, shots: Shots, models, indices: np.ndarray, size: int) -> list[np.ndarray]:
    """Return the records of some shots, in batches of `size`. An executor with a group of its own gets all at once."""
    size = max(len(indices), 1) if hasattr(executor, "group") else size
    return [numpy_of(executor.forward(problem, shots.take(some), models)) for some in batches(indices, size)]


def nan_for_failures(
    pull: Callable[[np.ndarray], tuple[Any, list]], models: Sequence[np.ndarray], errors: list[SweepError]
) -> Callable[[np.ndarray], tuple[Any, list]]:
    """Return a function like ``pull(shots)`` that returns a misfit of NaN for shots that fail, and adds to `errors`.

    The sum over ranks is then NaN on every rank, so that all ranks learn of the failure without another message.
    """

    def guarded(some: np.ndarray) -> tuple[Any, list]:
        try:
            return pull(some)
        except FAILURES as error:
            errors.append(error)
            return np.nan, [np.zeros(model.shape) for model in models]

    return guarded


def sum_batches(
    pull: Callable[[np.ndarray], tuple[Any, list]], indices: np.ndarray, size: int, sums: list[np.ndarray],
    after: AfterShots,
) -> float:  # fmt: skip
    """Return the misfit of some shots, in batches of `size`, and add their gradients to `sums`.

    ``pull(shots)`` returns misfit and gradients of a batch. ``after(shots, misfit)`` is called after each batch.
    """
    misfit = 0.0
    for some in batches(indices, size):
        value, slopes = pull(some)
        misfit += float(value)
        if after:
            after(some, value)
        for total, slope in zip(sums, slopes, strict=True):
            total += numpy_of(slope)
    return misfit
