"""Shots that are fired at once, as few shots of many sources with random signs."""

from typing import Any

import attrs
import numpy as np

from .._util.arrays import numpy_of
from ..acquisition.call_shape import wavelet_layout
from ..acquisition.shots import Shots
from ..errors import UnsupportedError
from ..misfit import least_squares
from ..problem import Problem
from .objective import Objective


class Encoding:
    """Sums of shots, each times a random sign, in place of shots (Krebs et al. 2009, Geophysics 74, WCC177).

    What one shot's source sends to the data of another is noise that the mean over signs is free of: that of
    ``0.5 |sum c (s - d)|^2`` and of its gradient are those of the sum over shots.

    Parameters
    ----------
    count : int
        Shots of many sources, that ranks and batches share out as they do shots. All shots are dealt to them in turn.
    nshots : int
        Of the survey.
    seed : int
    """

    def __init__(self, count: int, nshots: int, seed: int):
        self.count, self.nshots = count, nshots
        self.random = np.random.default_rng(seed)
        self.draw()

    def draw(self) -> None:
        """Signs for the shots anew."""
        self.signs = self.random.choice([-1, 1], self.nshots)

    def cost(self, some: np.ndarray) -> int:
        """How many shots some of the survey are modelled as."""
        return min(self.count, len(some))

    def parts(self, some: np.ndarray) -> list[np.ndarray]:
        """The shots of each sum."""
        return [some[first :: self.cost(some)] for first in range(self.cost(some))]

    def __call__(self, objective: Objective, some: np.ndarray) -> Objective:
        """That of the sums of some shots."""
        parts, signs = self.parts(some), self.signs
        weights = objective.weights
        return attrs.evolve(
            objective, shots=summed(objective.problem, objective.shots, parts, signs),
            observed=np.stack([np.tensordot(signs[part].astype(objective.observed.dtype), objective.observed[part], 1)
                               for part in parts]),
            weights=None if weights is None else np.repeat(weights[:1], len(parts), axis=0),
        )  # fmt: skip


def summed(problem: Problem, shots: Shots, parts: list[np.ndarray], signs: np.ndarray) -> Shots:
    """A shot of many sources for each part of some shots, which have the same receivers."""
    sources = shots.sources.reshape(len(shots), -1, problem.grid.ndim)
    nt, own = wavelet_layout(problem, shots.wavelet, shots.sources)
    waves = shots.wavelet
    tail = waves.shape[waves.ndim - 1 - own :]
    if waves.ndim == len(tail) + 1:
        waves = waves[:, None]
    waves = np.broadcast_to(waves, (*sources.shape[:2], *tail)) * signs.reshape(-1, 1, *[1] * len(tail))
    longest = max(map(len, parts))
    places, driven = [], []
    for part in parts:
        # Parts that are a shot short repeat the position of one, whose wavelet is zero.
        full = np.resize(part, longest)
        sent = waves[full].astype(shots.wavelet.dtype)
        sent[len(part) :] = 0
        places.append(sources[full].reshape(-1, problem.grid.ndim))
        driven.append(sent.reshape(-1, *tail))
    receivers = shots.receivers if shots.receivers.ndim == 2 else shots.receivers[0]
    mask = None if shots.mask is None else np.repeat(shots.mask[:1], len(parts), axis=0)
    return Shots(np.stack(driven), np.stack(places), receivers, mask)


def check_encodable(shots: Shots, misfit: Any, weights: np.ndarray | None) -> None:
    """UnsupportedError unless the misfit of sums of shots says something of that of the shots."""
    if misfit is not least_squares:
        raise UnsupportedError(
            f"Stage: encoded needs sweep_core.misfit.least_squares, and misfit is {misfit!r}: of sums of shots it is "
            "no estimate of the sum over shots; leave one of them out"
        )
    receivers = shots.receivers if shots.receivers.ndim == 3 else None
    for name, rows in (("receivers", receivers), ("receiver_mask", shots.mask), ("weights", weights)):
        if rows is None:
            continue
        rows = numpy_of(rows)
        differs = np.any(rows != rows[:1], axis=tuple(range(1, rows.ndim)))
        if differs.any():
            raise UnsupportedError(
                f"Stage: encoded needs receivers that hear every shot, and {name} of shot {int(differs.argmax())} are "
                "not those of shot 0, as where a streamer moves; leave encoded out"
            )
