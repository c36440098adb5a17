"""An inversion with shots spread over processes: engines, observed data, and Adam on every parameter.

Imported by scripts alone: it needs tqdm, and matplotlib for the figures.
"""

import time
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from sweep_core.distribution import Distributor, ShotPlan, on_root
from sweep_core.inversion import (
    AdamState,
    ExecutorEngine,
    Experiment,
    Report,
    RunFolder,
    Settings,
    first_scale,
    separate,
)

from .distribution import (
    chunked_observed_data,
    split_indices_for_rank,
)
from .prop import PropTorch

__all__ = ["Inversion", "PluginEngine", "TorchEngine", "make_engine", "observe", "open_folder"]


class TorchEngine:
    """Misfit and gradient of some shots by PropTorch and autograd."""

    def __init__(self, settings: Settings, device: torch.device):
        experiment = settings.experiment
        self.solver = PropTorch(
            experiment.equation, shape=experiment.model.water.shape, dev=device, dh=experiment.model.dh,
            dt=experiment.dt, source_type=experiment.source_type, receiver_type=experiment.receiver_type,
            impl=settings.impl, memory=settings.memory,
        )  # fmt: skip
        self.batch = settings.forward_batchsize
        self.wavelet = torch.as_tensor(experiment.shots.wavelet, device=device)
        self.sources = torch.as_tensor(experiment.shots.sources)
        self.receivers = torch.as_tensor(experiment.shots.receivers)
        self.about = self.solver.explain()

    def model(self, model, shots):
        """Record of `shots`, a few at a time."""
        return chunked_observed_data(
            self.solver, self.wavelet, self.sources[shots], self.receivers, models=separate(model),
            forward_batchsize=self.batch,
        )  # fmt: skip

    def misfit_and_gradient(self, model, observed, shots, after=None):
        """(misfit, gradient), summed over `shots`; zero for none. ``after(shots, misfit)`` follows every few."""
        inverted = model.detach().clone().requires_grad_()
        misfit = torch.zeros((), dtype=model.dtype, device=model.device)
        inverted.grad = torch.zeros_like(inverted)
        for first in range(0, len(shots), self.batch):
            some = shots[first : first + self.batch]
            synthetic = self.solver(self.wavelet, self.sources[some], self.receivers, models=separate(inverted))
            loss = 0.5 * (synthetic - observed[some].to(model.device)).pow(2).sum()
            loss.backward()
            misfit += loss.detach()
            if after:
                after(some, loss.detach())
        return misfit, inverted.grad


class PluginEngine:
    """The same by any registered backend: arrays change hands as NumPy."""

    def __init__(self, settings: Settings):
        self.engine = ExecutorEngine(settings)
        self.about = self.engine.about

    def model(self, model, shots):
        return torch.as_tensor(self.engine.model(model.cpu().numpy(), shots), device=model.device)

    def misfit_and_gradient(self, model, observed, shots, after=None):
        misfit, gradient = self.engine.misfit_and_gradient(model.cpu().numpy(), observed.numpy(), shots, after)
        return torch.tensor(misfit, dtype=model.dtype, device=model.device), torch.as_tensor(
            gradient, device=model.device
        )


def make_engine(settings: Settings, device: torch.device) -> TorchEngine | PluginEngine:
    """The engine of the backend that the settings name."""
    return TorchEngine(settings, device) if settings.backend == "torch" else PluginEngine(settings)


def observe(engine, group: Distributor, experiment: Experiment, how: str) -> torch.Tensor:
    """Observed data of all shots on every rank: modelled in slices and gathered, or on rank 0 and broadcast."""
    everything, true = np.arange(experiment.nshots), torch.as_tensor(experiment.model.true, device=group.device)
    if how == "rank0":
        data = engine.model(true, everything) if group.rank == 0 else None
        return group.broadcast(data)
    mine = split_indices_for_rank(everything, group.rank, group.size)
    return group.all_gather(ShotPlan(experiment.nshots, group.size), engine.model(true, mine))


def open_folder(settings: Settings, group: Distributor) -> RunFolder:
    """The folder of a run, claimed by rank 0 for as long as its process lives.

    Raises
    ------
    CheckpointError, StorageError
        On every rank; see :meth:`RunFolder.claim`.
    """
    folder = RunFolder(settings.out, settings.identity())
    on_root(group, folder.claim, settings.resume, settings.overwrite)
    return folder


