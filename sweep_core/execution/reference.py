"""The NumPy float64 executor: slow, plain, and the oracle of the tests."""

import numpy as np

from ..acquisition.call_shape import CallShape
from ..acquisition.receivers import empty_record, finalise_record, receiver_positions
from ..acquisition.shots import Shots, samples_of
from ..acquisition.sources import driving_wavelet
from ..discretization.array_ops import NumpyOps
from ..errors import UnsupportedError
from ..plugins import Support
from .call_checks import (
    check_call,
    check_perturbations,
    check_problem,
    check_problem_and_shots,
    check_record,
    check_survey,
    check_values,
)
from .eager import EagerRun


class ReferenceExecutor:
    """An executor that runs an equation's step in NumPy: forward, and Born by complex step. It has no gradient."""

    name = "reference"

    def supports(self, problem) -> Support:
        check_problem(problem)
        return Support(True)

    def forward(self, problem, shots, models):
        """Return the record, (nshots, nt, nrec, nfield), float64."""
        checked = self._checked(problem, shots, models)
        if not len(shots):
            return empty_record(problem, checked[1], np.zeros)[0]
        record = finalise_record(np, problem, checked[1], checked[0].mask, self._run(problem, *checked)[0])
        check_record(problem, record)
        return record

    def snapshots(self, problem, shots, models, snapshots):
        """Return fields by name, (nshots, nsnap, *region), float64."""
        checked = self._checked(problem, shots, models, snapshots)
        return self._run(problem, *checked)[1] if len(shots) else empty_record(problem, checked[1], np.zeros)[1]

    def born(self, problem, shots, models, perturbations):
        """Return the derivative of the record in the direction `perturbations`, exact to rounding.

        Im F(m + i h dm) / h with h = 1e-30 (Squire and Trapp 1998, SIAM Review 40).
        """
        shots, shape, models = self._checked(problem, shots, models)
        if isinstance(perturbations, list | tuple):
            perturbations = [np.asarray(d, np.float64) for d in perturbations]
        check_perturbations(problem, models, perturbations, None, None)
        if not len(shots):
            return empty_record(problem, shape, np.zeros)[0]
        h = 1e-30
        stepped = [m + 1j * h * d for m, d in zip(models, perturbations, strict=True)]
        return finalise_record(np, problem, shape, shots.mask, self._run(problem, shots, shape, stepped)[0].imag / h)

    def misfit_and_gradient(self, problem, shots, models, observed):
        return self.pullback(problem, shots, models)

    def pullback(self, problem, shots, models):
        raise UnsupportedError("the reference backend computes no gradient; use backend 'torch' or 'jax'")

    @staticmethod
    def _checked(problem, shots, models, snapshots=None) -> tuple[Shots, CallShape, list]:
        """Return the arguments in float64, after all checks."""
        check_problem_and_shots(problem, shots)
        wavelet = np.asarray(shots.wavelet, np.float64)
        mask = None if shots.mask is None else np.asarray(shots.mask)
        shots = Shots(wavelet, np.asarray(shots.sources), np.asarray(shots.receivers), mask)
        if isinstance(models, list | tuple):
            models = [np.asarray(m, np.float64) for m in models]
        shape = check_call(problem, shots, models, snapshots)
        check_survey(problem, shots)
        check_values(problem, models, samples_of(wavelet, shape.by_field))
        return shots, shape, models

    @staticmethod
    def _run(problem, shots, shape, models):
        dtype = np.result_type(*models)
        receivers = receiver_positions(np, problem, shots)
        run = EagerRun(problem, NumpyOps(problem, dtype), shape, shots.sources, receivers, models)
        wavelet = driving_wavelet(np, problem, shape, shots.wavelet)
        record = np.zeros(shape.record_shape(problem), dtype)
        state, snapshots = run.start(), []
        for k in range(shape.steps):
            new = run.advance(state, wavelet[..., k]) if k + 1 < shape.steps or run.one_more else state
            record[:, k] = np.stack(run.record(state, new), axis=-1)
            if shape.snapshots and k % shape.snapshots.every == 0 and k < shape.samples:
                snapshots.append(run.snapshot(state, new))
            state = new
        fields = shape.snapshots.fields if shape.snapshots else ()
        return record, {f: np.stack(s, 1) for f, s in zip(fields, zip(*snapshots, strict=True), strict=True)}
