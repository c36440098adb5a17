"""Acoustic full-waveform inversion with shots spread over processes, one for each GPU or a few on a CPU.

    torchrun --standalone --nproc_per_node=2 examples/multi-gpu/torch/fwi_marmousi_dist.py --device auto

Without torchrun the same script runs as one process. Results lie beside it, in multi_gpu_acoustic_fwi_<cpu|cuda>/.
"""

import sys
import time
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from sweep_core import Acoustic, ShotPlan, SweepError
from sweep_core.inversion import ExecutorEngine, Report, RunFolder, make_parser, read_settings
from sweep_torch import PropTorch
from sweep_torch.distribution import (
    TorchDistributor,
    broadcast_observed_data,
    chunked_observed_data,
    setup_distributed,
    split_indices_for_rank,
    teardown_distributed,
)


class TorchEngine:
    """Misfit and gradient of some shots by PropTorch and autograd."""

    def __init__(self, settings, device):
        experiment = settings.experiment
        self.solver = PropTorch(
            Acoustic(spatial_order=experiment.spatial_order), shape=experiment.model.true.shape, dev=device,
            dh=experiment.model.dh, dt=experiment.dt, source_type=["h1"], receiver_type=["h1"],
            impl=settings.impl,
        )  # fmt: skip
        self.batch = settings.forward_batchsize
        self.wavelet = torch.as_tensor(experiment.shots.wavelet, device=device)
        self.sources = torch.as_tensor(experiment.shots.sources)
        self.receivers = torch.as_tensor(experiment.shots.receivers)
        self.about = self.solver.explain()

    def model(self, vp, shots):
        """Record of `shots`, a few at a time."""
        return chunked_observed_data(
            self.solver,
            self.wavelet,
            self.sources[shots],
            self.receivers,
            models=[vp],
            forward_batchsize=self.batch,
        )

    def misfit_and_gradient(self, vp, observed, shots):
        """(misfit, gradient), summed over `shots`; zero for none."""
        inverted = vp.detach().clone().requires_grad_()
        misfit = torch.zeros((), dtype=vp.dtype, device=vp.device)
        inverted.grad = torch.zeros_like(inverted)
        for first in range(0, len(shots), self.batch):
            some = shots[first : first + self.batch]
            synthetic = self.solver(self.wavelet, self.sources[some], self.receivers, models=[inverted])
            loss = 0.5 * (synthetic - observed[some].to(vp.device)).pow(2).sum()
            loss.backward()
            misfit += loss.detach()
        return misfit, inverted.grad


class PluginEngine:
    """The same by any registered backend: arrays change hands as NumPy."""

    def __init__(self, settings):
        self.engine = ExecutorEngine(settings)
        self.about = self.engine.about

    def model(self, vp, shots):
        return torch.as_tensor(self.engine.model(vp.cpu().numpy(), shots), device=vp.device)

    def misfit_and_gradient(self, vp, observed, shots):
        misfit, gradient = self.engine.misfit_and_gradient(vp.cpu().numpy(), observed.numpy(), shots)
        return torch.tensor(misfit, dtype=vp.dtype, device=vp.device), torch.as_tensor(gradient, device=vp.device)


def observe(engine, group, experiment, true, how):
    """Observed data of all shots on every rank: modelled in slices and gathered, or on rank 0 and broadcast."""
    everything = np.arange(experiment.nshots)
    if how == "rank0":
        data = engine.model(true, everything) if group.rank == 0 else None
        return broadcast_observed_data(group.rank, group.device, data)
    mine = split_indices_for_rank(everything, group.rank, group.size)
    return group.all_gather(ShotPlan(experiment.nshots, group.size), engine.model(true, mine))


