"""
Many processes with torch
=========================

Each process models some of the shots, and the gradient of all shots is the sum over the processes. ``torchrun`` starts
one process for each GPU, or any number of processes on a CPU. This example uses two.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

from sweep_core.plot import plot_image

# %%
# This is the program of each process. The number of a process is its rank. ``ShotPlan`` gives each rank its part of the
# nine shots, which need not divide evenly. The misfit is a sum over shots, so the gradients of the ranks add up.

program = """
import numpy as np
import torch

from sweep_core import Acoustic, ShotPlan, ricker
from sweep_core.io import faulted_model
from sweep_torch import PropTorch
from sweep_torch.distribution import TorchDistributor, setup_distributed, teardown_distributed

rank, size, device = setup_distributed("auto")
group = TorchDistributor(device)
earth = faulted_model((80, 200), 12.5, seed=3, water_depth=150.0)
nt, dt, shape = 700, 0.0015, earth.true.shape
mine = ShotPlan(count=9, size=size).part(rank)
sources = torch.tensor([[20 + 20 * shot, 2] for shot in mine])
receivers = np.stack([np.arange(0, 200, 2), np.full(100, 2)], axis=1)
wavelet = torch.tensor(ricker(10.0, nt, dt), dtype=torch.float32, device=device)

solver = PropTorch(Acoustic(spatial_order=8), shape, dh=12.5, dt=dt, dev=device)
true, vp = (torch.tensor(model, device=device) for model in (earth.true, earth.initial))
observed = solver(wavelet, sources, receivers, models=[true])
vp.requires_grad_()
misfit = 0.5 * (solver(wavelet, sources, receivers, models=[vp]) - observed).square().sum()
misfit.backward()
print(f"rank {rank} of {size} on {device}: shots {list(mine)}, misfit {misfit.item():.4g}")
gradient = group.all_reduce(vp.grad)
if rank == 0:
    np.save(f"gradient_{size}.npy", np.where(earth.water, 0, gradient.cpu()))
teardown_distributed()
"""
Path("gradient.py").write_text(program)

# %%
# ``torchrun`` runs the program with two processes, and then with one.

for size in (2, 1):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={size}"]
    process = subprocess.run([*torchrun, "gradient.py"], capture_output=True, text=True)
    if process.returncode:
        raise RuntimeError(process.stderr)
    print("".join(sorted(process.stdout.splitlines(keepends=True))))

# %%
# Both runs give the same gradient, to rounding.

single, double = np.load("gradient_1.npy"), np.load("gradient_2.npy")
print(f"largest difference over the maximum: {np.abs(double - single).max() / np.abs(single).max():.0e}")
plot_image(double, 12.5, title="gradient of nine shots", label="d misfit / d vp (per m/s)", cmap="RdBu_r")

# %%
# DistributedDataParallel works as well. By default it averages the gradients of the ranks; with
# :func:`sweep_torch.distribution.sum_gradients` it sums them.
