"""The number of shots that are modelled at once: as many as the memory budget of the solver holds."""

from collections.abc import Sequence
from typing import Any

from ..acquisition.call_shape import wavelet_layout
from ..distribution import is_elastic
from ..errors import MemoryLimitError, OptionError
from .objective import Objective
from .stage import Stage

DEFAULT = 4
"""Shots at once if the solver has no budget."""


def choose_batch(solver: Any, objective: Objective, stages: Sequence[Stage]) -> int:
    """Return the largest number of shots at once whose gradient fits the budget, at no cost in time.

    Within a budget, more shots at once leave less history for each, so the strategy computes more steps again. The
    result is the largest number with the relative time of a single shot, by ``solver.estimate``, and at most the
    shots of a rank. Without a budget, and if shots are computed one by one, it is DEFAULT.

    Raises
    ------
    MemoryLimitError
        A single shot does not fit.
    OptionError
        The solver cannot estimate its memory.
    """
    problem, shots = objective.problem, objective.shots
    if problem.memory.budget is None or objective.reduction == "ordered" or is_elastic(objective.group):
        return DEFAULT
    if not hasattr(solver, "estimate"):
        raise OptionError(
            f"batch is None and {problem.memory} limits the memory, which {type(solver).__name__} cannot estimate; "
            "expected the number of shots that are modelled at once; state batch"
        )
    nt, _ = wavelet_layout(problem, shots.wavelet, shots.sources)
    nsources = 1 if shots.sources.ndim == 2 else shots.sources.shape[1]
    summed = max(-(-len(shots) // (stage.encoded or len(shots))) for stage in stages)

    def time(count: int) -> float:
        estimate = solver.estimate(
            count, nt, nsources * summed, int(shots.receivers.shape[-2]), str(objective.observed.dtype)
        )
        return float(estimate.current.time)

    least = time(1)
    fits, exceeds = 1, -(-len(shots) // objective.group.size) + 1
    while exceeds - fits > 1:
        middle = (fits + exceeds) // 2
        try:
            is_as_fast = time(middle) <= least
        except MemoryLimitError:
            is_as_fast = False
        fits, exceeds = (middle, exceeds) if is_as_fast else (fits, middle)
    return fits
