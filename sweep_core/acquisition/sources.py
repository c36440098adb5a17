"""The wavelet that drives the steps, and the weight of each cell of a source, by the problem's `source_scaling`."""

from math import prod

import numpy as np

from ..discretization.operators import heights
from ..numerics.time_dispersion import disperse, overrun
from ..problem import Problem
from .call_shape import CallShape
from .positions import Points
from .shots import samples_of


def driving_wavelet(xp, problem: Problem, shape: CallShape, wavelet):
    """Return the wavelet that drives the steps, (nshots or 1, nsrc or 1, nfield or 1, steps).

    If the problem corrects the time dispersion, the wavelet is dispersed, and lasts as long as the steps. `xp` is
    numpy, torch or jax.numpy.
    """
    wavelet = samples_of(wavelet, shape.by_field)
    if problem.time_dispersion == "uncorrected":
        return wavelet
    silence = xp.broadcast_to(0 * wavelet[..., :1], (*wavelet.shape[:-1], overrun(wavelet.shape[-1])))
    return disperse(xp, xp.concatenate([wavelet, silence], -1))


def _increments(problem) -> bool:
    """Return True if sources add the wavelet itself to a field."""
    return problem.source_scaling == "increment"


def source_weights(problem: Problem, points: Points, array):
    """Return (weights, coefficient) of a unit of the wavelet.

    It adds to each cell the weights, (nshots, nsrc, taps), times the coefficient of that name, if there is one.

    ``array(values)`` makes of a NumPy array one of the framework.
    """
    if _increments(problem):
        return points.weights, None
    field = problem.field(points.field)
    unit = problem.equation.source_weight(field.name, problem.dt, problem.grid.cell_volume)
    weights = points.weights * (field.source_sign * unit)
    high = heights(problem, field)
    if high is not None:
        weights = weights / array(high)[points.cells // prod(problem.padded_shape[1:])]
    return weights, problem.equation.source_coefficient(field.name)


def signals_of_each(problem: Problem, taps: int) -> int:
    """Return the number of signals of a source in one field for compiled code.

    It is one, or one for each of its cells.
    """
    return taps if _increments(problem) else 1


def signals(problem: Problem, shape: CallShape, xp, samples, cells, coefficients):
    """Return the samples for the compiled code, (nshots, nt, columns).

    `samples` are (nshots or 1, nsrc or 1, nfield or 1, nt). The compiled code multiplies them by
    :meth:`Equation.source_coefficient`. If sources increment the field by the wavelet itself, the samples are divided
    by that coefficient in each of the `cells`, (nshots, nsrc, taps) for each source field. `coefficients` are
    (earths, coefficients, *padded grid), arrays of the framework.
    """
    samples = xp.broadcast_to(samples, (shape.shots, shape.sources, len(problem.source_type), shape.steps))
    if not _increments(problem):
        return samples.reshape(shape.shots, -1, shape.steps).swapaxes(1, 2)
    flat = coefficients.reshape(shape.earths, coefficients.shape[1], -1)
    shots = np.arange(shape.shots)[:, None, None] if shape.earths > 1 else 0
    columns = []
    for i, (field, at) in enumerate(zip(problem.source_type, cells, strict=True)):
        name, each = problem.equation.source_coefficient(field), samples[:, :, None, i]
        if name is None or name in problem.constants:
            each = each if name is None else each / problem.constants[name]
            columns.append(xp.broadcast_to(each, (*at.shape, shape.steps)))
        else:
            columns.append(each / flat[:, problem.coefficient_names.index(name)][shots, at][..., None])
    return xp.stack(columns, 3).reshape(shape.shots, -1, shape.steps).swapaxes(1, 2)