class Inversion:
    """Adam on vp; every rank steps the same optimiser with the same summed gradient."""

    def __init__(self, settings, engine, group, observed, folder):
        self.settings, self.engine, self.group, self.observed, self.folder = (
            settings,
            engine,
            group,
            observed,
            folder,
        )
        self.experiment, self.report = settings.experiment, Report(settings, folder)
        self.vp = torch.nn.Parameter(torch.as_tensor(self.experiment.model.initial, device=group.device))
        self.optimiser = torch.optim.Adam([self.vp], lr=settings.lr)
        self.rock = torch.as_tensor(~self.experiment.model.water, device=group.device)

    def current(self):
        return self.vp.detach().cpu().numpy()

    def gradient(self, shots):
        """Misfit and gradient of `shots`, summed over the ranks."""
        mine = split_indices_for_rank(shots, self.group.rank, self.group.size)
        misfit, gradient = self.engine.misfit_and_gradient(self.vp.detach(), self.observed, mine)
        return float(self.group.all_reduce(misfit)), self.group.all_reduce(gradient) * self.rock

    def tell(self, epoch, misfit, gradient, seconds):
        if self.group.rank == 0:
            return self.report.epoch(epoch, misfit, self.current(), gradient.cpu().numpy(), seconds)

    def begin(self):
        """The first gradient, at the starting model."""
        misfit, gradient = self.gradient(np.arange(self.experiment.nshots))
        # Adam's epsilon is absolute: gradients are brought to about one, once and for all.
        self.scale = 1 / float(gradient.abs().max())
        self.tell(0, misfit, gradient, 0.0)
        return 0

    def epoch(self, number):
        """All shots once; returns their misfit, each at the model that its step met."""
        start, total = time.perf_counter(), 0.0
        for shots in self.experiment.order(self.settings.seed, number, self.settings.batchsize):
            misfit, gradient = self.gradient(shots)
            total += misfit
            self.vp.grad = gradient * self.scale
            self.optimiser.step()
            with torch.no_grad():
                self.vp.copy_(torch.as_tensor(self.experiment.update(self.current())))
        error = self.tell(number, total, gradient, time.perf_counter() - start)
        self.save(number)
        return total, error

    def misfit(self):
        """Misfit of all shots in the present model."""
        mine = split_indices_for_rank(np.arange(self.experiment.nshots), self.group.rank, self.group.size)
        residual = self.engine.model(self.vp.detach(), mine).cpu() - self.observed[mine]
        return float(self.group.all_reduce((0.5 * residual.pow(2).sum()).to(self.group.device)))

    def save(self, epoch):
        if self.group.rank == 0:
            (state,) = self.optimiser.state.values()
            moments = {name: state[name].cpu().numpy() for name in ("step", "exp_avg", "exp_avg_sq")}
            self.folder.save(epoch, {"vp": self.current(), "scale": np.array(self.scale), **moments})

    def resume(self):
        epoch, arrays = self.folder.load()
        self.scale = float(arrays["scale"])
        with torch.no_grad():
            self.vp.copy_(torch.as_tensor(arrays["vp"]))
        moments = {name: torch.as_tensor(arrays[name], device=self.vp.device) for name in ("exp_avg", "exp_avg_sq")}
        self.optimiser.state[self.vp] = {"step": torch.as_tensor(arrays["step"]), **moments}
        return epoch


def run(arguments):
    # 1. The process group: one process for each GPU, or a few on a CPU.
    rank, size, device = setup_distributed(arguments.device)
    try:
        settings = read_settings(arguments, Path(__file__).parent / f"multi_gpu_acoustic_fwi_{device.type}")
        group, folder = TorchDistributor(device), RunFolder(settings.out, settings.identity())
        # 2. The same solver on every rank.
        engine = TorchEngine(settings, device) if settings.backend == "torch" else PluginEngine(settings)
        mine = len(split_indices_for_rank(range(settings.batchsize), rank, size))
        print(f"rank {rank} of {size} on {device}: {mine} shots a step, {engine.about}\n", end="", flush=True)
        # 3. Observed data, known to all.
        true = torch.as_tensor(settings.experiment.model.true, device=device)
        observed = observe(engine, group, settings.experiment, true, arguments.observed).cpu()
        # 4. The inversion: each step splits its shots and sums the gradient.
        inversion = Inversion(settings, engine, group, observed, folder)
        done = inversion.resume() if settings.resume else None
        if rank == 0:
            inversion.report.data(observed.numpy())
            folder.start(done)
        if done is None:
            done = inversion.begin()
        with tqdm(total=settings.epochs, initial=done, unit="epoch", disable=rank > 0) as bar:
            for epoch in range(done + 1, settings.epochs + 1):
                misfit, error = inversion.epoch(epoch)
                bar.set_postfix(misfit=f"{misfit:.3e}", error=f"{error or 0:.1f} m/s")
                bar.update()
        final = inversion.misfit()
        if rank == 0:
            print(
                f"results in {folder.path}\n{inversion.report.conclude(final, inversion.current())}",
                flush=True,
            )
    finally:
        # 5. Every rank leaves the group, also after an error.
        teardown_distributed()


def main():
    parser = make_parser(__doc__.split("\n")[0], backend="torch")
    parser.add_argument("--device", default="auto", help="cpu, cuda or auto")
    parser.add_argument(
        "--observed", choices=("slices", "rank0"), default="slices", help="who models the observed data"
    )
    try:
        run(parser.parse_args())
    except SweepError as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
