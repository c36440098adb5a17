"""What a run tells: figures, history, and the closing line."""

from typing import Any

import numpy as np

from .engine import inversion_problem, separate
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
        from ..plot import plot_gather, plot_wavelet, save

        experiment, shots, path = self.experiment, self.experiment.shots, self.folder.path
        ricker = plot_wavelet(shots.wavelet, experiment.dt, experiment.freq, title=f"Ricker, {experiment.freq:g} Hz")
        save(ricker, path / "ricker.png")
        some = sorted({0, experiment.nshots // 2, experiment.nshots - 1})
        dh, problem = experiment.model.dh, inversion_problem(self.settings)
        titles = [f"shot {n} at {shots.sources[n, 0] * dh / 1e3:.2f} km" for n in some]
        x, first = shots.receivers[:, 0] * dh, problem.receiver_type[0]
        gathers = plot_gather(observed[some], experiment.dt, x, titles, solver=problem, field=first, gain="agc")
        save(gathers, path / "observed_data.png")

    def epoch(self, epoch: int, misfit: float, model: np.ndarray, gradient: np.ndarray, seconds: float) -> Any:
        """A line of history, and every so often the figures; returns the model error."""
        from ..plot import plot_epoch, plot_loss, save

        error = self.experiment.model_error(model)
        self.folder.append(epoch=epoch, misfit=float(misfit), model_error=error, seconds=seconds)
        if epoch % self.settings.show_every == 0 or epoch == self.settings.epochs:
            earth, shots, history = self.experiment.model, self.experiment.shots, self.folder.history()
            figure = plot_epoch(
                model, earth.dh, start=earth.initial, true=earth.true, gradient=gradient, history=history,
                fixed=earth.water, sources=shots.sources, receivers=shots.receivers, labels=self.labels,
                title=f"epoch {epoch}",
            )  # fmt: skip
            save(figure, self.folder.path / f"epoch_{epoch:04d}.png")
            save(plot_loss(history, self.labels), self.folder.path / "loss.png")
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
