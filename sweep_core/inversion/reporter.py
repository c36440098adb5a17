"""The history of a run, as observers and the journal get it, and the position of a stage in the journal."""

from typing import Any

import numpy as np

from .._util.arrays import numpy_of
from ..distribution import Distributor
from .bad_shots import name_shots
from .batches import AfterShots
from .descent import Descent
from .experiment import model_error
from .journal import Journal
from .observers import Observers
from .stage import Stage


def _stack(arrays):
    """Return (nz, nx) for one parameter, or (n, nz, nx) for several, the layout of an Observation."""
    return arrays[0] if len(arrays) == 1 else np.stack(arrays)


class Reporter:
    """The history of a run, which it reports to the progress bar and to observers."""

    def __init__(self, observers: Observers, group: Distributor, journal: Journal, true: list[np.ndarray] | None):
        self.observers, self.group, self._journal, self._true = observers, group, journal, true
        self.history: list[dict[str, Any]] = []
        self._descent: Any = None
        self.stages, self.iterations, self.gradients, self.stopped = 0, 0, 0.0, False

    def bar(self, total: int, progress: bool) -> Any:
        """Return the bar over all iterations of all stages."""
        from tqdm import tqdm

        self._bar = tqdm(total=total, unit="it", disable=not progress or self.group.rank > 0)
        return self._bar

    def skip(self, stage: Stage, history: list[dict[str, Any]]) -> None:
        """Skip a stage that an earlier process has completed, with the history up to its end."""
        self.stages, self.history, self.gradients = self.stages + 1, history, history[-1]["gradients"]
        self.iterations = sum(line["iteration"] > 0 for line in history)
        self._bar.update(stage.iterations)

    def begin(self, stage: Stage, descent: Descent) -> None:
        """Report the start of a stage, whose gradient has been computed."""
        self._enter(stage, descent)
        self._tell("start", list(descent.unknowns.start))

    def resume(self, stage: Stage, descent: Descent, history: list[dict[str, Any]]) -> None:
        """Resume a stage whose first iterations an earlier process has run, with the history up to them."""
        self._enter(stage, descent)
        self.history, self._count = history, history[-1]["iteration"]
        self.iterations += self._count
        self._bar.update(self._count)

    def _enter(self, stage, descent):
        self.gradients += self._descent.computed if self._descent else 0
        self._stage, self._descent, self._count = stage, descent, 0
        self.stages += 1

    def iteration(self, x: np.ndarray) -> bool:
        """Report an iteration that has reached x. Return True if an observer ends the stage."""
        self._count += 1
        self.iterations += 1
        descent = self._descent
        self._tell("iteration", descent.unknowns.models(x))
        self._bar.set_postfix_str(f"{self._stage}: misfit {100 * descent.misfit / descent.first:.3g} %")
        self._bar.update()
        ends = np.array([self.observers.stopped == "stage", self.observers.stopped == "run"], np.float64)
        if self.group.size > 1:
            ends = numpy_of(self.group.all_reduce(ends))
        self.observers.stopped, self.stopped = "", bool(ends[1])
        return bool(ends.any())

    def shots(self, models: list[np.ndarray], shots: np.ndarray) -> AfterShots:
        """State the shots that this rank models, and return the function that reports batches of them to observers."""
        iteration = self.iterations + bool(self._descent)
        state_work = getattr(self.group, "state_work", None)
        if state_work:
            state_work(f"iteration {iteration}, {name_shots(shots)}")
        return self.observers.after_shots(iteration, lambda: _stack(models))

    def _tell(self, event, models):
        descent, nshots = self._descent, len(self._descent.objective.shots)
        error = {} if self._true is None else {"model_error": model_error(_stack(models), _stack(self._true))}
        self.history.append({
            "stage": self.stages, "about": str(self._stage), "iteration": self._count,
            "misfit": descent.misfit, **error, "gradients": self.gradients + descent.computed,
            "seconds": self._journal.seconds,
        })  # fmt: skip
        arrays = _stack(models), _stack(descent.gradients)
        self.observers.after_iteration(self.iterations, descent.misfit, nshots, *arrays, self.history, event)


class StagePosition:
    """The :class:`sweep_core.inversion.stepwise.Position` of a stage, in the journal."""

    def __init__(self, journal: Journal, descent: Descent, reporter: Reporter, stage: Stage):
        self._journal, self._descent, self._reporter = journal, descent, reporter
        self.step, self.x = 0, np.zeros(0)
        self.state: list[np.ndarray] = []
        descent.replay_nothing()
        checkpoint = journal.position()
        if checkpoint and checkpoint[0]["step"] <= stage.iterations:  # a stage with fewer iterations starts again
            position, (self.x, *self.state) = checkpoint
            self.step = position["step"]
            descent.resume(position["descent"])
            reporter.resume(stage, descent, position["history"])

    def keep(self, step: int, x: np.ndarray, state: list[np.ndarray]) -> None:
        """Give the state to the journal."""
        values = {"step": step, "descent": self._descent.position, "history": list(self._reporter.history)}
        self._journal.checkpoint(values, [x, *state])
