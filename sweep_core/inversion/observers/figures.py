"""Observers that draw figures of an inversion into its folder."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np

from ...acquisition.shots import Shots
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
    events: ClassVar = ("start", "iteration")
    files: ClassVar = re.compile(r"(loss|epoch_\d{4,})\.png")

    def __call__(self, observation: Observation) -> None:
        from ...plot import plot_epoch, plot_loss, save

        epoch, left = divmod(observation.iteration, self.steps)
        if left or (epoch % self.every and epoch != self.epochs):
            return
        labels = [f"{parameter.name} ({parameter.unit})" for parameter in self.problem.equation.parameters]
        history = epochs_of(observation.history, self.steps)
        figure = plot_epoch(
            observation.model, self.problem.grid.spacing, start=self.start, true=self.true,
            gradient=observation.gradient, history=history, fixed=self.fixed, sources=self.shots.sources,
            receivers=self.shots.receivers,
            labels=labels, title=f"epoch {epoch}",
        )  # fmt: skip
        save(figure, self.folder / f"epoch_{epoch:04d}.png")
        save(plot_loss(history, labels), self.folder / "loss.png")


@attrs.frozen(eq=False)
class DataFigures:
    """An observer that draws the wavelet (``ricker.png``) and three gathers (``observed_data.png``) at the start.

    The gathers are the first, the middle and the last.
    """

    folder: Path
    problem: Problem
    shots: Shots
    observed: np.ndarray
    freq: float
    events: ClassVar = ("start",)
    files: ClassVar = re.compile(r"(ricker|observed_data)\.png")

    def __call__(self, observation: Observation) -> None:
        from ...plot import plot_gather, plot_wavelet, save

        problem, shots = self.problem, self.shots
        wavelet = plot_wavelet(shots.wavelet, problem.dt, self.freq, title=f"Ricker, {self.freq:g} Hz")
        save(wavelet, self.folder / "ricker.png")
        some, dx = sorted({0, len(shots) // 2, len(shots) - 1}), problem.grid.spacing[-1]
        titles = [f"shot {n} at {shots.sources[n, 0] * dx / 1e3:.2f} km" for n in some]
        gathers = plot_gather(
            self.observed[some], problem.dt, shots.receivers[:, 0] * dx, titles, solver=problem,
            field=problem.receiver_type[0], gain="agc",
        )  # fmt: skip
        save(gathers, self.folder / "observed_data.png")
