"""A problem with one call of it, and the answers of the reference."""

from functools import lru_cache

import attrs
import numpy as np

from ...acquisition.shots import Shots
from ...equations.equation import Equation
from ...execution.reference import ReferenceExecutor
from ...memory.options import MemoryOptions
from ...problem import make_problem
from .strategies import STRATEGIES

__all__ = [
    "Case",
    "born_of_cell",
    "default_shape",
    "of_another_wavelet",
    "random_cells",
    "reference_born",
    "reference_record",
    "stable_dt",
]

DH = (10.0, 8.0, 9.0)
SHAPES = {1: (61,), 2: (19, 23), 3: (11, 12, 13)}
OF_LIMIT = 0.7
"""The time step, relative to the largest stable one."""


def default_shape(equation: Equation) -> tuple[int, ...]:
    """Return the shape of the small cases of an equation, two-dimensional if it exists in two dimensions.

    Parameters
    ----------
    equation : Equation
        The equation.

    Returns
    -------
    tuple of int
        Number of cells along each axis, depth first.
    """
    return SHAPES[2 if 2 in equation.ndims else min(equation.ndims)]


@attrs.frozen(eq=False)
class Case:
    """A problem and one call of it, in float64 NumPy arrays. Cases are cached, so that the reference runs each once.

    Parameters
    ----------
    arguments : dict
        Keyword arguments of :func:`sweep_core.make_problem`.
    shots : Shots
        Wavelets, positions and mask.
    models : list of numpy.ndarray
        One array for each parameter of the equation, in the unit of the parameter. A case with an earth for each shot
        has a leading axis nshots.
    """

    arguments: dict
    shots: Shots
    models: list

    @property
    def problem(self):
        """The problem.

        Raises
        ------
        SweepError
            If :func:`sweep_core.make_problem` refuses the arguments.
        """
        return make_problem(**self.arguments)

    def typed(self, dtype) -> "Case":
        """Return the case in another dtype.

        Parameters
        ----------
        dtype : dtype
            Floating-point type, such as ``numpy.float32``.

        Returns
        -------
        Case
            A case with converted wavelets and models.
        """
        shots = attrs.evolve(self.shots, wavelet=self.shots.wavelet.astype(dtype))
        return attrs.evolve(self, shots=shots, models=[m.astype(dtype) for m in self.models])

    def remembering(self, strategy: str | MemoryOptions) -> "Case":
        """Return the case with a memory strategy.

        Parameters
        ----------
        strategy : str or MemoryOptions
            Options of the memory strategy, or their name, a key of `STRATEGIES`.

        Returns
        -------
        Case
            A case with these options and the same shots and models.

        Raises
        ------
        KeyError
            If no strategy has this name.
        """
        memory = STRATEGIES[strategy] if isinstance(strategy, str) else strategy
        return attrs.evolve(self, arguments=self.arguments | {"memory": memory})

    def noise(self, seed=1) -> np.ndarray:
        """Return random values in the shape of the record, each field as large as in the record.

        Parameters
        ----------
        seed : int, default 1
            Seed of the random numbers.

        Returns
        -------
        numpy.ndarray, (nshots, nt, nrec, nfield)
            Normally distributed values. Their standard deviation is the maximum of the field in the record of the
            reference, or 1 if that maximum is zero.
        """
        record = reference_record(self)
        scale = np.abs(record).max((0, 1, 2))
        return np.random.default_rng(seed).standard_normal(record.shape) * np.where(scale > 0, scale, 1)

    def direction(self, seed=2) -> list:
        """Return a random perturbation of the models.

        Parameters
        ----------
        seed : int, default 2
            Seed of the random numbers.

        Returns
        -------
        list of numpy.ndarray
            One array in the shape and unit of each model. Its standard deviation is the mean absolute value of the
            model.
        """
        rng = np.random.default_rng(seed)
        return [rng.standard_normal(m.shape) * np.abs(m).mean() for m in self.models]


