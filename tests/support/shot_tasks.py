"""Tasks in this process, an executor that workers import quickly, and misfits that kill, fail and wait."""

import os
import signal
import time
from pathlib import Path

import attrs
import numpy as np

from sweep_core import NumpyRun, SerialDistributor, check_arrays, compiled_support, least_squares
from sweep_core.inversion import Objective
from sweep_core.testing.cases import case


class LocalTasks(SerialDistributor):
    """An elastic group without workers: each task runs where it is called."""

    def place(self, value):
        return value

    def call(self, name, function, *arguments):
        return function(*arguments)

    def fetch(self, handles):
        return list(handles)


class CompiledExecutor:
    """Compiled code on NumPy arrays, without torch and JAX."""

    name = "compiled"

    def supports(self, problem):
        return compiled_support(problem, "cpu")

    def forward(self, problem, shots, models):
        return NumpyRun(problem, check_arrays(problem, shots, models), shots, models).forward()

    def misfit_and_gradient(self, problem, shots, models, observed):
        record, pull = self.pullback(problem, shots, models)
        misfit, residual = least_squares(record, observed)
        return misfit, pull(residual)

    def pullback(self, problem, shots, models):
        run = NumpyRun(problem, check_arrays(problem, shots, models), shots, models, gradient=True)
        return run.forward(), run.gradient

    def born(self, problem, shots, models, perturbations):
        return NumpyRun(problem, check_arrays(problem, shots, models, perturbations), shots, models).born(perturbations)


def objective(nshots=5, group=None, setup=None, **options):
    """Return the objective of some shots, and models that differ from the true ones."""
    setup, executor = setup or case(nshots=nshots), CompiledExecutor()
    observed = executor.forward(setup.problem, setup.shots, setup.models)
    weights = np.random.default_rng(1).uniform(0.5, 1.5, observed.shape)
    fits = Objective(
        executor, setup.problem, setup.shots, observed, weights=weights, group=group or SerialDistributor(), **options
    )
    return fits, [model * 1.02 for model in setup.models]


@attrs.frozen
class Deadly:
    """Least squares that kills its process: once for each folder, or always without a folder."""

    folder: Path | None = None

    def __call__(self, modelled, observed):
        if self.folder is None or self._is_first():
            os.kill(os.getpid(), signal.SIGKILL)
        return least_squares(modelled, observed)

    def _is_first(self) -> bool:
        try:
            (self.folder / "killed").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


@attrs.frozen
class Slow:
    """Least squares that takes a while and leaves a file named after its process."""

    folder: Path
    seconds: float

    def __call__(self, modelled, observed):
        time.sleep(self.seconds)
        (self.folder / str(os.getpid())).touch()
        return least_squares(modelled, observed)


@attrs.frozen
class Failing:
    """Least squares that fails for the record of one shot."""

    record: np.ndarray
    error: Exception

    def __call__(self, modelled, observed):
        if np.array_equal(observed[0], self.record):
            raise self.error
        return least_squares(modelled, observed)


@attrs.frozen
class Traced:
    """A value that leaves a file named after each process that unpickles it."""

    folder: Path

    def __reduce__(self):
        return _trace, (self.folder,)


def _trace(folder):
    (folder / str(os.getpid())).touch()
    return Traced(folder)


def class_name(value):
    return type(value).__name__
