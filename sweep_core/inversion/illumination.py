"""Illumination: the sensitivity of the data to each cell."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .objective import Objective


def illumination(
    objective: Objective, models: Sequence[np.ndarray], smooth: float = 4.0, seed: int = 0, indices: Any = None
) -> list[np.ndarray]:
    """Return the smoothed diagonal of J^T J, with J the derivative of the weighted and filtered record.

    For random signs z, one for each sample, the mean of (J^T z)^2 over z is this diagonal (Hutchinson 1990; Bekas,
    Kokiopoulou and Saad 2007). One draw costs a forward and a backward run of the shots. It gives the diagonal with
    speckle, which a Gaussian of `smooth` cells averages out. The method works for any equation and backend. It includes
    the receivers, unlike the usual pseudo-Hessian of the forward field (Shin, Jang and Min 2001).

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
    indices : sequence of int, optional
        Numbers of the shots; all by default.

    Returns
    -------
    list of float64 arrays
        Illumination of each parameter, zero or more, of the shape of the models. Only for least squares is J^T J the
        Hessian near the solution.

    Raises
    ------
    SweepError
        The errors of a call of the solver.
    """
    from scipy.ndimage import gaussian_filter

    shape, dtype = objective.observed.shape, objective.observed.dtype

    def noise(part: Objective, some: Any) -> np.ndarray:
        shots = part.shot_numbers(some)
        signs = [np.random.default_rng((seed, shot)).choice([-1, 1], shape[1:]) for shot in shots]
        return np.stack(signs).astype(dtype)

    diagonals = []
    for slope in objective.transposed(models, noise, indices):
        square = slope**2
        inner = square[tuple(slice(1, -1) for _ in square.shape)]
        # The derivative in an edge cell includes all PML cells that continue it.
        lit = gaussian_filter(np.pad(inner, 1, mode="edge"), smooth, mode="nearest")
        if known := objective.problem.memory.known_above:  # average only cells with a derivative
            share = gaussian_filter((np.arange(len(lit)) >= known).astype(float), smooth, mode="nearest")
            lit[known:] /= share[known:].reshape(-1, *(1,) * (lit.ndim - 1))
            lit[:known] = 0
        diagonals.append(lit)
    return diagonals
