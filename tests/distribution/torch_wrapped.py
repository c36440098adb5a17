"""Run by torchrun on two ranks: gradients and steps by wrappers of torch; rank 0 writes the errors as JSON to a file."""

import json
import os
import sys
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from sweep_core import Elastic, ShotPlan, ricker
from sweep_torch import PropTorch
from sweep_torch.distribution import setup_distributed, sum_gradients, teardown_distributed

SHAPE, NT, SHOTS = (24, 20), 60, 5
SOURCES = torch.tensor([[4, 2], [9, 3], [12, 9], [17, 4], [15, 17]])
RECEIVERS, WAVELET = torch.tensor([[2, 3], [18, 20], [10, 10]]), torch.tensor(ricker(15.0, NT, 0.001))


def make():
    generator = torch.Generator().manual_seed(0)
    models = [mean + 200 * torch.rand(SHAPE, generator=generator).double() for mean in (2000, 1000, 1800)]
    return PropTorch(Elastic(4), SHAPE, 10.0, 0.001, pml_width=5, receiver_type=["vx", "p"], models=models)


def misfit(module, shots):
    """Return a misfit whose gradients are far above the eps of Adam."""
    record = module(WAVELET, SOURCES[list(shots)], RECEIVERS)
    return 1e16 * (record[..., 0].square().sum() + 1e-12 * record[..., 1].square().sum())


def whole(x):
    return (x.full_tensor() if hasattr(x, "full_tensor") else x).detach().clone()


def gradients(module):
    return [whole(p.grad) for p in module.parameters()]


def step(optimiser, module, loss):
    """Return the models after two steps."""
    for _ in range(2):
        optimiser.zero_grad()
        loss().backward()
        optimiser.step()
    return [whole(p) for p in module.parameters()]


def adam(parameters):
    return torch.optim.Adam(parameters, lr=10.0)


def by_ddp(own):
    ddp = DistributedDataParallel(make())
    sum_gradients(ddp)
    misfit(ddp, own).backward()
    return gradients(ddp)


def by_no_sync(own):
    """Accumulate over single shots; only the last backward reduces. Ranks have different numbers of shots."""
    ddp = DistributedDataParallel(make())
    sum_gradients(ddp)
    for shot in own:
        with nullcontext() if shot == own[-1] else ddp.no_sync():
            misfit(ddp, [shot]).backward()
    return gradients(ddp)


def by_zero(own):
    ddp = DistributedDataParallel(make())
    sum_gradients(ddp)
    optimiser = ZeroRedundancyOptimizer(ddp.parameters(), torch.optim.Adam, lr=10.0)
    models = step(optimiser, ddp, lambda: misfit(ddp, own))
    return models, sum(x.numel() for s in optimiser.optim.state.values() for x in s.values() if x.ndim)


def by_fsdp(own):
    size = dist.get_world_size()
    module = fully_shard(make())
    (size * misfit(module, own)).backward()
    slopes = gradients(module)
    shards = [p.grad.to_local().numel() for p in module.parameters()]
    optimiser = adam(module.parameters())
    models = step(optimiser, module, lambda: size * misfit(module, own))
    state = sum(x.to_local().numel() for s in optimiser.state.values() for x in s.values() if x.ndim)
    return slopes, models, {"parameters": sum(p.to_local().numel() for p in module.parameters()),
                            "gradients": sum(shards), "state": state}  # fmt: skip


def error(results, expected):
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(results, expected, strict=True))


def main(path):
    rank, size, _ = setup_distributed("cpu")
    try:
        own = list(ShotPlan(SHOTS, size).part(rank))
        serial = make()
        misfit(serial, range(SHOTS)).backward()
        expected = gradients(serial)
        models = step(adam(serial.parameters()), serial, lambda: misfit(serial, range(SHOTS)))
        moved = min(float((m - s).detach().abs().max()) for m, s in zip(models, make().parameters(), strict=True))
        zero, zero_state = by_zero(own)
        slopes, fsdp, shards = by_fsdp(own)
        results = {
            "moved": moved,
            "ddp": error(by_ddp(own), expected),
            "no_sync": error(by_no_sync(own), expected),
            "zero": error(zero, models),
            "fsdp gradient": error(slopes, expected),
            "fsdp models": error(fsdp, models),
            "shards": {"zero state": zero_state, **shards, "model": sum(m.numel() for m in models)},
        }
        dist.barrier()
    finally:
        teardown_distributed()
    if rank == 0:
        with open(path, "w") as file:
            json.dump(results, file)


if __name__ == "__main__":
    main(sys.argv[1])
    os._exit(0)  # torch caches the mesh of FSDP 2 with Gloo's threads, which sometimes abort when Python ends
