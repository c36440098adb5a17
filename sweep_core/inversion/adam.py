"""Where an inversion by Adam stands, whatever backend steps: what a checkpoint keeps of it."""

from collections.abc import Sequence

import attrs
import numpy as np

from ..errors import DomainError
from .checkpoint import Checkpoint, wrong
from .engine import separate
from .run import RunFolder
from .settings import Settings

REACH = 7.3
"""Most that a running mean of the gradient can be over the root of that of its square, by Cauchy and Schwarz: the root
of (1 - b1)^2 / (1 - b2) / (1 - b1^2 / b2), with b1 = 0.9 and b2 = 0.999."""


def first_scale(names: Sequence[str], gradient: np.ndarray) -> list[float]:
    """Factors that bring the first gradient of each parameter to about one: Adam's epsilon is absolute.

    Parameters
    ----------
    names : sequence of str
    gradient : array
        As the model: (nz, nx), or (n, nz, nx) of several parameters.

    Raises
    ------
    DomainError
        Where that of a parameter is zero throughout, or not finite.
    """
    largest = [float(np.abs(part).max()) for part in separate(gradient)]
    for name, value in zip(names, largest, strict=True):
        if not 0 < value < np.inf:
            reason = (
                "the start fits the data already, or no wave of theirs meets it" if value == 0 else "check the data"
            )
            raise DomainError(
                f"the largest gradient in {name} at the start is {value}: {reason}; nothing to invert for"
            )
    return [1 / value for value in largest]


@attrs.frozen(eq=False)
class AdamState:
    """Model, and what Adam remembers.

    Parameters
    ----------
    model : array
        As the experiment's: (nz, nx), or (n, nz, nx) of several parameters.
    scale : (n,) float64 array
        Factors that bring the gradients of the parameters to about one.
    step : int
        Steps so far.
    mean, square : array
        Running means of the gradient and of its square, like `model`.
    """

    model: np.ndarray
    scale: np.ndarray = attrs.field(converter=lambda values: np.atleast_1d(np.asarray(values, np.float64)))
    step: int
    mean: np.ndarray
    square: np.ndarray

    def save(self, settings: Settings, folder: RunFolder, epoch: int) -> None:
        """Writes it as the checkpoint after `epoch`."""
        folder.save(epoch, self._arrays(settings))

    def _arrays(self, settings):
        model = dict(zip(settings.experiment.names, separate(self.model), strict=True))
        step = np.array(self.step, np.int64)
        return {**model, "scale": self.scale, "step": step, "exp_avg": self.mean, "exp_avg_sq": self.square}

    @classmethod
    def load(cls, settings: Settings, folder: RunFolder) -> tuple["AdamState", Checkpoint]:
        """What :meth:`save` wrote, and the checkpoint that it comes from.

        Raises
        ------
        CheckpointError
            Unless the run may have come there; names the field.
        """
        experiment = settings.experiment
        initial, names = experiment.model.initial, experiment.names
        checkpoint = folder.load(cls(initial, np.ones(len(names)), 0, initial, initial)._arrays(settings))
        arrays = checkpoint.arrays
        model = np.reshape([arrays[name] for name in names], initial.shape)
        state = cls(model, arrays["scale"], int(arrays["step"]), arrays["exp_avg"], arrays["exp_avg_sq"])
        admitted = separate(experiment.update(model).astype(model.dtype))
        doubts = {name: np.array_equal(a, arrays[name]) for name, a in zip(names, admitted, strict=True)}
        doubts["scale"] = bool((state.scale > 0).all())
        doubts["step"] = state.step == checkpoint.epoch * len(experiment.order(0, 1, settings.batchsize))
        doubts["exp_avg_sq"] = bool((state.square >= 0).all())
        tiny = 1e-17  # gradients whose squares are below what float32 holds
        doubts["exp_avg"] = bool((np.abs(state.mean) <= REACH * np.sqrt(np.abs(state.square)) + tiny).all())
        errors = np.shape(experiment.model_error(initial))
        doubts["history"] = all(np.shape(line["model_error"]) == errors for line in checkpoint.history)
        for name, good in doubts.items():
            if not good:
                raise wrong(folder.checkpoint, f"holds {name} that this run cannot have come to")
        return state, checkpoint
