"""Acoustic full-waveform inversion with shots spread over the local devices of one JAX process.

    python examples/multi-gpu/jax/fwi_marmousi_pmap.py --devices 2

On a machine without GPUs, --devices N makes N virtual CPU devices. Results lie beside the script, in
multi_gpu_acoustic_fwi_jax/.
"""

import sys
import time
from pathlib import Path

import numpy as np
import optax
from tqdm import tqdm

from sweep_core import ShotPlan, SweepError
from sweep_core.inversion import AdamState, ExecutorEngine, Report, RunFolder, first_scale, make_parser, read_settings
from sweep_jax import PropJax
from sweep_jax.distribution import (
    local_devices,
    make_misfit_and_gradient,
    replicate,
    set_virtual_cpu_devices,
    shard_shots,
)


class PmapEngine:
    """Misfit and gradient of some shots over all devices: shots are sharded, the model is replicated."""

    def __init__(self, settings, devices):
        experiment = settings.experiment
        self.solver = PropJax(
            experiment.equation, shape=experiment.model.true.shape,
            dh=experiment.model.dh, dt=experiment.dt, source_type=["h1"], receiver_type=["h1"], impl=settings.impl,
            memory=settings.memory,
        )  # fmt: skip
        self.shots, self.devices = experiment.shots, devices
        self.batch = settings.forward_batchsize * len(devices)
        self.function = make_misfit_and_gradient(self.solver, devices)
        self.wavelet, self.receivers = (
            replicate(self.shots.wavelet, devices),
            replicate(self.shots.receivers, devices),
        )
        self.about = self.solver.explain()

    def model(self, vp, chosen):
        """Record of the chosen shots, on the host."""
        records = [
            np.asarray(self.solver(self.shots.wavelet, self.shots.sources[some], self.shots.receivers, models=[vp]))
            for some in np.array_split(chosen, -(-len(chosen) // self.batch))
        ]
        return np.concatenate(records)

    def misfit_and_gradient(self, vp, observed, chosen, after=None):
        """Sums over the chosen shots; only their observed data leave the host. ``after`` is told of every few."""
        models, misfit, gradient = [replicate(vp, self.devices)], 0.0, np.zeros_like(vp)
        for first in range(0, len(chosen), self.batch):
            some = chosen[first : first + self.batch]
            plan = ShotPlan(len(some), len(self.devices))
            sources, weights = shard_shots(plan, self.shots.sources[some], self.devices)
            data, _ = shard_shots(plan, observed[some], self.devices)
            value, (slope,) = self.function(models, self.wavelet, sources, self.receivers, data, weights)
            misfit += float(value)
            gradient += np.asarray(slope)
            if after:
                after(some, value)
        return misfit, gradient


class Inversion:
    """Adam on vp, on the host; the gradient is the sum over all devices."""

    def __init__(self, settings, engine, observed, folder):
        self.settings, self.engine, self.observed, self.folder = settings, engine, observed, folder
        self.experiment, self.report = settings.experiment, Report(settings, folder)
        self.vp = self.experiment.model.initial.copy()
        self.optimiser = optax.adam(settings.lr)
        self.state = self.optimiser.init(self.vp)

    def gradient(self, shots, epoch):
        after = self.report.observers.after_shots(epoch, lambda: self.vp)
        misfit, gradient = self.engine.misfit_and_gradient(self.vp, self.observed, shots, after)
        return misfit, gradient * ~self.experiment.model.water

    def begin(self):
        """The first gradient, at the starting model; what refuses it leaves the folder as it was."""
        misfit, gradient = self.gradient(np.arange(self.experiment.nshots), 0)
        (self.scale,) = first_scale(self.experiment.names, gradient)
        self.enter()
        self.report.epoch(0, misfit, self.vp, gradient, 0.0)
        return 0

    def enter(self, history=()):
        """The folder is that of this run from here on, which goes on after `history`."""
        self.folder.start(history)
        self.report.data(self.observed)

    def epoch(self, number):
        """All shots once; returns their misfit, each at the model that its step met."""
        start, total = time.perf_counter(), 0.0
        for shots in self.experiment.order(self.settings.seed, number, self.settings.batchsize):
            misfit, gradient = self.gradient(shots, number)
            total += misfit
            update, self.state = self.optimiser.update(gradient * np.float32(self.scale), self.state)
            self.vp = self.experiment.update(self.vp + np.asarray(update)).astype(np.float32)
        error = self.report.epoch(number, total, self.vp, gradient, time.perf_counter() - start)
        adam = self.state[0]
        state = AdamState(self.vp, self.scale, int(adam.count), np.asarray(adam.mu), np.asarray(adam.nu))
        state.save(self.settings, self.folder, number)
        return total, error

    def misfit(self):
        """Misfit of all shots in the present model."""
        residual = self.engine.model(self.vp, np.arange(self.experiment.nshots)) - self.observed
        return 0.5 * float(np.square(residual, dtype=np.float64).sum())

    def resume(self):
        state, checkpoint = AdamState.load(self.settings, self.folder)
        self.vp, self.scale = state.model, float(state.scale[0])
        moments = {"count": np.asarray(state.step, np.int32), "mu": state.mean, "nu": state.square}
        self.state = (self.state[0]._replace(**moments), *self.state[1:])
        self.enter(checkpoint.history)
        return checkpoint.epoch


def run(arguments):
    # 1. The devices of this process, virtual ones on a CPU.
    if arguments.devices:
        set_virtual_cpu_devices(arguments.devices)
    devices = local_devices(arguments.devices)
    settings = read_settings(arguments, Path(__file__).parent / "multi_gpu_acoustic_fwi_jax")
    folder = RunFolder(settings.out, settings.identity())
    folder.claim(settings.resume, settings.overwrite)
    # 2. One solver, replicated by pmap.
    engine = PmapEngine(settings, devices) if settings.backend == "jax" else ExecutorEngine(settings)
    print(
        f"{len(devices)} {devices[0].platform} devices, {settings.batchsize} shots a step, {engine.about}",
        flush=True,
    )
    # 3. Observed data stay on the host.
    observed = engine.model(settings.experiment.model.true, np.arange(settings.experiment.nshots))
    inversion = Inversion(settings, engine, observed, folder)
    # 4. The inversion.
    done = inversion.resume() if settings.resume else inversion.begin()
    with tqdm(total=settings.epochs, initial=done, unit="epoch") as bar:
        for epoch in range(done + 1, settings.epochs + 1):
            misfit, error = inversion.epoch(epoch)
            bar.set_postfix(misfit=f"{misfit:.3e}", error=f"{error:.1f} m/s")
            bar.update()
    print(f"results in {folder.path}\n{inversion.report.conclude(inversion.misfit(), inversion.vp)}")


def main():
    parser = make_parser(__doc__.split("\n")[0], backend="jax")
    parser.add_argument("--devices", type=int, help="devices to use; on a CPU so many virtual ones. All by default")
    try:
        run(parser.parse_args())
    except SweepError as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
