"""Complex frequencies of plane waves in a homogeneous medium, from the step of an equation."""

import numpy as np

from sweep_core import make_problem
from sweep_core.discretization.array_ops import NumpyOps, coefficients_of

DH, DT, AT = 10.0, 1e-4, 20


def frequencies(equation, parameters, wavenumber: float, theta: float, ndim: int = 2, dt: float = DT) -> np.ndarray:
    """Return the frequencies w (rad/s) of exp(i (w t - k . x)) with Re w > 0, the highest first.

    The `wavenumber` k (1/m) has an angle theta from the vertical in the plane of x and z. A step of the fields is a
    matrix of their amplitudes with eigenvalues exp(i w dt), or 2 cos(w dt) of second order, from a state without the
    time level before.
    """
    problem = make_problem(equation, (2 * AT + 1,) * ndim, DH, dt, pml_width=0)
    axes, names = problem.grid.axes, [f.name for f in equation.waves_in(ndim)]
    k = -wavenumber * np.array([{"z": np.cos(theta), "x": np.sin(theta), "y": 0.0}[axis] for axis in axes])
    coefficients = coefficients_of(problem, [np.full(problem.grid.shape, p) for p in parameters], 1, np, None)
    where = np.stack(np.meshgrid(*[np.arange(n) - AT for n in problem.grid.shape], indexing="ij"), -1) * DH

    def wave(field):
        shift = [0.5 * DH * (axis in problem.field(field).stagger) for axis in axes]
        return np.exp(1j * (where + shift) @ k)[None]

    matrix, centre = np.zeros((len(names), len(names)), complex), (0, *(AT,) * ndim)
    for column, excited in enumerate(names):
        state = {name: np.zeros((1, *problem.padded_shape), complex) for name in equation.state_names(ndim)}
        state[excited] = wave(excited)
        state = equation.step(NumpyOps(problem, complex), state, coefficients, lambda field, x: x)
        matrix[:, column] = [(state[name] / wave(name))[centre] for name in names]
    eigenvalues = np.linalg.eigvals(matrix)
    if equation.levels == 2:
        result = np.arccos(eigenvalues / 2) / dt
    else:
        result = np.log(eigenvalues) / (1j * dt)
    result = result[result.real > 1e-3 * np.abs(result).max()]
    return result[np.argsort(-result.real)]
