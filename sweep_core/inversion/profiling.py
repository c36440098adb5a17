"""The profile of an inversion: timed executors, steps of optimisers, and the files of a profile."""

import copy
import json
import os
import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..distribution import (
    Distributor,
    Profile,
    Recorder,
    TimedDistributor,
    chrome_trace,
    is_elastic,
    record_interval,
    wait_for,
)
from ..distribution.profile import EVALUATION, STEP
from ..errors import UnsupportedError
from ..io import replacing
from ..plot import plot_profile, save
from ..plot.canvas import new_figure
from .tasks import group_of

FILES = re.compile(r"profile\.(txt|png)|trace\.json")
"""Names of the files of a profile."""


class TimedExecutor:
    """An executor that records the time of forward and backward runs. All results are those of `executor`.

    ``misfit_and_gradient`` is separated into forward and backward if it calls the `pullback` of its executor, as those
    of torch and JAX do. Otherwise its time is of the kind ``'gradient'``.

    Parameters
    ----------
    executor : Executor
        An executor.
    """

    def __init__(self, executor: Any):
        self._executor, self._inside = executor, copy.copy(executor)
        if hasattr(executor, "pullback") and hasattr(executor, "__dict__"):
            self._inside.pullback = self._pullback

    def __getattr__(self, name: str) -> Any:
        if name in ("_executor", "_inside"):  # of a copy that has no attributes yet
            raise AttributeError(name)
        value = getattr(self._executor, name)  # an operation that the executor lacks, this one lacks too
        if name in ("forward", "born"):
            return self._timed(name, value)
        return {"pullback": self._pullback, "misfit_and_gradient": self._misfit_and_gradient}.get(name, value)

    def _timed(self, name: str, run: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            with record_interval(name, "forward"):
                return wait_for(run(*arguments))

        return timed

    def _pullback(self, problem: Any, shots: Any, models: Any) -> Any:
        with record_interval("forward", "forward"):
            record, pull = self._executor.pullback(problem, shots, models)
            wait_for(record)

        def timed(cotangent: Any) -> Any:
            with record_interval("backward", "backward", shots=len(shots)):
                return wait_for(pull(cotangent))

        return record, timed

    def _misfit_and_gradient(self, problem: Any, shots: Any, models: Any, observed: Any) -> Any:
        with record_interval("misfit and gradient", "gradient", shots=len(shots)) as interval:
            result = wait_for(self._inside.misfit_and_gradient(problem, shots, models, observed))
            if interval and interval.inner:  # the rest is the comparison with the observed data
                interval.kind, interval.shots = "data", 0
        return result


class _TimedPosition:
    """A :class:`sweep_core.inversion.stepwise.Position` whose writing is timed."""

    def __init__(self, position: Any):
        self._position = position

    def __getattr__(self, name: str) -> Any:
        return getattr(self._position, name)

    def keep(self, step: int, x: np.ndarray, state: list[np.ndarray]) -> None:
        with record_interval("checkpoint", "host"):
            self._position.keep(step, x, state)


class Profiler:
    """A recorder of the steps of an inversion. If it is off, it returns its arguments and calls them directly.

    Parameters
    ----------
    is_on : bool
        Record the time of the steps.
    executor : Executor
        The executor.
    group : Distributor
        The ranks.
    folder : path-like, optional
        Folder of the files of the profile.

    Raises
    ------
    UnsupportedError
        Workers of the group compute the shots, or matplotlib, which draws the picture in `folder`, is not installed.
    """

    def __init__(self, is_on: bool, executor: Any, group: Distributor, folder: str | os.PathLike[str] | None = None):
        if is_on and is_elastic(group_of(executor, group)[1]):
            raise UnsupportedError(
                "profile is True, but workers of an elastic group compute the shots; leave it out, and see the "
                "dashboard of the cluster"
            )
        if is_on and folder:
            new_figure((1.0, 1.0))  # refuses before the run if matplotlib is missing
        self.is_on, self.files, self._folder = is_on, FILES, folder
        self.executor: Any = TimedExecutor(executor) if is_on else executor
        self.group: Any = TimedDistributor(group) if is_on else group
        self._recorder, self._stack, self._is_due = Recorder(), ExitStack(), False

    def __enter__(self) -> Self:
        if self.is_on:
            self._stack.enter_context(self._recorder.recording(self.group))
            self._recorder.begin_step("start")
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.close()

    def minimise(
        self, optimiser: Any, function: Any, limits: Any, iterations: int, after: Callable[[np.ndarray], bool],
        *position: Any,
    ) -> np.ndarray:  # fmt: skip
        """Return the result of ``optimiser.minimise``. A step ends with the first evaluation that follows `after`."""
        if not self.is_on:
            return optimiser.minimise(function, limits, iterations, after, *position)
        self.group.barrier()  # so that no rank waits in its first step for the start of another
        self._is_due = True
        nbytes = 8 * (1 + sum(gradient.size for gradient in function.gradients))

        def timed_function(x: np.ndarray) -> tuple[float, np.ndarray]:
            if self._is_due:
                self._recorder.begin_step(STEP)
                self._is_due = False
            with record_interval(EVALUATION, "host", nbytes=nbytes):
                return function(x)

        def timed_after(x: np.ndarray) -> bool:
            with record_interval("observers", "host"):
                ends = after(x)
            self._is_due = True
            return ends

        x = optimiser.minimise(timed_function, limits, iterations, timed_after, *map(_TimedPosition, position))
        if not self._is_due:  # the optimiser ended before it reported an iteration
            self._recorder.steps[-1] = "unfinished step", self._recorder.steps[-1][1]
        self._recorder.begin_step("end")
        return x

    def result(self) -> Profile | None:
        """Return the profile of all ranks, on rank 0, which writes its files; None elsewhere, or if it is off."""
        profile = self._recorder.gather(self.group) if self.is_on else None
        if profile and self._folder:
            write_profile(profile, Path(self._folder))
        return profile


def write_profile(profile: Profile, folder: Path) -> None:
    """Write ``profile.txt``, ``trace.json`` and, if there are steps, ``profile.png``."""
    with replacing(folder / "profile.txt") as stream:
        stream.write(f"{profile}\n".encode())
    with replacing(folder / "trace.json") as stream:
        stream.write(json.dumps(chrome_trace(profile)).encode())
    if profile.is_step.any():
        save(plot_profile(profile), folder / "profile.png")
