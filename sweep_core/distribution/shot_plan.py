"""Shots over ranks or devices: a plan of pure integers."""

import heapq
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from .._util.validators import check_whole
from ..errors import OptionError, ShapeError


def _count(value: int) -> int:
    return check_whole(value, "count", 0)


def _size(value: int) -> int:
    return check_whole(value, "size", 1)


def _costs(value: Any) -> tuple[float, ...] | None:
    """Return the costs of shots as floats; None for equal costs."""
    if value is None:
        return None
    costs = np.asarray(value)
    if costs.ndim != 1 or costs.dtype.kind not in "fiu" or not (np.isfinite(costs) & (costs > 0)).all():
        raise OptionError(f"costs are {value!r}; expected one positive, finite number for each shot")
    return tuple(costs.astype(float).tolist())


@attrs.frozen
class ShotPlan:
    """The shots of each rank, as pure integers; each shot has one rank, and a rank may have none.

    Parts of equal shots are contiguous, and their sizes differ by one at most. With `costs` the most expensive shot
    that is left goes to the rank with the smallest cost so far, so that the largest part costs at most 4/3 of that of
    the best plan [1]_.

    Parameters
    ----------
    count : int
        Number of shots, 0 included.
    size : int
        Number of ranks or devices, from 1 on.
    costs : (count,) array, optional
        Cost of each shot in any unit, such as its time or the result of :func:`shot_costs`.

    Raises
    ------
    OptionError
        For another number, or costs that are not positive.
    ShapeError
        If there is not one cost for each shot.

    References
    ----------
    .. [1] R. L. Graham (1969), Bounds on multiprocessing timing anomalies, SIAM J. Appl. Math. 17, 416-429, theorem 2.

    Examples
    --------
    >>> [list(ShotPlan(count=5, size=2).part(rank)) for rank in range(2)]
    [[0, 1], [2, 3, 4]]
    >>> [list(ShotPlan(count=5, size=2, costs=[9, 1, 2, 3, 3]).part(rank)) for rank in range(2)]
    [[0], [1, 2, 3, 4]]
    """

    count: int = attrs.field(converter=_count)
    size: int = attrs.field(converter=_size)
    costs: tuple[float, ...] | None = attrs.field(default=None, converter=_costs)
    _parts: tuple[Sequence[int], ...] = attrs.field(init=False, repr=False, eq=False)

    @costs.validator
    def _check_costs(self, _: Any, costs: tuple[float, ...] | None) -> None:
        if costs is not None and len(costs) != self.count:
            raise ShapeError(f"costs has {len(costs)} entries; expected {self.count}, one for each shot")

    @_parts.default
    def _make_parts(self) -> tuple[Sequence[int], ...]:
        if self.costs is None:
            bounds = [self.count * rank // self.size for rank in range(self.size + 1)]
            return tuple(map(range, bounds[:-1], bounds[1:]))
        loads = [(0.0, rank) for rank in range(self.size)]
        parts: list[list[int]] = [[] for _ in range(self.size)]
        for cost, shot in sorted((-cost, shot) for shot, cost in enumerate(self.costs)):
            load, rank = loads[0]
            parts[rank].append(shot)
            heapq.heapreplace(loads, (load - cost, rank))
        return tuple(map(sorted, parts))

    def part(self, rank: int) -> Sequence[int]:
        """Return the positions of the shots of `rank`, in ascending order."""
        if not 0 <= check_whole(rank, "rank", 0) < self.size:
            raise OptionError(f"rank is {rank}; expected 0..{self.size - 1}")
        return self._parts[rank]

    @property
    def longest(self) -> int:
        """Number of shots of the largest part, to which equal parts are padded."""
        return max(map(len, self._parts))

    @property
    def order(self) -> np.ndarray:
        """Place of each shot in the parts of all ranks, joined by rank: ``joined[plan.order]`` is in order of shots."""
        return np.argsort([shot for part in self._parts for shot in part])

    def in_order(self, joined: Any) -> Any:
        """Return values of the parts of all ranks, joined by rank, in the order of the shots."""
        return joined if self.costs is None else joined[self.order]  # contiguous parts need no copy

    @property
    def imbalance(self) -> float:
        """Cost of the most expensive part over the mean, minus 1; 0 for a plan without shots."""
        loads = [sum(self.costs[shot] for shot in part) if self.costs else len(part) for part in self._parts]
        return max(loads) * self.size / sum(loads) - 1 if self.count else 0.0

    def padded(self) -> tuple[np.ndarray, np.ndarray]:
        """Return equal parts for devices that need them: positions (size, longest) and weights 1 or 0.

        A part that is short repeats a shot of the plan with weight 0, so that sums are exact.
        """
        if self.count == 0:
            raise ShapeError("a plan of no shots cannot be padded to equal parts")
        positions = np.zeros((self.size, self.longest), dtype=np.int64)
        weights = np.zeros((self.size, self.longest))
        for rank, part in enumerate(self._parts):
            positions[rank, : len(part)] = part
            weights[rank, : len(part)] = 1
        return positions, weights


def check_plan(distributor: Any, plan: ShotPlan, count: int, part: bool = False) -> None:
    """Raise a ShapeError unless a plan fits the group, and `count` shots fit the plan, or this rank's part of it.

    Parameters
    ----------
    distributor : Distributor
        The ranks.
    plan : ShotPlan
        The shots of each rank.
    count : int
        Number of shots of an array.
    part : bool
        True if the array holds the shots of this rank alone.

    Raises
    ------
    ShapeError
        The plan is for another number of ranks or shots.
    """
    if plan.size != distributor.size:
        raise ShapeError(f"plan.size is {plan.size}; expected {distributor.size}, the number of ranks")
    expected = len(plan.part(distributor.rank)) if part else plan.count
    if count != expected:
        raise ShapeError(
            f"the number of shots is {count}; expected {expected}, as in the plan{' for this rank' if part else ''}"
        )
