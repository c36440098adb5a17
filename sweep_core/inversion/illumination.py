"""How strongly the data depend on each cell."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .objective import Objective


def illumination(
    objective: Objective, models: Sequence[np.ndarray], smooth: float = 4.0, seed: int = 0, chosen: Any = None
) -> list[np.ndarray]:
    """Return the diagonal of J^T J, J the derivative of the weighted and filtered record in each parameter, smoothed.

    With z of random signs, one for each sample, the mean of (J^T z)^2 over z is that diagonal (Hutchinson 1990; Bekas,
    Kokiopoulou and Saad 2007): one run forward and one backward, of all shots or those `chosen`, tell it to the speckle
    of one draw, which a Gaussian of `smooth` cells averages out. It holds for any equation and backend, and has the
    share of the receivers, which the forward field alone, the usual pseudo-Hessian (Shin, Jang and Min 2001), lacks.

    Parameters
    ----------
    objective : Objective
        Data, weights and filter.
    models : list of (nz, nx) or (nz, ny, nx) arrays
        Models in the order and the units of ``equation.parameters``.
    smooth : float
        Standard deviation of the Gaussian (cells).
    seed : int
        Seed of the random signs.
    chosen : sequence of int, optional
        Numbers of the shots; all by default.

    Returns
    -------
    list of float64 arrays
        Of the shape of the models, from 0 on; least squares alone have J^T J for a Hessian near the end.

    Raises
    ------
    SweepError
        As a call of the solver.
    """
    from scipy.ndimage import gaussian_filter

    shape, dtype = objective.observed.shape, objective.observed.dtype

    def noise(some: Any) -> np.ndarray:
        return np.stack([np.random.default_rng((seed, shot)).choice([-1, 1], shape[1:]) for shot in some]).astype(dtype)

    found = []
    for slope in objective.transposed(models, noise, chosen):
        square = slope**2
        inner = square[tuple(slice(1, -1) for _ in square.shape)]
        # An edge cell answers for all the PML cells that continue it.
        lit = gaussian_filter(np.pad(inner, 1, mode="edge"), smooth, mode="nearest")
        if known := objective.problem.memory.known_above:  # means are of cells that have a derivative
            share = gaussian_filter((np.arange(len(lit)) >= known).astype(float), smooth, mode="nearest")
            lit[known:] /= share[known:].reshape(-1, *(1,) * (lit.ndim - 1))
            lit[:known] = 0
        found.append(lit)
    return found
