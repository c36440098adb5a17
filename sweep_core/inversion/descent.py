"""The function that a stage of an inversion minimises: misfit and preferences, over the vector of its unknowns."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from ..errors import DomainError, NotFiniteError
from .encoding import Encoding
from .illumination import illumination
from .journal import Answer, is_finite
from .objective import AfterShots, Objective
from .regularisers import penalty
from .unknowns import Unknowns

STEP = 0.01
"""Of the mean of a parameter: how far the first step moves its most sensitive cell."""
DENSITY = 0.3
"""Steps of a density beside those of speeds. Waves tell least of a density: with steps of 1 it takes up what the speeds
do not explain yet, and on an elastic Marmousi ends farther from the truth than it began (+3.3 %; with 0.3, -6.5 %)."""
DAMPING = 0.1
"""Of the mean illumination: cells that are lit less are moved as if they were lit so much more."""


def spread(nshots: int, count: int | None) -> np.ndarray:
    """So many of the shots of a survey, evenly spaced; all of None."""
    return np.unique(np.linspace(0, nshots - 1, min(count or nshots, nshots)).round().astype(np.int64))


class Descent:
    """x -> (f, df/dx) with f = misfit / first + penalty: `first` is the misfit at the start, of all its shots.

    Parameters
    ----------
    objective : Objective
    unknowns : Unknowns
        Their scale is found here.
    regularisers : tuple of Regulariser
    shots : int, optional
        How many of the survey are used, evenly spaced; all by default.
    drawn : int, optional
        How many of those each step draws, in an order of its own; all by default.
    precondition : bool
        Whether cells are scaled by one over the root of their illumination.
    after : callable
        ``after(models)`` gives what is told of the shots that are modelled in them.
    answered : callable
        ``answered(compute)`` gives the (misfit, gradients) that ``compute()`` does; see :class:`Journal`.
    encoding : Encoding, optional
        Of the shots, with new signs in each step that draws some.
    steps : mapping, optional
        Lengths of the first step of parameters by name, over STEP; DENSITY for densities and 1 for others by default.
    seed : int
        Seed of the order in which shots are drawn.

    Attributes
    ----------
    misfit, gradients
        Of the last step: of all shots, estimated from those that were drawn; and in each parameter.
    computed : int
        Gradients so far, of all shots of the survey.
    """

    def __init__(
        self, objective: Objective, unknowns: Unknowns, regularisers: Any = (), shots: int | None = None,
        drawn: int | None = None, precondition: bool = True,
        after: Callable[[list[np.ndarray]], AfterShots] = lambda models: None,
        answered: Callable[[Callable[[], Answer]], Answer] = lambda compute: compute(),
        encoding: Encoding | None = None, steps: Mapping[str, float] | None = None, seed: int = 0,
    ):  # fmt: skip
        self.objective, self.regularisers, self._after, self._answered = objective, regularisers, after, answered
        nshots, self._encoding = len(objective.shots), encoding
        self.shots = spread(nshots, shots)
        self._drawn, self._random = drawn, np.random.default_rng(seed)
        self._order: list[int] = []
        self._means = [float(np.abs(model).mean()) or 1.0 for model in unknowns.start]
        self.unknowns, self.computed, self._steps = unknowns, 0.0, steps or {}
        self._compute(list(unknowns.start), self.shots)
        self.first = self.misfit
        if not 0 <= self.first < np.inf:
            raise DomainError(f"the misfit at the start is {self.first}: {self._doubt()}")
        if self.first:  # zero: the start fits the data, and there is nothing to descend
            self.unknowns = attrs.evolve(unknowns, scale=self._scales(precondition))
        self._last = np.zeros(len(self.unknowns))

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        models, some = self.unknowns.models(x), self._draw()
        if self._drawn or not np.array_equal(x, self._last):
            self._compute(models, some)
            self._last = x.copy()
            if not is_finite(self.misfit, self.gradients):
                raise NotFiniteError(
                    f"the misfit is {self.misfit}, or its gradient is not finite, though both were at the start of the "
                    "stage; give narrower bounds or shorter steps"
                )
        value, slopes = self._total(models)
        return value, self.unknowns.slope(x, slopes)

    def _compute(self, models, some) -> None:
        """Misfit and gradients of all shots, from those of some."""
        value, gradients = self._answered(lambda: self._answer(models, some))
        share = len(some) / len(self.shots)
        self.misfit, self.gradients = value / share, [g / share for g in gradients]
        self.computed += self._cost(some)

    def _answer(self, models, some) -> Answer:
        after, encoding = self._after(models), self._encoding
        if encoding is None:
            return self.objective(models, some, after)
        parts = encoding.parts(some)
        told = after and (lambda sums, misfit: after(np.concatenate([parts[i] for i in sums]), misfit))
        return encoding(self.objective, some)(models, after=told)

    def _cost(self, some) -> float:
        """Of a gradient of some shots, as a share of that of all."""
        return (self._encoding.cost(some) if self._encoding else len(some)) / len(self.objective.shots)

    def _total(self, models):
        added, slopes = penalty(self.regularisers, models, self._means)
        pairs = zip(self.gradients, slopes, strict=True)
        return self.misfit / self.first + added, [g / self.first + extra for g, extra in pairs]

    @property
    def position(self) -> dict[str, Any]:
        """Return the state that the next steps depend on beside the vector, as JSON can hold it."""
        signs = self._encoding and self._encoding.random.bit_generator.state
        return {"order": [int(shot) for shot in self._order], "computed": self.computed, "signs": signs or None,
                "random": self._random.bit_generator.state}  # fmt: skip

    def resume(self, position: Mapping[str, Any]) -> None:
        """Go on from what :attr:`position` was."""
        self._order, self.computed = list(position["order"]), position["computed"]
        self._random.bit_generator.state = position["random"]
        if self._encoding:
            self._encoding.random.bit_generator.state = position["signs"]

    def replay_nothing(self) -> None:
        """Keep no answer from here on, for an optimiser that tells its state."""
        self._answered = lambda compute: compute()

    def _draw(self) -> np.ndarray:
        """The shots of the next step: each once, before any comes again."""
        if not self._drawn:
            return self.shots
        if self._encoding:
            self._encoding.draw()
        if len(self._order) < min(self._drawn, len(self.shots)):
            self._order += list(self._random.permutation(self.shots))
        some, self._order = self._order[: self._drawn], self._order[self._drawn :]
        return np.sort(some)

    def _scales(self, precondition) -> list[np.ndarray]:
        """Of each parameter: what one unit of x is. Without draws it is such that the first step, along the gradient,
        is STEP times `steps` times the mean; an optimiser that draws shots has its own step, and a unit is as much.
        """
        start, free = list(self.unknowns.start), self.unknowns.free
        lit = self._lit() if precondition else [np.ones(model.shape) for model in start]
        parameters = self.objective.problem.equation.parameters
        found = []
        for parameter, slope, light, cells, mean in zip(
            parameters, self._total(start)[1], lit, free, self._means, strict=True
        ):
            name = parameter.name
            if not cells.any():
                found.append(light)
                continue
            steepest = float(np.abs(light**2 * slope)[cells].max())
            if not 0 < steepest < np.inf:
                unlit = f"no wave meets its cells; leave it out by fixed={{{name!r}: True}}"
                told = self._doubt(unlit if steepest == 0 else None)
                raise DomainError(f"the largest gradient in {name} at the start is {steepest}: {told}")
            first = STEP * mean * self._steps.get(name, DENSITY if parameter.unit == "kg/m3" else 1.0)
            found.append(light * (first / light[cells].max() if self._drawn else (first / steepest) ** 0.5))
        return found

    def _doubt(self, otherwise: str | None = None) -> str:
        """Say what is wrong with the record of the start or with its misfit; `otherwise` where neither is to blame."""
        objective, some = self.objective, self.shots
        record = objective.record(list(self.unknowns.start), some)
        if not np.isfinite(record).all():
            return "the record of the start is not finite; check wavelet, models and dt"
        slope = objective.compared(record, some)[1]
        compared = objective.weighed(objective.filtered(record), some), objective.aim(some), slope
        made, seen, steep = (float(np.abs(x).max()) for x in compared)
        if not steep:
            return "the misfit does not change with the record; check wavelet, receivers, weights and mask"
        return otherwise or (
            f"modelled samples are {made:.3g} at most, observed ones {seen:.3g}, the misfit's derivative {steep:.3g}; "
            "scale wavelet and data, so that both are about 1, and check weights and mask"
        )

    def _lit(self) -> list[np.ndarray]:
        """One over the root of the damped illumination of each parameter, one where nothing is lit."""
        self.computed += self._cost(self.shots)
        start, encoding = list(self.unknowns.start), self._encoding

        def compute():
            if encoding is None:
                return 0.0, illumination(self.objective, start, chosen=self.shots)
            return 0.0, illumination(encoding(self.objective, self.shots), start)

        _, lit = self._answered(compute)
        pairs = zip(lit, self.unknowns.free, strict=True)
        means = [light[cells].mean() if cells.any() else 0.0 for light, cells in pairs]
        return [(1 + light / (DAMPING * mean or 1)) ** -0.5 for light, mean in zip(lit, means, strict=True)]
