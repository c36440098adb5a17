"""A distributor whose verbs are timed."""

from typing import Any

import attrs

from .._util.arrays import numpy_of
from .distributor import Distributor
from .profile import record_interval
from .shot_plan import ShotPlan


def wait_for(x: Any) -> Any:
    """Return an array, or a list of arrays, after a device has computed it.

    Parameters
    ----------
    x : array, list or tuple of array, or None
        Arrays of any library.

    Returns
    -------
    object
        The same object.
    """
    for each in x if isinstance(x, list | tuple) else [x]:
        if hasattr(each, "ndim") and 0 not in each.shape:
            numpy_of(each[(0,) * each.ndim])  # reading one value waits for the stream that computes it
    return x


@attrs.frozen
class TimedDistributor:
    """A distributor that records the time of each verb: idle until all ranks have called it, then communication.

    A barrier before each verb of several ranks separates the two. All verbs return the values of `group`.

    Parameters
    ----------
    group : Distributor
        The ranks.
    """

    group: Distributor

    @property
    def rank(self) -> int:
        return self.group.rank

    @property
    def size(self) -> int:
        return self.group.size

    @property
    def device(self) -> Any:
        return self.group.device

    def scatter(self, plan: ShotPlan, x: Any) -> Any:
        return self._call("scatter", x, plan, x)

    def gather(self, plan: ShotPlan, part: Any) -> Any:
        return self._call("gather", part, plan, part)

    def broadcast(self, x: Any) -> Any:
        return self._call("broadcast", x, x)

    def reduce(self, x: Any) -> Any:
        return self._call("reduce", x, x)

    def all_reduce(self, x: Any) -> Any:
        return self._call("all_reduce", x, x)

    def all_gather(self, plan: ShotPlan, part: Any) -> Any:
        return self._call("all_gather", part, plan, part)

    def barrier(self) -> None:
        with record_interval("barrier", "idle"):
            self.group.barrier()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.group, name)

    def _call(self, verb: str, x: Any, *arguments: Any) -> Any:
        if self.size > 1:
            with record_interval(f"wait to {verb}", "idle"):
                self.group.barrier()
        with record_interval(verb, "communication", nbytes=int(getattr(x, "nbytes", 0) or 0)):
            return wait_for(getattr(self.group, verb)(*arguments))
