"""One shot by compiled code, and the error of its traces."""

import numpy as np
from laws import executors

from sweep_core import Shots, make_problem


def shoot(wavelet, source, receivers, models, **arguments) -> np.ndarray:
    """Return the record (nt, nrec, nfield) of one source in uniform media (numbers) or models.

    Without compiled code the test is skipped.
    """
    problem = make_problem(**arguments)
    models = [np.broadcast_to(np.asarray(m, float), problem.grid.shape).copy() for m in models]
    shots = Shots(wavelet, np.asarray([source]), np.asarray(receivers))
    (param,) = executors("torch-c")
    return np.asarray(param.values[0].executor_for(problem).forward(problem, shots, models))[0]


def misfit(x, expected) -> float:
    """Return the relative L2 error."""
    return float(np.linalg.norm(x - expected) / np.linalg.norm(expected))


def slopes(errors, steps) -> np.ndarray:
    """Return the order of convergence of each pair of neighbouring steps."""
    return np.diff(np.log(errors)) / np.diff(np.log(steps))
