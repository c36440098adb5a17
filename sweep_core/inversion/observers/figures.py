"""Observers that draw figures of an inversion into its folder."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np

from ...acquisition.shots import Shots
from ...io import ObservedStore
from ...plot.process import FigureProcess
from ...plugins import Observation
from ...problem import Problem
from .files import epochs_of


@attrs.frozen(eq=False)
class EpochFigures:
    """An observer that draws ``epoch_<number>.png`` and ``loss.png``.

    It draws at the start, every few epochs and after the last epoch.

    Parameters
    ----------
    folder : Path
        Folder of the figures.
    problem : Problem
        The problem.
    start : list of (nz, nx) arrays
        Initial models.
    shots : Shots
        Shots whose sources and receivers are drawn.
    epochs : int
        Number of the last epoch.
    every : int
        Epochs between figures.
    steps : int
        Iterations of an epoch.
    true, fixed : optional
        True models and fixed cells, see :func:`sweep_core.plot.plot_epoch`.
    process : FigureProcess, optional
        The process that draws, while the inversion goes on; one of its own by default.
    """

    folder: Path
    problem: Problem
    start: Sequence[np.ndarray]
    shots: Shots
    epochs: int
    every: int = 1
    steps: int = 1
    true: Any = None
    fixed: Any = None
    process: FigureProcess = attrs.field(factory=FigureProcess)
    events: ClassVar = ("start", "iteration")
    files: ClassVar = re.compile(r"(loss|epoch_\d{4,})\.png")

    def __call__(self, observation: Observation) -> None:
        from ...plot import plot_epoch, plot_loss

        epoch, left = divmod(observation.iteration, self.steps)
        if left or (epoch % self.every and epoch != self.epochs):
            return
        labels = [f"{parameter.name} ({parameter.unit})" for parameter in self.problem.equation.parameters]
        history = epochs_of(observation.history, self.steps)
        self.process.draw(
            self.folder / f"epoch_{epoch:04d}.png", plot_epoch, observation.model, self.problem.grid.spacing,
            start=self.start, true=self.true, gradient=observation.gradient, history=history, fixed=self.fixed,
            sources=self.shots.sources, receivers=self.shots.receivers, labels=labels, title=f"epoch {epoch}",
        )  # fmt: skip
        self.process.draw(self.folder / "loss.png", plot_loss, history, labels)

    def close(self) -> None:
        """Wait until the figures are drawn."""
        self.process.close()


@attrs.frozen(eq=False)
class DataFigures:
    """An observer that draws the wavelet (``ricker.png``) and three gathers (``observed_data.png``) at the start.

    The gathers are the first, the middle and the last.

    Parameters
    ----------
    folder : Path
        Folder of the figures.
    problem : Problem
        The problem.
    shots : Shots
        The shots of the observed record.
    observed : (nshots, nt, nrec, nfield) array
        Observed record.
    freq : float
        Peak frequency of the wavelet (Hz).
    process : FigureProcess, optional
        The process that draws, while the inversion goes on; one of its own by default.
    """

    folder: Path
    problem: Problem
    shots: Shots
    observed: np.ndarray | ObservedStore
    freq: float
    process: FigureProcess = attrs.field(factory=FigureProcess)
    events: ClassVar = ("start",)
    files: ClassVar = re.compile(r"(ricker|observed_data)\.png")

    def __call__(self, observation: Observation) -> None:
        from ...plot import field_label, plot_gather, plot_wavelet

        problem, shots, title = self.problem, self.shots, f"Ricker, {self.freq:g} Hz"
        self.process.draw(self.folder / "ricker.png", plot_wavelet, shots.wavelet, problem.dt, self.freq, title=title)
        some, dx = sorted({0, len(shots) // 2, len(shots) - 1}), problem.grid.spacing[-1]
        titles = [f"shot {n} at {shots.sources[n, 0] * dx / 1e3:.2f} km" for n in some]
        self.process.draw(
            self.folder / "observed_data.png", plot_gather, self.observed[some][..., 0], problem.dt,
            shots.receivers[:, 0] * dx, titles, label=field_label(problem, problem.receiver_type[0]), gain="agc",
        )  # fmt: skip

    def close(self) -> None:
        """Wait until the figures are drawn."""
        self.process.close()
