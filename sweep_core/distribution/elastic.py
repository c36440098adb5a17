"""Groups whose workers come and go: shots are tasks, and an engine such as Dask decides where each one runs."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeGuard, runtime_checkable

from .distributor import Distributor

Result = tuple[Any, list[Any]]
"""The value and the arrays of a task."""


@runtime_checkable
class ElasticDistributor(Distributor, Protocol):
    """A group of one rank whose workers compute tasks.

    A handle stands for a value that the workers hold. If a worker is lost, the engine computes or sends its values
    again on other workers. Functions and values must be picklable, and a task must not change its arguments, because
    another task may read them.
    """

    def place(self, value: Any) -> Any:
        """Return a handle of a value. Each worker that needs the value gets it once."""

    def call(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return a handle of the result of a function. Handles among the arguments stand for their values."""

    def fetch(self, handles: Sequence[Any]) -> list[Any]:
        """Return the values of handles, in their order, or raise the error of a task."""


def is_elastic(group: Any) -> TypeGuard[ElasticDistributor]:
    """Return True for a group whose workers compute tasks.

    Parameters
    ----------
    group : Distributor
        Any group.

    Returns
    -------
    bool
        True if the group has the methods of :class:`ElasticDistributor`.
    """
    return all(hasattr(group, name) for name in ("place", "call", "fetch"))


def add_results(a: Result, b: Result) -> Result:
    """Return the sum of two results: of their values, which lists join, and of their arrays.

    Parameters
    ----------
    a, b : (value, list of array)
        Results of tasks.

    Returns
    -------
    (value, list of array)
        The sum.
    """
    return a[0] + b[0], [x + y for x, y in zip(a[1], b[1], strict=True)]


def tree_sum(group: ElasticDistributor, add: Callable[[Any, Any], Any], handles: Sequence[Any]) -> Any:
    """Return the handle of a sum: neighbours are added, then the sums of neighbours, and so on.

    The order of the additions depends on the number of handles alone, so the sum has the same bits on any workers. They
    hold a few sums at a time, and one sum leaves them.

    Parameters
    ----------
    group : ElasticDistributor
        The workers.
    add : callable
        ``add(a, b)`` returns the sum of two values.
    handles : sequence of handle
        One or more values, in a fixed order.

    Returns
    -------
    handle
        The sum.
    """
    level = list(handles)
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [group.call("sum", add, a, b) for a, b in pairs] + level[len(level) // 2 * 2 :]
    return level[0]
