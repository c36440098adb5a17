"""Optimisers that take one step for each gradient, of a few shots at a time."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Protocol

import numpy as np

from ..errors import NotFiniteError, OptionError

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
Limits = tuple[np.ndarray, np.ndarray]
After = Callable[[np.ndarray], bool]


class Position(Protocol):
    """Where a stage stands, kept after each step."""

    step: int
    """Steps so far; 0 where the stage begins."""
    x: np.ndarray
    state: list[np.ndarray]
    """The arrays of :meth:`Stepwise.state` after these steps."""

    def keep(self, step: int, x: np.ndarray, state: list[np.ndarray]) -> None:
        """Replace what was kept."""


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

    @abstractmethod
    def state(self) -> list[np.ndarray]:
        """Return arrays that hold all that it remembers of its steps. Their size does not grow with the steps."""

    @abstractmethod
    def restore(self, state: list[np.ndarray]) -> None:
        """Remember what :meth:`state` returned, after :meth:`begin`, to the same bits."""

    def minimise(
        self, function: Function, limits: Limits, iterations: int, after: After, position: Position | None = None
    ) -> np.ndarray:
        """The vector it comes to; ``after(x)`` is asked after each step whether to end there.

        With a `position` it goes on from there, and keeps there each step that does not end the stage.
        """
        x, walker = np.zeros(len(limits[0])), copy(self)  # an optimiser states a run: none changes it
        walker.begin(x)
        done = position.step if position else 0
        if position and done:
            x = position.x
            walker.restore(position.state)
        for step in range(done + 1, iterations + 1):
            x = np.clip(walker.step(x, function(x)[1]), *limits)
            if not np.isfinite(x).all():
                raise NotFiniteError(f"step {step} of {self!r} is not finite; give it shorter steps")
            if after(x):
                break
            if position:
                position.keep(step, x, walker.state())
        return x
