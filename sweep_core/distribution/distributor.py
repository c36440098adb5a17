"""Shots over ranks or devices: a plan of pure integers, and the verbs that a backend's distributor speaks."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import attrs
import numpy as np

from .._util.arrays import numpy_of
from ..errors import DistributedError, SweepError, UnsupportedError
from .shot_plan import ShotPlan, check_plan


@runtime_checkable
class Distributor(Protocol):
    """The verbs of a group of `size` ranks; each is a linear map and names its adjoint. Arrays are the backend's own;
    NumPy arrays are always accepted. ``python -m sweep_core.testing package.module:Class`` tests them.

    Under one process with many devices (JAX) the ranks are devices, and a value of every rank is an array with a
    leading axis of length `size`.

    A distributor may also have a method ``state_work(text)``, by which an inversion states the iteration and the shots
    of this rank. Errors on other ranks then name the work of a rank that has ended or hangs.
    """

    rank: int
    size: int
    device: Any
    """Device of this rank's arrays and results; None for the default of the framework."""

    def scatter(self, plan: ShotPlan, x: Any) -> Any:
        """Return this rank's part of x, whose first axis counts shots. The adjoint is gather."""

    def gather(self, plan: ShotPlan, part: Any) -> Any:
        """Return all parts, in the order of the shots, on rank 0 (None elsewhere). The adjoint is scatter."""

    def broadcast(self, x: Any) -> Any:
        """Return the value of rank 0 on every rank. The adjoint is reduce."""

    def reduce(self, x: Any) -> Any:
        """Return the sum over ranks, on rank 0 (None elsewhere). The adjoint is broadcast."""

    def all_reduce(self, x: Any) -> Any:
        """Return the sum over ranks, on every rank. The operation is its own adjoint."""

    def all_gather(self, plan: ShotPlan, part: Any) -> Any:
        """Return all parts, in the order of the shots, on every rank. The adjoint is the scatter of the sum."""

    def barrier(self) -> None:
        """Wait until every rank has called it."""


@attrs.frozen
class SerialDistributor(Distributor):
    """A group of one rank: every verb is the identity.

    Parameters
    ----------
    device : str, torch.device or jax.Device, optional
        Device of its arrays.
    """

    device: Any = None
    rank: int = attrs.field(default=0, init=False)
    size: int = attrs.field(default=1, init=False)

    def scatter(self, plan: ShotPlan, x: Any) -> Any:
        check_plan(self, plan, x.shape[0])
        return x

    def gather(self, plan: ShotPlan, part: Any) -> Any:
        check_plan(self, plan, part.shape[0])
        return part

    def broadcast(self, x: Any) -> Any:
        return x

    def reduce(self, x: Any) -> Any:
        return x

    def all_reduce(self, x: Any) -> Any:
        return x

    def all_gather(self, plan: ShotPlan, part: Any) -> Any:
        return self.gather(plan, part)

    def barrier(self) -> None:
        return None


def on_root(group: Distributor, action: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of `action` on rank 0, and None elsewhere. An error on rank 0 is raised on every rank.

    Parameters
    ----------
    group : Distributor
        The ranks.
    action : callable
        A function that rank 0 calls.
    *arguments
        Its arguments.

    Returns
    -------
    object or None
        Result of `action` on rank 0.

    Raises
    ------
    SweepError
        The error of `action`, on rank 0.
    DistributedError
        On the other ranks.
    """
    result = refusal = None
    if group.rank == 0:
        try:
            result = action(*arguments)
        except SweepError as error:
            refusal = error
    if float(numpy_of(group.all_reduce(np.array([float(refusal is not None)])))[0]):
        raise refusal or DistributedError("rank 0 failed; its error message states the reason")
    return result


def check_same(group: Distributor, values: Mapping[str, Any]) -> None:
    """Check that texts, or other values with a repr, are the same on all ranks; every rank calls this.

    Parameters
    ----------
    group : Distributor
        The ranks.
    values : mapping of str to object
        Values by name, the same names on every rank.

    Raises
    ------
    DistributedError
        On every rank, with the names of the values that differ.
    UnsupportedError
        The group is one process with many devices, which has no values of one rank.
    """
    digests = [hashlib.sha256(repr(value).encode()).digest()[:6] for value in values.values()]
    own = np.array([int.from_bytes(digest, "big") for digest in digests], np.float64)
    root = numpy_of(group.broadcast(own if group.rank == 0 else None))
    if root.shape != own.shape:
        raise UnsupportedError(
            f"group is {type(group).__name__}, whose ranks are devices of one process; expected ranks that are "
            "processes; leave group out, and let the executor distribute the shots over devices, as "
            "sweep_jax.distribution.DevicesExecutor does"
        )
    counts = numpy_of(group.all_reduce((own != root).astype(np.float64)))
    differing = [
        f"{name} is {str(value)[:60]} here" for (name, value), n in zip(values.items(), counts, strict=True) if n
    ]
    if differing:
        raise DistributedError(
            f"rank {group.rank} of {group.size}: {', '.join(differing)}, but not on all ranks; expected the same "
            "arguments on every rank"
        )
