"""Full-waveform inversion with shots spread over processes, one for each GPU or a few on a CPU.

    torchrun --standalone --nproc_per_node=2 examples/multi-gpu/torch/fwi_marmousi_dist.py --device auto

`--physics acoustic`, the default, inverts for vp. `--physics elastic` inverts for vp, vs and rho: explosions in the
water, vx and vz on the seafloor; with --model a folder of arrays, or SWEEP_DATA naming one, the earth is Marmousi-II at
25 m. Without torchrun the same script runs as one process. Results lie beside it, in
multi_gpu_<acoustic|elastic>_fwi_<cpu|cuda>/.
"""

import sys
from functools import partial
from pathlib import Path

import torch

from sweep_core import SweepError
from sweep_core.inversion import (
    arguments_of,
    check_out,
    conclude,
    invert,
    make_parser,
    make_solver,
    observe,
    read_settings,
)
from sweep_torch import PropTorch, Torch
from sweep_torch.distribution import TorchDistributor, setup_distributed, split_indices_for_rank, teardown_distributed


def run(arguments):
    # 1. The process group: one process for each GPU, or a few on a CPU.
    rank, size, device = setup_distributed(arguments.device)
    try:
        out = Path(__file__).parent / f"multi_gpu_{arguments.physics}_fwi_{device.type}"
        settings, group = read_settings(arguments, out), TorchDistributor(device)
        check_out(settings, group)
        # 2. The same solver on every rank.
        solver = make_solver(settings, "torch", partial(PropTorch, dev=device, impl=settings.impl))
        mine = len(split_indices_for_rank(range(settings.batchsize), rank, size))
        print(f"rank {rank} of {size} on {device}: {mine} shots a step, {solver.explain()}\n", end="", flush=True)
        # 3. Observed data, known to all.
        observed = observe(settings, solver, group, arguments.observed)
        # 4. The inversion: each step splits its shots over the group and sums the gradient.
        adam = Torch(torch.optim.Adam, shots=settings.batchsize, lr=1.0)
        found = invert(solver, **arguments_of(settings, solver, observed), optimiser=adam, group=group)
        told = conclude(settings, solver, observed, found, group)
        if rank == 0:
            print(f"results in {settings.out}\n{told}", flush=True)
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
