"""Shots over ranks or devices: a plan of pure integers."""

from typing import Any

import attrs
import numpy as np

from .._util.validators import check_whole
from ..errors import OptionError, ShapeError


def _count(value: int) -> int:
    return check_whole(value, "count", 0)


def _size(value: int) -> int:
    return check_whole(value, "size", 1)


@attrs.frozen
class ShotPlan:
    """Which rank has which of `count` shots: contiguous parts whose sizes differ by one at most; parts may be empty.

    Parameters
    ----------
    count : int
        Number of shots, 0 included.
    size : int
        Number of ranks or devices, from 1 on.

    Raises
    ------
    OptionError
        For another number.

    Examples
    --------
    >>> [list(ShotPlan(count=5, size=2).part(rank)) for rank in range(2)]
    [[0, 1], [2, 3, 4]]
    """

    count: int = attrs.field(converter=_count)
    size: int = attrs.field(converter=_size)

    def part(self, rank: int) -> range:
        """Return the positions of the shots of `rank`, in order."""
        if not 0 <= check_whole(rank, "rank", 0) < self.size:
            raise OptionError(f"rank is {rank}; expected 0..{self.size - 1}")
        return range(self.count * rank // self.size, self.count * (rank + 1) // self.size)

    @property
    def longest(self) -> int:
        """Shots of the largest part: what equal parts are padded to."""
        return -(-self.count // self.size)

    def padded(self) -> tuple[np.ndarray, np.ndarray]:
        """Return equal parts for devices that need them: positions (size, longest) and weights 1 or 0.

        A part that is short repeats a shot of the plan with weight 0, so that sums are exact.
        """
        if self.count == 0:
            raise ShapeError("a plan of no shots cannot be padded to equal parts")
        positions = np.zeros((self.size, self.longest), dtype=np.int64)
        weights = np.zeros((self.size, self.longest))
        for rank in range(self.size):
            part = self.part(rank)
            positions[rank, : len(part)] = part
            weights[rank, : len(part)] = 1
        return positions, weights


def check_plan(distributor: Any, plan: ShotPlan, count: int, part: bool = False) -> None:
    """Raise a ShapeError unless a plan fits the group, and `count` shots fit the plan, or this rank's part of it."""
    if plan.size != distributor.size:
        raise ShapeError(f"plan.size is {plan.size}; expected {distributor.size}, the number of ranks")
    expected = len(plan.part(distributor.rank)) if part else plan.count
    if count != expected:
        raise ShapeError(
            f"the number of shots is {count}; expected {expected}, as in the plan{' for this rank' if part else ''}"
        )
