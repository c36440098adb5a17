"""Full-waveform inversion with shots spread over processes, one for each GPU or a few on a CPU.

    torchrun --standalone --nproc_per_node=2 examples/multi-gpu/torch/fwi_marmousi_dist.py --device auto

mpirun and srun start it, too; without a launcher it runs as one process. `--physics acoustic`, the default, inverts for
vp. `--physics elastic` inverts for vp, vs and rho, with explosions in the water, and vx and vz on the seafloor. If
--model or SWEEP_DATA is a folder of arrays, the elastic earth is Marmousi-II at 25 m. Results lie beside the script, in
multi_gpu_<acoustic|elastic>_fwi_<cpu|cuda>/.
"""

import sys
from functools import partial
from pathlib import Path

import attrs
import torch

from sweep_core import SweepError
from sweep_core.distribution import find_launch
from sweep_core.inversion import (
    Settings,
    arguments_of,
    check_out,
    conclude,
    invert,
    make_solver,
    observe,
    option,
)
from sweep_torch import PropTorch, Torch
from sweep_torch.distribution import TorchDistributor, setup_distributed, split_indices_for_rank, teardown_distributed


@attrs.frozen(slots=False)
class Options(Settings):
    device: str = option("auto", "cpu, cuda or auto")
    observed: str = option(
        "slices", "who models the observed data: slices, each rank its own; rank0; or store, each its own into --out"
    )


def run(settings):
    # 1. The process group: one process for each GPU, or a few on a CPU.
    rank, size, device = setup_distributed(settings.device)
    try:
        out = settings.out or Path(__file__).parent / f"multi_gpu_{settings.physics}_fwi_{device.type}"
        settings, group = attrs.evolve(settings, out=out), TorchDistributor(device)
        check_out(settings, group)
        # 2. The same solver on every rank.
        solver = make_solver(settings, "torch", partial(PropTorch, dev=device, impl=settings.impl))
        shots = len(split_indices_for_rank(range(settings.shots_per_step), rank, size))
        line = f"rank {rank} of {size} on {device} ({find_launch().launcher}): {shots} shots a step, {solver.explain()}"
        print(f"{line}\n", end="", flush=True)
        # 3. Observed data, known to all, or in a store of which each rank reads its shots.
        observed = observe(settings, solver, group, settings.observed)
        # 4. The inversion: each step splits its shots over the group and sums the gradient.
        adam = Torch(torch.optim.Adam, shots=settings.shots_per_step, scaling=settings.scaling, lr=1.0)
        inverted = invert(solver, **arguments_of(settings, solver, observed), optimiser=adam, group=group)
        report = conclude(settings, solver, observed, inverted, group)
        if rank == 0:
            print(f"results in {settings.out}\n{report}", flush=True)
    finally:
        # 5. Every rank leaves the group, also after an error.
        teardown_distributed()


if __name__ == "__main__":
    try:
        run(Options.read(__doc__.split("\n")[0]))
    except SweepError as error:
        sys.exit(f"{type(error).__name__}: {error}")
