"""The NumPy float64 executor: slow, plain, and the oracle of the tests."""

import numpy as np

from .call import CallShape, check_call, check_survey, check_values
from .eager import EagerRun
from .errors import UnsupportedError
from .executor import Support
from .ops import NumpyOps
from .survey import Shots, cells_of, samples_of


class ReferenceExecutor:
    """Runs an equation's step in NumPy. Forward, and Born by complex step; it has no gradient."""

    name = "reference"

    def supports(self, problem) -> Support:
        return Support(True)

    def forward(self, problem, shots, models):
        """Record (nshots, nt, nrec, nfield), float64."""
        return self._run(problem, *self._checked(problem, shots, models))

    def born(self, problem, shots, models, perturbations):
        """Derivative of the record in direction `perturbations`, exact to rounding.

        Im F(m + i h dm) / h with h = 1e-30 (Squire and Trapp 1998, SIAM Review 40).
        """
        shots, shape, models = self._checked(problem, shots, models)
        h = 1e-30
        stepped = [m + 1j * h * np.asarray(d, np.float64) for m, d in zip(models, perturbations, strict=True)]
        return self._run(problem, shots, shape, stepped).imag / h

    def misfit_and_gradient(self, problem, shots, models, observed):
        raise UnsupportedError("the reference backend computes no gradient; use backend 'torch' or 'jax'")

    @staticmethod
    def _checked(problem, shots, models) -> tuple[Shots, CallShape, list]:
        """The arguments in float64, after all checks."""
        wavelet = np.asarray(shots.wavelet, np.float64)
        shots = Shots(wavelet, np.asarray(shots.sources), np.asarray(shots.receivers))
        if isinstance(models, list | tuple):
            models = [np.asarray(m, np.float64) for m in models]
        shape = check_call(problem, shots, models)
        check_survey(problem, shots)
        check_values(problem, models, wavelet)
        return shots, shape, models

    @staticmethod
    def _run(problem, shots, shape, models):
        dtype = np.result_type(*models)
        receivers = shots.receivers if shots.receivers.ndim == 3 else shots.receivers[None]
        sources, listening = (cells_of(problem, p.astype(np.int64), shape.shots) for p in (shots.sources, receivers))
        run = EagerRun(problem, NumpyOps(problem, dtype), shape, sources, listening, models)
        wavelet = samples_of(shots.wavelet)
        record = np.zeros(shape.record(problem), dtype)
        state = run.start()
        for k in range(shape.steps):
            record[:, k] = np.stack(run.record(state), axis=-1)
            if k + 1 < shape.steps:
                state = run.advance(state, [wavelet[..., k]])
        return record
