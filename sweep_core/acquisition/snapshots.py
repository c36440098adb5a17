"""Snapshots: which wavefields a call hands out, where and when."""

import operator
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from .._util.validators import check_whole, is_whole
from ..errors import DomainError, OptionError, ShapeError
from ..problem.problem import absent

UNDERIVABLE = (
    "impl='c' has a derivative of the record but none of snapshots; use impl='eager', detach the snapshots "
    "(jax.lax.stop_gradient), or call without them in forward mode"
)
"""The refusal of compiled code, which hands snapshots out beside a derivative of the record."""


def _fields(value: Sequence[str]) -> Any:
    return tuple(value) if isinstance(value, list | tuple) else value


def _region(value: Any) -> Any:
    if value is None:
        return None
    if not len(value) or any(isinstance(n, bool) for bounds in value for n in bounds):
        raise TypeError
    return tuple(tuple(operator.index(n) for n in bounds) for bounds in value)


@attrs.frozen
class Snapshots:
    """Wavefields as they are at times 0, every dt, 2 every dt, ... up to the last sample, without the PML.

    They are those of the time steps themselves: uncorrected where the record's time dispersion is corrected. With
    ``impl='eager'`` they are differentiable; with ``impl='c'`` their derivative is refused.

    Parameters
    ----------
    fields : list of str
        Fields of the equation.
    every : int
        Steps from one snapshot to the next, at most the samples of the wavelet.
    region : ((low, high), ...), optional
        Cells low .. high - 1 of each axis of the model, depth first; all of it by default.

    Raises
    ------
    OptionError
        For anything else; a call also refuses fields and cells that do not exist.

    Examples
    --------
    >>> Snapshots(["h1"], every=10).times(nt=31, dt=0.001)
    array([0.  , 0.01, 0.02, 0.03])
    """

    fields: tuple[str, ...] = attrs.field(converter=_fields)
    every: int = 1
    region: tuple[tuple[int, int], ...] | None = attrs.field(default=None)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.fields, tuple) or not self.fields or not all(isinstance(f, str) for f in self.fields):
            raise OptionError(f"Snapshots: fields is {self.fields!r}; expected a list of fields such as ['h1']")
        if len(set(self.fields)) != len(self.fields):
            raise OptionError(f"Snapshots: fields is {list(self.fields)}; each field may be named once")
        check_whole(self.every, "Snapshots: every", 1, "steps")
        try:
            object.__setattr__(self, "region", _region(self.region))
        except (TypeError, ValueError):
            raise OptionError(
                f"Snapshots: region is {self.region!r}; expected (low, high) for each axis, in whole cells"
            ) from None

    def count(self, nt: int) -> int:
        """Return the number of snapshots of a run of nt samples."""
        return (nt - 1) // self.every + 1

    def times(self, nt: int, dt: float) -> np.ndarray:
        """Return the times (s) of the snapshots of a run of nt samples."""
        if not is_whole(nt, 1):
            raise DomainError(f"nt is {nt!r}; expected a whole number of samples, from 1 on")
        return np.arange(self.count(nt)) * self.every * dt

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis; of checked snapshots, whose region is stated."""
        return tuple(high - low for low, high in self.region or ())


def check_snapshots(problem: Any, snapshots: Any, nt: int) -> Snapshots:
    """Return `snapshots` of a run of nt samples with their region stated.

    Raises
    ------
    OptionError, ShapeError, DomainError
    """
    if not isinstance(snapshots, Snapshots):
        raise OptionError(f"snapshots is {snapshots!r}; expected Snapshots(fields=[...], every=...)")
    known = [f.name for f in problem.equation.waves_in(problem.grid.ndim)]
    for field in snapshots.fields:
        if field not in known:
            raise OptionError(f"snapshots name {field!r}, {absent(field, problem.equation, known)}")
    if snapshots.every > nt:
        raise DomainError(f"Snapshots: every is {snapshots.every}; expected 1 to {nt}, the samples of the wavelet")
    shape = problem.grid.shape
    region = snapshots.region or tuple((0, n) for n in shape)
    if len(region) != len(shape) or any(len(bounds) != 2 for bounds in region):
        raise ShapeError(f"Snapshots: region is {region}; expected (low, high) for each axis {problem.grid.axes}")
    for axis, n, (low, high) in zip(problem.grid.axes, shape, region, strict=True):
        if not 0 <= low < high <= n:
            raise DomainError(f"Snapshots: region along {axis} is {low}..{high}; expected a part of 0..{n}")
    return attrs.evolve(snapshots, region=region)


def crop(problem: Any, snapshots: Snapshots, x: Any) -> Any:
    """Return the region of a wavefield (..., *padded grid)."""
    cells = zip(problem.pml, snapshots.region or (), strict=True)
    return x[(..., *(slice(width + low, width + high) for (width, _), (low, high) in cells))]
