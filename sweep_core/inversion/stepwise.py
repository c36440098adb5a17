"""Optimisers that take one step for each gradient, of a subset of the shots."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Protocol

import numpy as np

from .._util.validators import check_whole
from ..errors import NotFiniteError, OptionError
from .scaling import LinearScaling

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
Limits = tuple[np.ndarray, np.ndarray]
After = Callable[[np.ndarray], bool]


class Position(Protocol):
    """The stored state of a stage, replaced after each step."""

    step: int
    """Number of steps so far; 0 at the start of the stage."""
    x: np.ndarray
    """Vector after these steps."""
    state: list[np.ndarray]
    """Arrays of :meth:`Stepwise.state` after these steps."""

    def keep(self, step: int, x: np.ndarray, state: list[np.ndarray]) -> None:
        """Store a new state, at once or with a later one; nobody changes its arrays."""


class Stepwise(ABC):
    """An optimiser that steps from zero, clipped to the limits, and draws shots for each step.

    Each shot is drawn once before any is drawn again. One unit of a step is 1 % of the mean of a parameter, times the
    `steps` of `invert`, in the cell that the illumination lets move most.

    Parameters
    ----------
    shots : int
        Number of shots of a step.
    scaling : LinearScaling, optional
        Factor of each step. For all optimisers whose step is proportional to the learning rate, such as SGD and Adam,
        it is a factor of the learning rate.

    Raises
    ------
    OptionError
        `shots` is not a whole number from 1 on, or `scaling` is no LinearScaling.
    """

    def __init__(self, shots: int, scaling: LinearScaling | None = None) -> None:
        if not (scaling is None or isinstance(scaling, LinearScaling)):
            raise OptionError(f"scaling is {scaling!r}; expected a LinearScaling(reference), or None")
        self.shots, self.scaling = check_whole(shots, "shots", 1, "shots of a step"), scaling

    @abstractmethod
    def begin(self, x: np.ndarray) -> None:
        """Clear the state and start at x.

        Parameters
        ----------
        x : (n,) array
            The first vector.
        """

    @abstractmethod
    def step(self, x: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Return the next vector.

        Parameters
        ----------
        x, slope : (n,) array
            The vector, and the gradient there.

        Returns
        -------
        (n,) array
            The next vector, before it is clipped to the limits.
        """

    @abstractmethod
    def state(self) -> list[np.ndarray]:
        """Return the whole state.

        Returns
        -------
        list of arrays
            The state. Its size does not grow with the number of steps, and later steps do not change these arrays.
        """

    @abstractmethod
    def restore(self, state: list[np.ndarray]) -> None:
        """Restore a state to the same bits, after a call of :meth:`begin`.

        Parameters
        ----------
        state : list of arrays
            Result of :meth:`state`.
        """

    def minimise(
        self, function: Function, limits: Limits, iterations: int, after: After, position: Position | None = None
    ) -> np.ndarray:
        """Minimise a function from zero.

        Parameters
        ----------
        function : callable
            ``function(x)`` returns the value and its gradient.
        limits : (low, high)
            Bounds of x.
        iterations : int
            Number of steps.
        after : callable
            ``after(x)`` is called after each step; True ends the minimisation.
        position : Position, optional
            The stored state from which the steps continue. Each step that does not end the stage is stored in it.

        Returns
        -------
        (n,) array
            The last x.

        Raises
        ------
        NotFiniteError
            A step is not finite.
        """
        x, walker = np.zeros(len(limits[0])), copy(self)  # the optimiser describes a run, so it must not change
        walker.begin(x)
        done = position.step if position else 0
        if position and done:
            x = position.x
            walker.restore(position.state)
        for step in range(done + 1, iterations + 1):
            following = walker.step(x, function(x)[1])
            if self.scaling:
                following = x + self.scaling.factor(step, self.shots) * (following - x)
            x = np.clip(following, *limits)
            if not np.isfinite(x).all():
                raise NotFiniteError(f"step {step} of {self!r} is not finite; use shorter steps")
            if after(x):
                break
            if position:
                position.keep(step, x, walker.state())
        return x
