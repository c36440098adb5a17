"""Answers of any executor as NumPy arrays, and the errors between two answers.

A call is any value with a `problem`, `shots` and `models`.
"""

from typing import Any

import numpy as np

from .._util.arrays import numpy_of
from ..errors import UnsupportedError


def forward(executor, call: Any) -> np.ndarray:
    """Return the record."""
    return numpy_of(executor.forward(call.problem, call.shots, call.models))


def born(executor, call: Any, directions) -> np.ndarray:
    """Return the derivative of the record in the directions, one for each model."""
    return numpy_of(executor.born(call.problem, call.shots, call.models, directions))


def misfit_and_gradient(executor, call: Any, observed) -> tuple[float, list[np.ndarray]]:
    """Return half the sum of squares and its gradient; UnsupportedError where the executor has none."""
    if not hasattr(executor, "misfit_and_gradient"):
        raise UnsupportedError(f"{executor.name} computes no gradient")
    misfit, gradient = executor.misfit_and_gradient(call.problem, call.shots, call.models, observed)
    return float(misfit), [numpy_of(g) for g in gradient]


def error(x, expected) -> float:
    """Return the largest difference over the largest expected value.

    If all expected values are zero, return infinity for any difference.
    """
    difference, scale = np.abs(x - expected).max(), np.abs(expected).max()
    if scale == 0:
        return 0.0 if difference == 0 else float("inf")
    return float(difference / scale)


def record_error(x, expected) -> float:
    """Return the error of the worst field of records (nshots, nt, nrec, nfield).

    Stresses are a million times velocities.
    """
    return float(np.max([error(x[..., i], expected[..., i]) for i in range(expected.shape[-1])]))


def unequal(x: float, y: float, terms=(0.0,)) -> float:
    """Return the difference of two sums over the larger one.

    If the sums cancel, divide by the size that random signs of `terms` would give.
    """
    return abs(x - y) / max(abs(x), abs(y), float(np.sqrt(sum(np.vdot(t, t) for t in map(np.ravel, terms)))))


def relative(x: float, expected: float, usual: float) -> float:
    """Return the difference over the expected number, or over one of the usual size; zero if both numbers are zero."""
    return 0.0 if x == expected else abs(x - expected) / max(abs(expected), usual)
