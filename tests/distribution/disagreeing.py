"""An inversion by ranks of which the last behaves as argv[1] says; for test_faulty_ranks.py."""

import os
import sys
import time

import numpy as np
import torch

from sweep_core import Acoustic, ricker
from sweep_core.inversion import Stage, invert
from sweep_torch import PropTorch
from sweep_torch.distribution import TorchDistributor, setup_distributed


class SleepAfterShots:
    """An observer that makes its rank hang in the middle of its shots."""

    events = ("shot",)

    def __call__(self, observation):
        time.sleep(8)


case, folder = sys.argv[1:]
rank, size, device = setup_distributed("cpu", timeout=4)
is_last = rank == size - 1
start = np.full((30, 40), 2000.0, np.float32)
solver = PropTorch(Acoustic(4), start.shape, 10.0, 0.001)
sources, receivers = np.array([[5, 2], [20, 2], [30, 2]]), np.array([[10, 3], [30, 3]])
wavelet = ricker(20.0, 100, 0.001).astype(np.float32)
with torch.no_grad():
    observed = solver(torch.tensor(wavelet), sources, receivers, models=[torch.tensor(1.05 * start)]).numpy()
options = {"start": [start], "bounds": {"vp": (1500.0, 2500.0)}, "folder": os.path.join(folder, "run")}
if is_last:
    if case == "dies":
        sys.exit(3)
    if case == "hangs":
        options["observers"] = [SleepAfterShots()]
    if case == "disagrees":
        options |= {"start": [start + 1], "folder": os.path.join(folder, "other")}
if case in ("damaged", "skips"):
    from sweep_core.io import ObservedStore

    path = os.path.join(folder, "observed.zarr")
    if rank == 0:
        store = ObservedStore.create(path, observed.shape, 0.001)
        store.write(range(3), observed)
        store.record[2] = 0
    torch.distributed.barrier()
    observed = ObservedStore.open(path)
    options["skip_bad_shots"] = case == "skips"
began = time.monotonic()
try:
    result = invert(solver, wavelet, sources, receivers, observed, stages=Stage(1), progress=False,
                    group=TorchDistributor(device), **options)  # fmt: skip
    os.write(1, f"{rank} ended well without {result.bad_shots}\n".encode())
except Exception as error:
    os.write(1, f"{rank} {type(error).__name__}: {error}\n".encode())
    assert time.monotonic() - began < 15
