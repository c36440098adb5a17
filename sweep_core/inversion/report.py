"""What a run tells: figures, history, and the closing line."""

import numpy as np

from .run import RunFolder
from .settings import Settings


class Report:
    """Writes the results of one inversion into its folder."""

    def __init__(self, settings: Settings, folder: RunFolder):
        self.settings, self.folder, self.experiment = settings, folder, settings.experiment

    def data(self, observed: np.ndarray) -> None:
        """The wavelet, and the first, middle and last gather of the observed data (nshots, nt, nrec, 1)."""
        from ..plot import plot_gather, plot_wavelet

        experiment, shots = self.experiment, self.experiment.shots
        plot_wavelet(self.folder.path / "ricker.png", shots.wavelet, experiment.dt, experiment.freq)
        some = sorted({0, experiment.nshots // 2, experiment.nshots - 1})
        dh = experiment.model.dh
        titles = [f"shot {n} at {shots.sources[n, 0] * dh / 1e3:.2f} km" for n in some]
        path = self.folder.path / "observed_data.png"
        plot_gather(path, observed[some][..., 0], experiment.dt, shots.receivers[:, 0] * dh, titles)

    def epoch(self, epoch: int, misfit: float, vp: np.ndarray, gradient: np.ndarray, seconds: float) -> float:
        """A line of history, and every so often the figures; returns the model error."""
        from ..plot import plot_epoch, plot_loss

        error = self.experiment.model_error(vp)
        self.folder.append(epoch=epoch, misfit=float(misfit), model_error=error, seconds=seconds)
        if epoch % self.settings.show_every == 0 or epoch == self.settings.epochs:
            path = self.folder.path / f"epoch_{epoch:04d}.png"
            plot_epoch(path, self.experiment.model.true, vp, gradient, self.experiment.model.dh, epoch)
            plot_loss(self.folder.path / "loss.png", self.folder.history())
        return error

    def conclude(self, misfit: float, vp: np.ndarray) -> str:
        """Writes the inverted model and returns the closing line; `misfit` is that of all shots in it."""
        np.save(self.folder.path / "inverted_vp.npy", vp)
        history = self.folder.history()
        seconds = np.mean([line["seconds"] for line in history[1:]]) if len(history) > 1 else 0.0
        return (
            f"misfit from {history[0]['misfit']:.6g} to {misfit:.6g}, model error from "
            f"{history[0]['model_error']:.2f} to {self.experiment.model_error(vp):.2f}, {seconds:.2f} s/epoch"
        )
