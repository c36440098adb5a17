"""A user's script, unchanged except for the name of the imported package; run by torchrun."""

import json
import sys

import torch
import torch.distributed as dist

from sweep_core import Acoustic, BoundaryOptions, CUDAOptions, MemoryOptions, ricker
from sweep_torch import PropTorch

SHAPE, SHOTS, NT, DH, DT = (40, 60), 5, 300, 10.0, 0.001


def make_solver(device, memory):
    return PropTorch(
        Acoustic(spatial_order=8, device=device),
        shape=SHAPE, dev=device, dh=DH, dt=DT,
        source_type=["h1"], receiver_type=["h1"],
        pml_type="cpmlr", impl="c",
        cuda_options=CUDAOptions(memory=memory),
    )  # fmt: skip


def gradient(solver, shots, device):
    """Return the gradient in vp of half the sum of squares of the records, one shot at a time."""
    generator = torch.Generator().manual_seed(0)
    vp = 2000 + 300 * torch.rand(SHAPE, generator=generator, dtype=torch.float64)
    vp = vp.to(device).requires_grad_()
    wavelet = torch.tensor(ricker(20.0, NT, DT), device=device)
    x = torch.arange(0, SHAPE[1], 3)
    receivers = torch.stack([x, torch.full_like(x, 2)], dim=1)
    vp.grad = torch.zeros_like(vp)
    for shot in shots:
        sources = torch.tensor([[6 + 12 * shot, 2]])
        record = solver(wavelet, sources, receivers, models=[vp])
        (0.5 * record.pow(2).sum()).backward()
    return vp.grad


def main(path, device):
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    solver = make_solver(device, MemoryOptions(strategy="boundary", boundary=BoundaryOptions(storage="gpu")))
    mine = range(rank, SHOTS, size)
    total, counts = gradient(solver, mine, device), torch.zeros(size, dtype=torch.int64)
    counts[rank] = len(mine)
    for tensor in (total, counts):
        dist.all_reduce(tensor)
    if rank == 0:
        with open(path, "w") as file:
            json.dump({"gradient": total.tolist(), "shots": counts.tolist(), "about": solver.explain()}, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], torch.device(sys.argv[2]))