class Inversion:
    """Adam on every parameter; every rank steps the same optimiser with the same summed gradient.

    Parameters
    ----------
    settings : Settings
    engine : TorchEngine or PluginEngine
    group : Distributor
        Of the ranks, whose verbs take tensors on its `device`.
    observed : (nshots, nt, nrec, nfield) tensor
        On the host.
    folder : RunFolder
    """

    def __init__(self, settings: Settings, engine, group: Distributor, observed: torch.Tensor, folder: RunFolder):
        self.settings, self.engine, self.group = settings, engine, group
        self.observed, self.folder = observed, folder
        self.experiment, self.report = settings.experiment, Report(settings, folder, group.rank)
        self.m = torch.as_tensor(self.experiment.model.initial, device=group.device).clone()
        # Views: a step of the optimiser is one of the model.
        self.parameters = [torch.nn.Parameter(part) for part in separate(self.m)]
        pairs = zip(self.parameters, self.experiment.steps, strict=True)
        self.optimiser = torch.optim.Adam([{"params": [p], "lr": settings.lr * step} for p, step in pairs])
        self.rock = torch.as_tensor(~self.experiment.model.water, device=group.device)

    def current(self) -> np.ndarray:
        return self.m.cpu().numpy().copy()

    def gradient(self, shots, epoch):
        """Misfit and gradient of `shots`, summed over the ranks."""
        mine = split_indices_for_rank(shots, self.group.rank, self.group.size)
        after = self.report.observers.after_shots(epoch, self.current)
        misfit, gradient = self.engine.misfit_and_gradient(self.m, self.observed, mine, after)
        return float(self.group.all_reduce(misfit)), self.group.all_reduce(gradient) * self.rock

    def tell(self, epoch, misfit, gradient, seconds):
        line = epoch, misfit, self.current(), gradient.cpu().numpy(), seconds
        return on_root(self.group, self.report.epoch, *line)

    def begin(self) -> int:
        """The first gradient, at the starting model; what refuses it leaves the folder as it was."""
        misfit, gradient = self.gradient(np.arange(self.experiment.nshots), 0)
        self.scale = first_scale(self.experiment.names, gradient.cpu().numpy())
        self.enter()
        self.tell(0, misfit, gradient, 0.0)
        return 0

    def enter(self, history=()) -> None:
        """The folder is that of this run from here on, which goes on after `history`."""
        on_root(self.group, self.folder.start, history)
        on_root(self.group, self.report.data, self.observed.numpy())

    def epoch(self, number: int) -> tuple[float, Any]:
        """All shots once; returns their misfit, each at the model that its step met, and the model error."""
        start, total = time.perf_counter(), 0.0
        for shots in self.experiment.order(self.settings.seed, number, self.settings.batchsize):
            misfit, gradient = self.gradient(shots, number)
            total += misfit
            for parameter, slope, scale in zip(self.parameters, separate(gradient), self.scale, strict=True):
                parameter.grad = slope * scale
            self.optimiser.step()
            self.m.copy_(torch.as_tensor(self.experiment.update(self.current())))
        error = self.tell(number, total, gradient, time.perf_counter() - start)
        self.save(number)
        return total, error

    def misfit(self) -> float:
        """Misfit of all shots in the present model."""
        mine = split_indices_for_rank(np.arange(self.experiment.nshots), self.group.rank, self.group.size)
        residual = self.engine.model(self.m, mine).cpu() - self.observed[mine]
        return float(self.group.all_reduce((0.5 * residual.pow(2).sum()).to(self.group.device)))

    def save(self, epoch: int) -> None:
        states = [self.optimiser.state[parameter] for parameter in self.parameters]
        mean, square = (
            np.reshape([state[name].cpu().numpy() for state in states], self.m.shape)
            for name in ("exp_avg", "exp_avg_sq")
        )
        state = AdamState(self.current(), self.scale, int(states[0]["step"]), mean, square)
        on_root(self.group, state.save, self.settings, self.folder, epoch)

    def resume(self) -> int:
        """Takes up the checkpoint, and returns its epoch."""
        state, checkpoint = AdamState.load(self.settings, self.folder)
        self.scale = state.scale.tolist()
        self.m.copy_(torch.as_tensor(state.model))
        mean, square = (separate(torch.as_tensor(x, device=self.m.device)) for x in (state.mean, state.square))
        for parameter, first, second in zip(self.parameters, mean, square, strict=True):
            # A tensor of its own each: Adam counts in place.
            step = torch.tensor(float(state.step))
            self.optimiser.state[parameter] = {"step": step, "exp_avg": first, "exp_avg_sq": second}
        self.enter(checkpoint.history)
        return checkpoint.epoch

    def run(self) -> str:
        """From the start, or the checkpoint, to the last epoch; returns the closing lines."""
        done = self.resume() if self.settings.resume else self.begin()
        with tqdm(total=self.settings.epochs, initial=done, unit="epoch", disable=self.group.rank > 0) as bar:
            for epoch in range(done + 1, self.settings.epochs + 1):
                misfit, error = self.epoch(epoch)
                errors = ", ".join(f"{value:.1f}" for value in np.ravel(error or 0))
                bar.set_postfix(misfit=f"{misfit:.3e}", error=errors)
                bar.update()
        return on_root(self.group, self.report.conclude, self.misfit(), self.current()) or ""
