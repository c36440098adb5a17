"""What an executor answers on a part of a call, in NumPy arrays."""

import numpy as np

from .._util.arrays import numpy_of
from ..errors import UnsupportedError
from .taken import Part


def forward(executor, part: Part) -> np.ndarray:
    return np.asarray(numpy_of(executor.forward(part.problem, part.shots, part.models)))


def born(executor, part: Part, directions) -> np.ndarray:
    return numpy_of(executor.born(part.problem, part.shots, part.models, directions)).astype(np.float64)


def pulled(executor, part: Part, cotangent) -> list[np.ndarray]:
    """The gradient in each model of a misfit whose derivative in the record is `cotangent`."""
    cotangent = np.asarray(cotangent, part.dtype)
    if hasattr(executor, "pullback"):
        gradient = executor.pullback(part.problem, part.shots, part.models)[1](cotangent)
    else:
        gradient = misfit_and_gradient(executor, part, forward(executor, part) - cotangent)[1]
    return [numpy_of(g) for g in gradient]


def misfit_and_gradient(executor, part: Part, observed) -> tuple[float, list[np.ndarray]]:
    if not hasattr(executor, "misfit_and_gradient"):
        raise UnsupportedError(f"{executor.name} computes no gradient")
    misfit, gradient = executor.misfit_and_gradient(part.problem, part.shots, part.models, observed)
    return float(misfit), [numpy_of(g) for g in gradient]


def normal(executor, part: Part) -> tuple[Part, np.ndarray]:
    """(the part with wavelets so loud that its record has a maximum of 1, the record in float64)."""
    for _ in range(2):  # a record of subnormal numbers is not scaled exactly at once
        record = forward(executor, part).astype(np.float64)
        largest = float(np.abs(record).max(initial=0.0))
        if not 0 < largest < np.inf or 0.5 < largest < 2:
            break
        part = part.louder(1 / largest)
    return part, record
