"""The cost of each shot, by which a plan balances the ranks."""

import numpy as np

from .._util.arrays import evenly_spaced, numpy_of
from ..acquisition.call_shape import wavelet_layout
from ..acquisition.shots import Shots
from ..equations.first_order import StaggeredEquation
from ..problem import Problem

SAMPLES = 200
"""Largest number of time steps at which the active cells are counted."""


def shot_costs(problem: Problem, shots: Shots) -> np.ndarray:
    """Return the number of cells that each shot computes, summed over the time steps.

    Compiled code computes the cells that the differences connect with a source by the current step, and with a receiver
    by the last one. A shot at the edge of a long line, or with few receivers, has fewer of them than a shot in the
    middle. The differences carry a value by half the spatial order a step, or once for each stage of a staggered step.

    Parameters
    ----------
    problem : Problem
        Equation, grid and PML.
    shots : Shots
        The shots, with positions inside the grid.

    Returns
    -------
    (nshots,) array
        Cells times steps, for ``ShotPlan(costs=...)``.

    Raises
    ------
    ShapeError, DtypeError
        If wavelet and positions do not fit each other.

    Examples
    --------
    >>> import numpy as np
    >>> from sweep_core import Acoustic, Shots, make_problem
    >>> from sweep_core.distribution import shot_costs
    >>> problem = make_problem(Acoustic(4), shape=(40, 400), dh=10.0, dt=0.001)
    >>> shots = Shots(np.zeros(50), sources=np.array([[0, 2], [200, 2]]), receivers=np.array([[0, 2], [200, 2]]))
    >>> costs = shot_costs(problem, shots)
    >>> bool(costs[0] < costs[1])
    True
    """
    equation, ndim = problem.equation, problem.grid.ndim
    nt, _ = wavelet_layout(problem, shots.wavelet, shots.sources)
    stages = len(equation.stages(ndim)) if isinstance(equation, StaggeredEquation) else 1
    step = evenly_spaced(nt, SAMPLES)
    out, back = (distance * stages * equation.spatial_order / 2 for distance in (step, nt - 1 - step))
    sources = numpy_of(shots.sources).reshape(len(shots), -1, ndim)
    receivers = numpy_of(shots.receivers).reshape(-1, shots.receivers.shape[-2], ndim)  # of each shot, or of all
    cells = np.ones((len(shots), len(step)))
    for axis, (size, pml) in enumerate(zip(problem.grid.shape, problem.pml, strict=True)):
        source, receiver = sources[..., ndim - 1 - axis], receivers[..., ndim - 1 - axis]
        low = np.maximum(source.min(1, keepdims=True) - out, receiver.min(1, keepdims=True) - back)
        high = np.minimum(source.max(1, keepdims=True) + out, receiver.max(1, keepdims=True) + back)
        low, high = np.maximum(low, -pml[0]), np.minimum(high, size - 1 + pml[1])
        cells *= np.maximum(high - low + 1, 0)
    return np.maximum(cells.mean(1) * nt, 1.0)
