"""What a run tells: figures, history, and the closing line."""

from typing import Any

import numpy as np

from .engine import separate
from .observers import Observers
from .run import RunFolder
from .settings import Settings


class Report:
    """Writes the results of one inversion into its folder, and tells the observers of `rank`."""

    def __init__(self, settings: Settings, folder: RunFolder, rank: int = 0):
        self.observers = Observers(rank)
        self.settings, self.folder, self.experiment = settings, folder, settings.experiment
        self.labels = [f"{parameter.name} ({parameter.unit})" for parameter in self.experiment.equation.parameters]

    def data(self, observed: np.ndarray) -> None:
        """The wavelet, and the first, middle and last gather of the observed data (nshots, nt, nrec, nfield)."""
        from ..plot import plot_gather, plot_wavelet

        experiment, shots = self.experiment, self.experiment.shots
        plot_wavelet(self.folder.path / "ricker.png", shots.wavelet, experiment.dt, experiment.freq)
        some = sorted({0, experiment.nshots // 2, experiment.nshots - 1})
        dh = experiment.model.dh
        titles = [f"shot {n} at {shots.sources[n, 0] * dh / 1e3:.2f} km" for n in some]
        path = self.folder.path / "observed_data.png"
        plot_gather(path, observed[some][..., 0], experiment.dt, shots.receivers[:, 0] * dh, titles)

    def epoch(self, epoch: int, misfit: float, model: np.ndarray, gradient: np.ndarray, seconds: float) -> Any:
        """A line of history, and every so often the figures; returns the model error."""
        from ..plot import plot_epoch, plot_loss, plot_parameters

        error = self.experiment.model_error(model)
        self.folder.append(epoch=epoch, misfit=float(misfit), model_error=error, seconds=seconds)
        if epoch % self.settings.show_every == 0 or epoch == self.settings.epochs:
            path = self.folder.path / f"epoch_{epoch:04d}.png"
            earth = self.experiment.model
            if model.ndim == 2:
                plot_epoch(path, earth.true, model, gradient, earth.dh, epoch)
            else:
                stages = {"true": earth.true, "start": earth.initial, f"inverted, epoch {epoch}": model}
                plot_parameters(path, self.labels, stages, earth.dh)
            plot_loss(self.folder.path / "loss.png", self.folder.history(), self.labels)
        self.observers.after_iteration(epoch, misfit, self.experiment.nshots, model, gradient)
        return error

    def conclude(self, misfit: float, model: np.ndarray) -> str:
        """Writes the inverted model and returns the closing lines; `misfit` is that of all shots in it."""
        for name, values in zip(self.experiment.names, separate(model), strict=True):
            self.folder.save_array(f"inverted_{name}", values)
        history = self.folder.history()
        seconds = np.mean([line["seconds"] for line in history[1:]]) if len(history) > 1 else 0.0
        error = self.experiment.model_error(model)
        if isinstance(error, list):
            begin = history[0]["model_error"]
            changes = [("misfit", history[0]["misfit"], misfit), *zip(self.labels, begin, error, strict=True)]
            lines = [
                f"{what} from {a:.6g} to {b:.6g}" + (f", {100 * (b / a - 1):+.1f} %" if a else "")
                for what, a, b in changes
            ]
            return "\n".join((*lines, f"{seconds:.2f} s/epoch"))
        return (
            f"misfit from {history[0]['misfit']:.6g} to {misfit:.6g}, model error from "
            f"{history[0]['model_error']:.2f} to {error:.2f}, {seconds:.2f} s/epoch"
        )
