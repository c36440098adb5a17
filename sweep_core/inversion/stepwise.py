"""Optimisers that take one step for each gradient, of a few shots at a time."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy

import numpy as np

from ..errors import OptionError

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
Limits = tuple[np.ndarray, np.ndarray]
After = Callable[[np.ndarray], bool]


class Stepwise(ABC):
    """Steps from zero, clipped to the limits; shots are drawn, all once before any comes again.

    One unit of a step is 1 % of the mean of a parameter, times the `steps` of `invert`, where the illumination lets it
    move most.

    Parameters
    ----------
    shots : int
        Shots of a step.

    Raises
    ------
    OptionError
        For another number.
    """

    def __init__(self, shots: int) -> None:
        if isinstance(shots, bool) or not isinstance(shots, int) or shots < 1:
            raise OptionError(f"shots is {shots!r}; expected a number of shots of a step, from 1 on")
        self.shots = shots

    @abstractmethod
    def begin(self, x: np.ndarray) -> None:
        """Forgets what it remembers, and stands at x."""

    @abstractmethod
    def step(self, x: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Where it goes from x by the gradient there."""

    def minimise(self, function: Function, limits: Limits, iterations: int, after: After) -> np.ndarray:
        """The vector it comes to; ``after(x)`` is asked after each step whether to end there."""
        x, walker = np.zeros(len(limits[0])), copy(self)  # an optimiser states a run: none changes it
        walker.begin(x)
        for _ in range(iterations):
            x = np.clip(walker.step(x, function(x)[1]), *limits)
            if after(x):
                break
        return x
