"""Elastic full-waveform inversion for vp, vs and rho with shots spread over processes, one per GPU or a few on a CPU.

    torchrun --standalone --nproc_per_node=2 examples/multi-gpu/torch/fwi_marmousi_elastic_dist.py --device auto

Explosions in the water, vx and vz on the seafloor. With --model a folder of arrays, or SWEEP_DATA naming one, the
earth is Marmousi-II at 25 m; otherwise an embedded one. Without torchrun the same script runs as one process.
Results lie beside it, in multi_gpu_elastic_fwi_<cpu|cuda>/.
"""

import sys
from pathlib import Path

from sweep_core import SweepError
from sweep_core.inversion import make_elastic_parser, read_elastic_settings
from sweep_torch.distribution import TorchDistributor, setup_distributed, split_indices_for_rank, teardown_distributed
from sweep_torch.inversion import Inversion, make_engine, observe, open_folder


def run(arguments):
    # 1. The process group: one process for each GPU, or a few on a CPU.
    rank, size, device = setup_distributed(arguments.device)
    try:
        settings = read_elastic_settings(arguments, Path(__file__).parent / f"multi_gpu_elastic_fwi_{device.type}")
        group = TorchDistributor(device)
        folder = open_folder(settings, group)
        # 2. The same solver on every rank.
        engine = make_engine(settings, device)
        mine = len(split_indices_for_rank(range(settings.batchsize), rank, size))
        print(f"rank {rank} of {size} on {device}: {mine} shots a step, {engine.about}\n", end="", flush=True)
        # 3. Observed data, known to all.
        observed = observe(engine, group, settings.experiment, arguments.observed).cpu()
        # 4. The inversion: each step splits its shots and sums the gradient.
        told = Inversion(settings, engine, group, observed, folder).run()
        if rank == 0:
            print(f"results in {folder.path}\n{told}", flush=True)
    finally:
        # 5. Every rank leaves the group, also after an error.
        teardown_distributed()


def main():
    parser = make_elastic_parser(__doc__.split("\n")[0], backend="torch")
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