def stable_dt(equation, spacing, models, share=OF_LIMIT) -> float:
    """Return a time step (s) that is a fraction `share` of the largest stable one.

    Parameters
    ----------
    equation : Equation
        The equation, with its spatial order.
    spacing : tuple of float
        Distance of the nodes along each axis (m), depth first.
    models : list of numpy.ndarray
        One array for each parameter of the equation.
    share : float, default 0.7
        Fraction of the largest stable time step.

    Returns
    -------
    float
        Time step (s).
    """
    return share * equation.largest_speed(spacing, 1.0) / float(np.max(equation.speed(*models)))


def random_cells(rng, shape, *leading) -> np.ndarray:
    """Return random positions with columns (x, .., z).

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers.
    shape : tuple of int
        Number of cells along each axis, depth first.
    *leading : int
        Shape of the result without its last axis, such as ``nshots, nsrc``.

    Returns
    -------
    numpy.ndarray of int, ``(*leading, ndim)``
        Positions inside the grid, in cells.
    """
    return np.stack([rng.integers(0, n, leading) for n in shape[::-1]], axis=-1)


@lru_cache
def reference_record(call: Case) -> np.ndarray:
    """Return the record of the reference.

    Parameters
    ----------
    call : Case
        The problem, the shots and the models.

    Returns
    -------
    numpy.ndarray, (nshots, nt, nrec, nfield)
        float64. The result is cached: do not write into it.

    Raises
    ------
    SweepError
        If the reference refuses the problem, the shots or the models.
    """
    return ReferenceExecutor().forward(call.problem, call.shots, call.models)


@lru_cache
def reference_born(call: Case) -> np.ndarray:
    """Return the derivative of the reference's record in the direction of the case.

    Parameters
    ----------
    call : Case
        The problem, the shots and the models; the direction is :meth:`Case.direction`.

    Returns
    -------
    numpy.ndarray, (nshots, nt, nrec, nfield)
        float64. The result is cached: do not write into it.

    Raises
    ------
    SweepError
        If the reference refuses the problem, the shots or the models.
    """
    return ReferenceExecutor().born(call.problem, call.shots, call.models, call.direction())


@lru_cache
def of_another_wavelet(call: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return a random wavelet and its record, which is linear in the wavelet, for dot tests.

    Parameters
    ----------
    call : Case
        The problem, the shots and the models.

    Returns
    -------
    wavelet : numpy.ndarray
        Random values in the shape of the wavelet of the case.
    record : numpy.ndarray, (nshots, nt, nrec, nfield)
        Its record by the reference, float64. Both results are cached: do not write into them.

    Raises
    ------
    SweepError
        If the reference refuses the problem, the shots or the models.
    """
    wavelet = np.random.default_rng(7).standard_normal(call.shots.wavelet.shape)
    shots = attrs.evolve(call.shots, wavelet=wavelet)
    return wavelet, ReferenceExecutor().forward(call.problem, shots, call.models)


@lru_cache(maxsize=1024)
def born_of_cell(call: Case, cell, parameter=0) -> np.ndarray:
    """Return the derivative of the record in one cell of one model, exact to rounding.

    Parameters
    ----------
    call : Case
        The problem, the shots and the models.
    cell : tuple of int
        Index of the cell in the model, (z, x) or (z, y, x).
    parameter : int, default 0
        Number of the model, in the order of the equation's parameters.

    Returns
    -------
    numpy.ndarray, (nshots, nt, nrec, nfield)
        Derivative in the value of the cell, float64. The result is cached: do not write into it.

    Raises
    ------
    SweepError
        If the reference refuses the problem, the shots or the models.
    IndexError
        If the equation has no such parameter, or the model no such cell.
    """
    direction = [np.zeros(m.shape) for m in call.models]
    direction[parameter][cell] = 1
    return ReferenceExecutor().born(call.problem, call.shots, call.models, direction)
