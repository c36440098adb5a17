"""The function that a stage of an inversion minimises: misfit and regularisers, over the vector of the unknowns."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import attrs
import numpy as np

from .._util.arrays import evenly_spaced
from ..errors import DomainError, NotFiniteError
from .bad_shots import BadShots, find_bad_shots, name_shots
from .batches import AfterShots, batches, is_finite
from .encoding import Encoding
from .illumination import illumination
from .journal import Answer
from .objective import Objective
from .regularisers import penalty
from .unknowns import Unknowns

STEP = 0.01
"""The first step of the most sensitive cell, relative to the mean of its parameter."""
DENSITY = 0.3
"""Steps of a density relative to those of speeds. Waves are least sensitive to density: with steps of 1 it absorbs the
residual of the speeds, and on an elastic Marmousi its error grows (+3.3 %; with 0.3 it falls, -6.5 %)."""
DAMPING = 0.1
"""Illumination that is added to that of every cell, relative to the mean. It limits the steps of dark cells."""


def _in(shots: list[int]) -> str:
    return f" in {name_shots(shots)}" if shots else ""


class Descent:
    """The function x -> (f, df/dx) with f = misfit / first + penalty. `first` is the misfit of all shots at the start.

    Parameters
    ----------
    objective : Objective
        The misfit.
    unknowns : Unknowns
        The unknowns; this class computes their scale.
    regularisers : tuple of Regulariser
        The regularisers.
    shots : int, optional
        Number of shots of the survey, evenly spaced; all by default.
    drawn : int, optional
        Number of these shots that each step draws, in random order; all by default.
    precondition : bool
        Scale cells by one over the root of their illumination.
    after : callable
        ``after(models, shots)`` is called before this rank models its `shots` in `models`, and returns the function
        that is called after each batch of shots.
    answered : callable
        ``answered(compute)`` returns the (misfit, gradients) of ``compute()``, or stored ones; see :class:`Journal`.
    encoding : Encoding, optional
        Encoding of the shots, with new signs in each step that draws shots.
    steps : mapping, optional
        Lengths of the first step by the name of a parameter, relative to STEP; by default DENSITY for densities and 1
        for other parameters.
    seed : int
        Seed of the order in which shots are drawn.
    bad : BadShots, optional
        The shots that are left out.

    Attributes
    ----------
    misfit, gradients
        Misfit of the last step, for all shots, estimated from the drawn ones; and its gradient in each parameter.
    computed : float
        Number of gradients so far, in units of a gradient of all shots of the survey.
    """

    def __init__(
        self, objective: Objective, unknowns: Unknowns, regularisers: Any = (), shots: int | None = None,
        drawn: int | None = None, precondition: bool = True,
        after: Callable[[list[np.ndarray], np.ndarray], AfterShots] = lambda models, shots: None,
        answered: Callable[[Callable[[], Answer]], Answer] = lambda compute: compute(),
        encoding: Encoding | None = None, steps: Mapping[str, float] | None = None, seed: int = 0,
        bad: BadShots | None = None,
    ):  # fmt: skip
        self.objective, self.regularisers, self._after, self._answered = objective, regularisers, after, answered
        nshots, self._encoding, self._bad = len(objective.shots), encoding, bad or BadShots()
        self.shots = evenly_spaced(nshots, shots)
        self._drawn, self._random = drawn, np.random.default_rng(seed)
        self._order: list[int] = []
        self._means = [float(np.abs(model).mean()) or 1.0 for model in unknowns.start]
        self.unknowns, self.computed, self._steps = unknowns, 0.0, steps or {}
        self._compute(list(unknowns.start), self.shots)
        self.first = self.misfit
        if not 0 <= self.first < np.inf:
            raise DomainError(f"the misfit at the start is {self.first}: {self._doubt()}")
        if self.first:  # if zero, the start fits the data exactly, and no scale is needed
            self.unknowns = attrs.evolve(unknowns, scale=self._scales(precondition))
        self._last = np.zeros(len(self.unknowns))

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        models, some = self.unknowns.models(x), self._draw()
        if self._drawn or not np.array_equal(x, self._last):
            self._compute(models, some)
            self._last = x.copy()
            if not is_finite(self.misfit, self.gradients):
                raise NotFiniteError(
                    f"the misfit is {self.misfit}, or its gradient is not finite{_in(self._bad.found)}, although both "
                    "were finite at the start of the stage; use narrower bounds or shorter steps"
                )
        value, slopes = self._total(models)
        return value, self.unknowns.slope(x, slopes)

    def _compute(self, models, some) -> None:
        """Compute misfit and gradients of all shots from those of some."""
        self.misfit, self.gradients = self._answered(lambda: self._answer(models, some))
        self.computed += self._cost(some)

    def _answer(self, models, some) -> Answer:
        """Return the misfit of all shots and its gradients, estimated from those of some that are not left out."""
        while True:
            used = self._bad.without(some)
            if not len(used):
                some = self._draw()
                continue
            find = dict if self._encoding else partial(find_bad_shots, self.objective, models, used)
            answer = self._bad.evaluate(partial(self._sum, models, used), find)
            if answer is not None:
                fraction = len(used) / len(self.shots)
                return answer[0] / fraction, [g / fraction for g in answer[1]]
            if not len(self._bad.without(self.shots)):
                raise NotFiniteError(
                    f"all {len(self.shots)} shots of the stage fail, so none is left; use narrower bounds or shorter "
                    "steps, and check the data"
                )

    def _sum(self, models, some) -> Answer:
        after, encoding = self._after(models, self.objective.own_shots(some)), self._encoding
        if encoding is None:
            return self.objective(models, some, after)
        parts = encoding.parts(some)
        after_sums = after and (lambda sums, misfit: after(np.concatenate([parts[i] for i in sums]), misfit))
        return encoding(self.objective, some)(models, after=after_sums)

    def _cost(self, some) -> float:
        """Return the cost of a gradient of some shots, relative to that of all shots."""
        return (self._encoding.cost(some) if self._encoding else len(some)) / len(self.objective.shots)

    def _total(self, models):
        added, slopes = penalty(self.regularisers, models, self._means)
        pairs = zip(self.gradients, slopes, strict=True)
        return self.misfit / self.first + added, [g / self.first + extra for g, extra in pairs]

    @property
    def position(self) -> dict[str, Any]:
        """State of the next steps apart from the vector, as JSON values."""
        signs = self._encoding and self._encoding.random.bit_generator.state
        return {"order": [int(shot) for shot in self._order], "computed": self.computed, "signs": signs or None,
                "random": self._random.bit_generator.state}  # fmt: skip

    def resume(self, position: Mapping[str, Any]) -> None:
        """Restore a state of :attr:`position`."""
        self._order, self.computed = list(position["order"]), position["computed"]
        self._random.bit_generator.state = position["random"]
        if self._encoding:
            self._encoding.random.bit_generator.state = position["signs"]

    def replay_nothing(self) -> None:
        """Store no further answers, because the optimiser stores its state."""
        self._answered = lambda compute: compute()

    def _draw(self) -> np.ndarray:
        """Return the shots of the next step. Each shot is drawn once before any is drawn again."""
        if not self._drawn:
            self.objective.read_ahead(self._bad.without(self.shots))
            return self.shots
        if self._encoding:
            self._encoding.draw()
        if len(self._order) < min(self._drawn, len(self.shots)):
            self._order += list(self._random.permutation(self.shots))
        some, self._order = self._order[: self._drawn], self._order[self._drawn :]
        self.objective.read_ahead(self._bad.without(np.sort(self._order[: self._drawn])))
        return np.sort(some)

    def _scales(self, precondition) -> list[np.ndarray]:
        """Return the size of one unit of x for each parameter.

        For an optimiser of all shots, the first step along the gradient is STEP times `steps` times the mean of the
        parameter. An optimiser that draws shots has a step length of its own, and one unit of x has this size.
        """
        start, free = list(self.unknowns.start), self.unknowns.free
        weights = self._cell_weights() if precondition else [np.ones(model.shape) for model in start]
        parameters = self.objective.problem.equation.parameters
        scales = []
        for parameter, slope, light, cells, mean in zip(
            parameters, self._total(start)[1], weights, free, self._means, strict=True
        ):
            name = parameter.name
            if not cells.any():
                scales.append(light)
                continue
            steepest = float(np.abs(light**2 * slope)[cells].max())
            if not 0 < steepest < np.inf:
                unlit = f"no wave meets its cells; leave it out by fixed={{{name!r}: True}}"
                reason = self._doubt(unlit if steepest == 0 else None)
                raise DomainError(f"the largest gradient in {name} at the start is {steepest}: {reason}")
            first = STEP * mean * self._steps.get(name, DENSITY if parameter.unit == "kg/m3" else 1.0)
            scales.append(light * (first / light[cells].max() if self._drawn else (first / steepest) ** 0.5))
        return scales

    def _doubt(self, otherwise: str | None = None) -> str:
        """Return the error in the record of the start or in its misfit, or `otherwise` if both are correct."""
        objective, start = self.objective, list(self.unknowns.start)
        bad: list[int] = []
        largest = np.zeros(3)
        for some in batches(self._bad.without(self.shots), objective.batch):
            record = objective.record(start, some)
            bad += [int(shot) for shot, gather in zip(some, record, strict=True) if not np.isfinite(gather).all()]
            if bad:
                continue
            slope = objective.compare(record, some)[1]
            arrays = objective.apply_weights(objective.apply_filter(record), some), objective.target(some), slope
            largest = np.maximum(largest, [float(np.abs(x).max()) for x in arrays])
        if bad:
            return f"the record of the start is not finite{_in(bad)}; check wavelet, models and dt"
        modelled, observed, derivative = largest.tolist()
        if not derivative:
            return "the misfit does not change with the record; check wavelet, receivers, weights and mask"
        return otherwise or (
            f"modelled samples are at most {modelled:.3g}, observed ones {observed:.3g}, the misfit's derivative "
            f"{derivative:.3g}; scale wavelet and data, so that both are about 1, and check weights and mask"
        )

    def _cell_weights(self) -> list[np.ndarray]:
        """Return one over the root of the damped relative illumination of each parameter; one in dark cells."""
        self.computed += self._cost(self.shots)
        start, encoding = list(self.unknowns.start), self._encoding

        def compute():
            if encoding is None:
                return 0.0, illumination(self.objective, start, indices=self._bad.without(self.shots))
            return 0.0, illumination(encoding(self.objective, self.shots), start)

        _, lit = self._answered(compute)
        pairs = zip(lit, self.unknowns.free, strict=True)
        means = [light[cells].mean() if cells.any() else 0.0 for light, cells in pairs]
        return [(1 + light / (DAMPING * mean or 1)) ** -0.5 for light, mean in zip(lit, means, strict=True)]
