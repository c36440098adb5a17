"""A misfit and an optimiser without waves, whose results depend on all their state."""

import numpy as np

from sweep_core import Acoustic, make_problem
from sweep_core.inversion import Stepwise

SHAPE = (6, 7)
PROBLEM = make_problem(Acoustic(), SHAPE, 10.0, 0.001)


class Chaotic:
    """Misfit and gradient that depend on all values of model and shots, so that lost state changes the result."""

    name = "chaotic"

    def misfit_and_gradient(self, problem, shots, models, observed):
        far = (models[0].astype(np.float64) - 2000) / 100 - shots.sources[:, :1, None]
        return float((far**2 + np.sin(3 * far)).sum()), [(2 * far + 3 * np.cos(3 * far)).sum(axis=0)]


class Momentum(Stepwise):
    """An optimiser whose state is an array and the number of its steps."""

    def begin(self, x):
        self._mean, self._steps = np.zeros_like(x), np.zeros(1, np.int64)

    def step(self, x, slope):
        self._steps += 1
        self._mean = 0.9 * self._mean + slope / self._steps
        return x - 1e-2 * np.cos(3 * self._mean) * self._mean

    def state(self):
        return [self._mean, self._steps.copy()]

    def restore(self, state):
        self._mean, self._steps = state
