"""Full-waveform inversion with shots spread over the local devices of one JAX process.

    python examples/multi-gpu/jax/fwi_marmousi_pmap.py --devices 2

On a machine without GPUs, --devices N makes N virtual CPU devices. Results lie beside the script, in
multi_gpu_<acoustic|elastic>_fwi_jax/.
"""

import sys
from pathlib import Path

import attrs
import optax

from sweep_core import SerialDistributor, SweepError, make_problem
from sweep_core.inversion import (
    Settings,
    Solver,
    arguments_of,
    check_out,
    conclude,
    invert,
    make_solver,
    observe,
    option,
)
from sweep_jax import Optax
from sweep_jax.distribution import DevicesExecutor, local_devices, set_virtual_cpu_devices


@attrs.frozen(slots=False)
class Options(Settings):
    devices: int | None = option(None, "devices to use; on a CPU so many virtual ones. All by default")
    observed: str = option("slices", "observed data: slices or rank0, in memory; or store, on disk in --out")


def run(settings):
    # 1. The devices of this process, virtual ones on a CPU.
    if settings.devices:
        set_virtual_cpu_devices(settings.devices)
    devices = local_devices(settings.devices)
    settings = attrs.evolve(
        settings,
        out=settings.out or Path(__file__).parent / f"multi_gpu_{settings.physics}_fwi_jax",
        forward_batchsize=settings.forward_batchsize * len(devices),
    )
    check_out(settings)

    # 2. One solver, whose shots pmap spreads over the devices.
    def make(equation, **grid):
        return Solver(DevicesExecutor(settings.impl, devices), make_problem(equation, **grid))

    solver = make_solver(settings, "jax", make)
    shots = settings.shots_per_step
    print(f"{len(devices)} {devices[0].platform} devices, {shots} shots a step, {solver.explain()}", flush=True)
    # 3. Observed data stay on the host, or in a store of which a step reads its shots.
    observed = observe(settings, solver, SerialDistributor(), settings.observed)
    # 4. The inversion: each step splits its shots over the devices and sums the gradient.
    adam = Optax(optax.adam(1.0), shots=shots, scaling=settings.scaling)
    inverted = invert(solver, **arguments_of(settings, solver, observed), optimiser=adam)
    print(f"results in {settings.out}\n{conclude(settings, solver, observed, inverted)}")


if __name__ == "__main__":
    try:
        run(Options.read(__doc__.split("\n")[0]))
    except SweepError as error:
        sys.exit(f"{type(error).__name__}: {error}")
