"""Shots of an objective as tasks of an elastic group: each worker holds the data of its own shots."""

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .._util.arrays import numpy_of
from ..distribution import SerialDistributor, add_results, is_elastic, ordered_tasks, tree_sum
from ..errors import DistributedError, OptionError, SweepError

_PLACED: WeakKeyDictionary[Any, dict[int, Any]] = WeakKeyDictionary()
"""Handles of the shots that the workers of an objective hold, until the objective is dropped."""


def group_of(executor: Any, group: Any) -> tuple[Any, Any]:
    """Return the executor that models shots, and the group that shares them.

    An executor that spreads shots over workers has the attributes `group`, and `worker`, the executor of a worker. An
    OptionError refuses another group beside it.
    """
    own = getattr(executor, "group", None)
    if own is None:
        return executor, group
    if group.size > 1 or is_elastic(group):
        raise OptionError(
            f"group is {type(group).__name__} of {group.size} ranks, and backend {executor.name!r} has a group of its "
            "own; expected one of them; start one process, or leave group out"
        )
    return executor.worker, own


def part_of(objective: Any, some: np.ndarray) -> Any:
    """Return the objective of some shots alone, which holds no data of other shots and has a group of one rank.

    The data of these shots may be zero throughout, unlike those of a survey.
    """
    values = {
        "shots": objective.shots.take(some), "observed": objective.observed[some], "group": SerialDistributor(),
        "weights": None if objective.weights is None else objective.weights[some], "costs": None,
        "reduction": "fast", "numbers": objective.shot_numbers(some),
    }  # fmt: skip
    part = copy.copy(objective)  # evolve would check again, and refuse a shot without signal
    for name, value in values.items():
        object.__setattr__(part, name, value)
    return part


def values_of_shots(
    objective: Any, function: Callable[..., Any], models: Sequence[np.ndarray], indices: np.ndarray
) -> list[Any]:
    """Return ``function(part, models, [0])`` of some shots; `part` is the objective of one of them.

    The group of the objective is elastic, and the function can be pickled. An error names its shot.
    """
    return objective.group.fetch(_calls(objective, function, models, indices))


def sum_of_shots(
    objective: Any, pull: Callable[..., Any], models: Sequence[np.ndarray], indices: np.ndarray,
    after: Callable[[Any, Any], None] | None,
) -> tuple[float, list[np.ndarray]]:  # fmt: skip
    """Return the sums over some shots of the misfits and gradients that ``pull(part, models, [0])`` returns.

    The arguments are like those of :func:`values_of_shots`. Misfits are added in the order of `indices`, and the bits
    of the gradients do not depend on the workers. ``after(shots, misfit)`` is called for each shot once all are
    computed.
    """
    if not len(indices):
        return 0.0, [np.zeros(model.shape) for model in models]
    group, is_ordered = objective.group, objective.reduction == "ordered"
    results = _calls(objective, partial(_misfit_and_gradients, pull), models, indices)
    if is_ordered:
        total, gradients, misfits = ordered_tasks(group, results)
    else:
        parts = [group.call("misfit", _listed, result) for result in results]
        misfits, gradients = group.fetch([tree_sum(group, add_results, parts)])[0]
        total = float(sum(misfits))
    if after:
        for shot, misfit in zip(indices, misfits, strict=True):
            after(np.array([shot]), misfit)
    return total, gradients


def _calls(objective, function, models, indices) -> list[Any]:
    """Return the handles of ``function(part, models, [0])`` of some shots."""
    group, placed = objective.group, _PLACED.setdefault(objective, {})
    for shot in indices:
        if shot not in placed:
            placed[shot] = group.place(part_of(objective, np.array([shot])))
    shared = group.place(function), group.place([numpy_of(model) for model in models])
    return [group.call(f"shot {shot}", _of_shot, int(shot), placed[shot], *shared) for shot in indices]


def _of_shot(shot: int, part: Any, function: Callable[..., Any], models: Sequence[np.ndarray]) -> Any:
    """Return the value of a function for one shot, on a worker. Errors begin with the number of the shot."""
    try:
        return function(part, models, np.array([0]))
    except SweepError as error:
        raise type(error)(f"shot {shot}: {error}") from error
    except Exception as error:
        raise DistributedError(f"shot {shot} failed with {type(error).__name__}: {error}") from error


def _misfit_and_gradients(pull, part, models, some) -> tuple[float, list[np.ndarray]]:
    value, slopes = pull(part, models, some)
    return float(value), [np.asarray(numpy_of(slope), np.float64) for slope in slopes]


def _listed(result):
    return [result[0]], result[1]
