"""Source encoding: sums of many shots with random signs, which fire at once."""

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
from .observed_data import StoredData, SummedData


class Encoding:
    """Sums of shots, each times a random sign, in place of shots (Krebs et al. 2009, Geophysics 74, WCC177).

    The cross-talk between shots is noise whose mean over signs is zero: the means of ``0.5 |sum c (s - d)|^2`` and of
    its gradient are those of the sum over shots.

    Parameters
    ----------
    count : int
        Number of sums. Shots are assigned to them in turn; ranks and batches share the sums as they share shots.
    nshots : int
        Number of shots of the survey.
    seed : int
        Seed of the signs.
    """

    def __init__(self, count: int, nshots: int, seed: int):
        self.count, self.nshots = count, nshots
        self.random = np.random.default_rng(seed)
        self.draw()

    def draw(self) -> None:
        """Draw new signs for the shots."""
        self.signs = self.random.choice([-1, 1], self.nshots)

    def cost(self, some: np.ndarray) -> int:
        """Return the number of sums of some shots.

        Parameters
        ----------
        some : (n,) integer array
            Shots, counted from 0.

        Returns
        -------
        int
            The number of sums.
        """
        return min(self.count, len(some))

    def parts(self, some: np.ndarray) -> list[np.ndarray]:
        """Return the shots of each sum.

        Parameters
        ----------
        some : (n,) integer array
            Shots, counted from 0.

        Returns
        -------
        list of integer arrays
            The shots of each sum.
        """
        return [some[first :: self.cost(some)] for first in range(self.cost(some))]

    def __call__(self, objective: Objective, some: np.ndarray) -> Objective:
        """Return the objective of the sums of some shots."""
        parts, signs = self.parts(some), self.signs
        weights = objective.weights
        return attrs.evolve(
            objective, shots=sum_shots(objective.problem, objective.shots, parts, signs),
            observed=sum_observed(objective.observed, parts, signs),
            weights=None if weights is None else np.repeat(weights[:1], len(parts), axis=0), costs=None,
        )  # fmt: skip


def sum_shots(problem: Problem, shots: Shots, parts: list[np.ndarray], signs: np.ndarray) -> Shots:
    """Return a shot of many sources for each part of some shots, which have the same receivers."""
    sources = shots.sources.reshape(len(shots), -1, problem.grid.ndim)
    nt, by_field = wavelet_layout(problem, shots.wavelet, shots.sources)
    waves = shots.wavelet
    tail = waves.shape[waves.ndim - 1 - by_field :]
    if waves.ndim == len(tail) + 1:
        waves = waves[:, None]
    waves = np.broadcast_to(waves, (*sources.shape[:2], *tail)) * signs.reshape(-1, 1, *[1] * len(tail))
    longest = max(map(len, parts))
    places, wavelets = [], []
    for part in parts:
        # A shorter part repeats the position of a shot, with a wavelet of zeros.
        full = np.resize(part, longest)
        signal = waves[full].astype(shots.wavelet.dtype)
        signal[len(part) :] = 0
        places.append(sources[full].reshape(-1, problem.grid.ndim))
        wavelets.append(signal.reshape(-1, *tail))
    receivers = shots.receivers if shots.receivers.ndim == 2 else shots.receivers[0]
    mask = None if shots.mask is None else np.repeat(shots.mask[:1], len(parts), axis=0)
    return Shots(np.stack(wavelets), np.stack(places), receivers, mask)


def sum_observed(observed: Any, parts: list[np.ndarray], signs: np.ndarray) -> Any:
    """Return the sums of the observed data of some shots with signs; those of a store are read when they are used."""
    if isinstance(observed, StoredData):
        return SummedData(observed, parts, signs)
    return np.stack([np.tensordot(signs[part].astype(observed.dtype), observed[part], 1) for part in parts])


def check_encodable(shots: Shots, misfit: Any, weights: np.ndarray | None) -> None:
    """Raise an UnsupportedError unless the misfit of sums of shots estimates the sum of the misfits of the shots."""
    if misfit is not least_squares:
        raise UnsupportedError(
            f"misfit is {misfit!r}; expected sweep_core.misfit.least_squares for a Stage with encoded. Another misfit "
            "of sums of shots does not estimate the sum over shots; leave one of them out"
        )
    receivers = shots.receivers if shots.receivers.ndim == 3 else None
    for name, rows in (("receivers", receivers), ("receiver_mask", shots.mask), ("weights", weights)):
        if rows is None:
            continue
        rows = numpy_of(rows)
        differs = np.any(rows != rows[:1], axis=tuple(range(1, rows.ndim)))
        if differs.any():
            raise UnsupportedError(
                f"Stage: encoded needs receivers that record every shot, but {name} of shot {int(differs.argmax())} "
                "differ from those of shot 0, as with a moving streamer; leave encoded out"
            )
