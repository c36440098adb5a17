"""A gradient by two processes that this script starts itself, without torchrun; on CPUs.

python examples/short/ranks.py
"""

import os
import socket

import torch

from sweep_core import Acoustic, Distributor, SerialDistributor, ShotPlan, ricker
from sweep_torch import PropTorch
from sweep_torch.distribution import TorchDistributor, setup_distributed, teardown_distributed

SIZE = 2


def gradient(group: Distributor) -> torch.Tensor:
    """Return the gradient of three shots, summed over the ranks."""
    vp = torch.full((40, 50), 2000.0, requires_grad=True)
    solver = PropTorch(Acoustic(4), shape=(40, 50), dh=10.0, dt=0.001, dev=group.device)
    sources, receivers = torch.tensor([[5, 2], [25, 2], [45, 2]]), torch.tensor([[10, 30], [40, 30]])
    mine = ShotPlan(count=len(sources), size=group.size).part(group.rank)
    record = solver(torch.tensor(ricker(20.0, 200, 0.001)).float(), sources[list(mine)], receivers, models=[vp])
    (0.5 * record.square().sum()).backward()  # a sum over shots, so gradients of the ranks add up
    return group.all_reduce(vp.grad)


def work(rank: int, port: int) -> None:
    """Join the group with the environment variables that torchrun would set, and compute."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank), "WORLD_SIZE": str(SIZE)}
    os.environ |= {"LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(SIZE)}
    *_, device = setup_distributed("cpu")
    try:
        total = gradient(TorchDistributor(device))
        if rank == 0:
            alone = gradient(SerialDistributor())
            print(f"{SIZE} ranks and one differ by {float((total - alone).abs().max() / alone.abs().max()):.0e}")
    finally:
        teardown_distributed()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Spawn, since a process forked from one that has computed may hang; each process imports this file again.
    torch.multiprocessing.spawn(work, args=(port,), nprocs=SIZE)
