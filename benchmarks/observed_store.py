"""Memory of ranks that invert observed data from a store: `python -m benchmarks.observed_store --gigabytes 20`.

Most samples are zero, so that the store is small on the disk. The start uses every shot, and each of two steps draws a
few. torchrun starts this file again for each rank, which prints its largest resident memory.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SHAPE, DH, DT, NT, NREC = (20, 125), 10.0, 0.001, 2000, 2500
SHOT = NT * NREC * 4  # bytes
DRAWN, STEPS = 4, 2


def write(folder: Path, nshots: int) -> float:
    """Write the store, and return the time (s)."""
    from sweep_core.io import ObservedStore

    begin = time.perf_counter()
    store = ObservedStore.create(folder / "observed.zarr", (nshots, NT, NREC, 1), DT)
    gather = np.zeros((1, NT, NREC, 1), np.float32)
    for shot in range(nshots):
        gather[0, 200 + shot % 100] = 1e-3
        store.write([shot], gather)
        gather[0, 200 + shot % 100] = 0
    return time.perf_counter() - begin


def invert_part(folder: Path) -> None:
    """Invert with the other ranks, and print the memory and the time of this one."""
    import torch

    from sweep_core import Acoustic, ricker
    from sweep_core.inversion import Stage, invert
    from sweep_core.io import ObservedStore
    from sweep_torch import PropTorch, Torch
    from sweep_torch.distribution import TorchDistributor, setup_distributed, teardown_distributed

    rank, _, device = setup_distributed("cpu")
    try:
        store = ObservedStore.open(folder / "observed.zarr")
        sources = np.stack([np.linspace(2, SHAPE[1] - 3, len(store)), np.full(len(store), 2.0)], axis=1)
        nodes = np.stack(np.meshgrid(np.arange(SHAPE[1]), np.arange(SHAPE[0])), axis=-1).reshape(-1, 2)
        solver = PropTorch(Acoustic(), SHAPE, DH, DT, pml_width=10, dev=device)
        adam, begin = Torch(torch.optim.Adam, shots=DRAWN, lr=0.1), time.perf_counter()
        invert(
            solver, ricker(15.0, NT, DT).astype(np.float32), sources.round().astype(np.int64), nodes[:NREC], store,
            [np.full(SHAPE, 2000.0, np.float32)], Stage(STEPS, low=2.0, high=30.0), optimiser=adam, batch=2,
            group=TorchDistributor(device), folder=folder / "run", precondition=False, progress=False,
        )  # fmt: skip
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        values = {"rank": rank, "peak": peak, "seconds": time.perf_counter() - begin, "data": store.nbytes}
        (folder / f"rank{rank}.json").write_text(json.dumps(values))
    finally:
        teardown_distributed()


def measure(gigabytes: float, ranks: int) -> list[dict[str, float]]:
    """Return the values of each rank, and print them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds = write(folder, max(ranks, round(gigabytes * 1e9 / SHOT)))
        used = sum(path.stat().st_size for path in (folder / "observed.zarr").rglob("*"))
        print(f"{gigabytes:g} GB of data written in {seconds:.0f} s; {used / 1e6:.0f} MB on the disk", flush=True)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"]
        threads = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
        root = str(Path(__file__).parents[1])
        paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        command += ["-m", "benchmarks.observed_store", "--folder", name]
        subprocess.run(command, check=True, env={**os.environ, **threads, "PYTHONPATH": paths})
        results = [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(ranks)]
    for values in results:
        print(f"rank {values['rank']}: {values['peak'] / 1e9:.2f} GB at most, {values['seconds']:.0f} s", flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--gigabytes", type=float, default=20.0)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder:
        invert_part(options.folder)
    else:
        measure(options.gigabytes, options.ranks)


if __name__ == "__main__":
    main()
