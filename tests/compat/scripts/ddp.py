"""Shots over the processes of torchrun: the misfit and its gradient through DistributedDataParallel."""

import sys

import numpy as np
import torch
import torch.distributed as dist
from sweep.equations import Acoustic
from sweep.propagator.torch import PropTorch
from sweep.signal import ricker

shape, dh, dt, nt = (50, 80), 10.0, 0.001, 280
dist.init_process_group(backend="gloo")
rank, size = dist.get_rank(), dist.get_world_size()

true, start = (np.full(shape, 2000.0, dtype=np.float32) for _ in range(2))
true[12:] = 2300.0
solver = PropTorch(Acoustic(spatial_order=4, device="cpu"), shape=shape, dh=dh, dt=dt, abcn=20, use_ckpt=False)
wavelet = ricker(np.arange(nt) * dt - 0.06, f=18.0).astype(np.float32)
sources = np.array([[10, 3], [30, 3], [50, 3], [70, 3]])
receivers = np.broadcast_to(np.stack([np.arange(2, 78, 4), np.full(19, 3)], axis=-1), (4, 19, 2)).copy()
mine = np.array_split(np.arange(4), size)[rank]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.vp = torch.nn.Parameter(torch.tensor(start))

    def forward(self, shots):
        return solver(wavelet, sources[shots], receivers[shots], models=[self.vp])


model = torch.nn.parallel.DistributedDataParallel(Model())
with torch.no_grad():
    observed = solver(wavelet, sources[mine], receivers[mine], models=[torch.tensor(true)])
predicted = model(mine)
(0.5 * (predicted - observed).pow(2).sum()).backward()
records = [torch.empty_like(observed) for _ in range(size)]
dist.all_gather(records, predicted.detach().contiguous())
if rank == 0:
    np.savez(sys.argv[1], record=torch.cat(records).numpy(), gradient=model.module.vp.grad.numpy())
del model, predicted  # they hold the group; torch sometimes aborts a process that ends with a live group
dist.barrier()
dist.destroy_process_group()
