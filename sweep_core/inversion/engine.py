"""Misfit and gradient of some shots by any registered backend, a few shots at a time, in NumPy."""

import numpy as np

from ..errors import OptionError, UnsupportedError
from ..plugins import backend, check_support
from ..problem import Problem, make_problem
from .objective import AfterShots, added_up, modelled
from .settings import Settings


def inversion_problem(settings: Settings) -> Problem:
    """The problem of an inversion, on the model's own grid."""
    experiment = settings.experiment
    return make_problem(
        experiment.equation, experiment.model.water.shape, experiment.model.dh, experiment.dt,
        source_type=experiment.source_type, receiver_type=experiment.receiver_type,
        memory=settings.memory,
    )  # fmt: skip


def separate(model):
    """The list of parameters that a propagator takes: of (n, nz, nx), or of one alone, (nz, nx)."""
    return list(model) if model.ndim == 3 else [model]


class ExecutorEngine:
    """What an inversion asks of a backend, through the executor's protocol alone.

    Raises
    ------
    PluginError, UnsupportedError, OptionError
        Where the backend of the settings cannot be loaded, does not run the problem, or is told by what code.
    """

    def __init__(self, settings: Settings):
        if settings.impl != "auto":
            raise OptionError(
                f"--impl {settings.impl} was asked of backend {settings.backend!r}, which chooses by itself in this "
                "script; leave --impl out"
            )
        self.executor, self.problem = backend(settings.backend), inversion_problem(settings)
        support = check_support(settings.backend, self.executor, self.problem)
        if not hasattr(self.executor, "misfit_and_gradient"):
            raise UnsupportedError(
                f"backend {settings.backend!r} has no misfit_and_gradient, which an inversion needs; see "
                "the page extending/backend of the documentation"
            )
        self.shots, self.batch = settings.experiment.shots, settings.forward_batchsize
        self.about = f"backend {settings.backend!r}: {support.reason or 'ready'}; gradients with {self.problem.memory}"

    def model(self, model: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Record (len(chosen), nt, nrec, nfield), float32."""
        parts = modelled(self.executor, self.problem, self.shots, separate(model), chosen, self.batch)
        empty = np.empty(
            (0, self.shots.wavelet.shape[-1], self.shots.receivers.shape[-2], len(self.problem.receiver_type)),
            np.float32,
        )
        return np.concatenate([empty, *parts], dtype=np.float32)

    def misfit_and_gradient(
        self, model: np.ndarray, observed: np.ndarray, chosen: np.ndarray, after: AfterShots = None
    ) -> tuple[float, np.ndarray]:
        """Sums over the chosen shots of the misfit and of its gradient; `observed` holds all shots.

        ``after(shots, misfit)`` is called after every few of them; see :meth:`Observers.after_shots`.
        """

        def pull(some):
            taken = self.shots.take(some), separate(model), observed[some]
            return self.executor.misfit_and_gradient(self.problem, *taken)

        gradient = np.zeros_like(model)
        return added_up(pull, chosen, self.batch, separate(gradient), after), gradient
