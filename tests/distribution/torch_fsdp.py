"""Run by torchrun: the same solver under DDP and under FSDP 1 and 2; rank 0 writes its results as JSON to a file."""

import json
import os
import sys
import warnings

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard

from sweep_core import Acoustic, MemoryOptions, ricker
from sweep_torch import PropTorch
from sweep_torch.distribution import setup_distributed, teardown_distributed

SHAPE, NT, STEPS = (12, 14), 30, 2
SETTINGS = [("c", "full"), ("c", "ckpt"), ("eager", "full"), ("eager", "ckpt")]


def example(impl, strategy):
    vp = 2000 + 100 * torch.rand(SHAPE, generator=torch.Generator().manual_seed(0))
    return PropTorch(
        Acoustic(2), SHAPE, 10.0, 0.001, models=[vp], pml_width=3, impl=impl, memory=MemoryOptions(strategy)
    )


def train(module, rank):
    """Run STEPS steps of SGD: one shot per rank and step, gradients averaged over the ranks."""
    wavelet, receivers = torch.tensor(ricker(30.0, NT, 0.001), dtype=torch.float32), torch.tensor([[1, 1], [12, 5]])
    optimiser = torch.optim.SGD(module.parameters(), lr=1e5)
    for _ in range(STEPS):
        optimiser.zero_grad()
        record = module(wavelet, torch.tensor([[3 + 5 * rank, 4]]), receivers)
        (record.square().sum() / record.detach().square().sum()).backward()
        optimiser.step()
    return optimiser


def full_tensor_of(parameter):
    return parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter


def main(path):
    rank, _, _ = setup_distributed("cpu")
    warnings.simplefilter("ignore")  # FSDP 1 warns that it is deprecated
    results = {}
    try:
        for setting in SETTINGS:
            plain = torch.nn.parallel.DistributedDataParallel(example(*setting))
            train(plain, rank)
            expected = plain.module.vp.detach().flatten()
            two = fully_shard(example(*setting))
            train(two, rank)
            one = FullyShardedDataParallel(example(*setting), device_id=torch.device("cpu"))
            train(one, rank)
            with FullyShardedDataParallel.summon_full_params(one):
                differences = [
                    (x - expected).abs().max().item() for x in (one.vp.flatten(), full_tensor_of(two.vp).flatten())
                ]
            moved = (expected - example(*setting).vp.flatten()).abs().max().item()
            results[" ".join(setting)] = [moved, *differences]
        dist.barrier()
    finally:
        teardown_distributed()
    if rank == 0:
        with open(path, "w") as file:
            json.dump(results, file)


if __name__ == "__main__":
    main(sys.argv[1])
    os._exit(0)  # torch caches the mesh of FSDP 2 with Gloo's threads, which sometimes abort when Python ends
