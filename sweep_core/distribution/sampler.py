"""Shots of the steps of an inversion that draws some shots for each step."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._util.validators import check_whole
from ..errors import OptionError
from .shot_plan import ShotPlan


class ShotSampler:
    """The shots of one rank in each step of an epoch, in an order that changes with the epoch.

    An epoch has each shot once, whatever the number of ranks; a rank may have no shot in a step. All ranks draw the
    same order and have the same number of steps, so the sum over ranks of each step is that of one rank. The sampler is
    an iterator over lists of shots, and the `batch_sampler` of a ``torch.utils.data.DataLoader``.

    Parameters
    ----------
    count : int
        Number of shots.
    shots : int
        Shots of a step, over all ranks; the last step of an epoch may have fewer.
    rank, size : int
        Number of this rank, and the number of ranks.
    seed : int
        Seed of the order.
    costs : (count,) array, optional
        Cost of each shot, by which a step is shared; see :class:`ShotPlan`.

    Attributes
    ----------
    epoch : int
        Number of the current epoch, from 0 on. The end of an epoch increases it.

    Raises
    ------
    OptionError, ShapeError
        For another number, or costs that do not fit.

    Examples
    --------
    >>> from sweep_core.distribution import ShotSampler
    >>> ranks = [ShotSampler(count=5, shots=4, rank=rank, size=2) for rank in range(2)]
    >>> steps = [list(sampler) for sampler in ranks]
    >>> [[len(step) for step in rank] for rank in steps], sorted(sum(steps[0] + steps[1], []))
    ([[2, 0], [2, 1]], [0, 1, 2, 3, 4])
    """

    def __init__(self, count: int, shots: int, rank: int = 0, size: int = 1, seed: int = 0, costs: Any = None) -> None:
        for name, value, least in (("count", count, 1), ("shots", shots, 1), ("seed", seed, 0)):
            check_whole(value, name, least)
        plan = ShotPlan(count, size, costs)
        plan.part(rank)  # checks the rank
        self.count, self.shots, self.rank, self.size, self.seed = count, shots, rank, size, seed
        self.epoch, self._step = 0, 0
        self._costs = None if plan.costs is None else np.array(plan.costs)

    def __len__(self) -> int:
        """Return the number of steps of an epoch."""
        return -(-self.count // self.shots)

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the shots of this rank in each step that is left of the epoch, then begin the next epoch."""
        order = np.random.default_rng([self.seed, self.epoch]).permutation(self.count)
        while self._step < len(self):
            step = order[self._step * self.shots : (self._step + 1) * self.shots]
            self._step += 1
            plan = ShotPlan(len(step), self.size, None if self._costs is None else self._costs[step])
            yield step[list(plan.part(self.rank))].tolist()
        self.set_epoch(self.epoch + 1)

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch, as for ``torch.utils.data.DistributedSampler``.

        Parameters
        ----------
        epoch : int
            Number of the epoch, from 0 on.

        Raises
        ------
        OptionError
            For another number.
        """
        self.epoch, self._step = check_whole(epoch, "epoch", 0), 0

    def state_dict(self) -> dict[str, int]:
        """Return the position in the sequence of shots, for a checkpoint.

        Returns
        -------
        dict of str to int
            Seed, epoch, and number of steps of the epoch so far. A DataLoader with workers runs ahead of its steps.
        """
        return {"seed": self.seed, "epoch": self.epoch, "step": self._step}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continue from a position.

        Parameters
        ----------
        state : dict of str to int
            Result of :meth:`state_dict`, of any rank.

        Raises
        ------
        OptionError
            If the state is that of another seed.
        """
        if state["seed"] != self.seed:
            raise OptionError(f"seed is {self.seed}; expected {state['seed']}, the seed of the state")
        self.set_epoch(state["epoch"])
        self._step = state["step"]
