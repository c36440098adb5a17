"""Run by torchrun on every rank; rank 0 writes the results as JSON to the file of the first argument."""

import json
import sys
from pathlib import Path

import torch

from sweep_core import Acoustic, AcousticVariableDensity, Elastic, ShotPlan, SweepError, ricker
from sweep_core.testing.distributors import distributes
from sweep_torch import PropTorch
from sweep_torch.distribution import (
    DTYPES,
    TorchDistributor,
    broadcast_observed_data,
    chunked_observed_data,
    setup_distributed,
    split_indices_for_rank,
    sum_gradients,
    teardown_distributed,
)

SHAPE, SHOTS, NT = (20, 24), 3, 60
RECEIVERS = {Acoustic: ["h1"], AcousticVariableDensity: ["p", "vz"], Elastic: ["vx", "p"]}


def solver_of(equation, **options):
    receivers = RECEIVERS[equation]
    return PropTorch(equation(4), SHAPE, 10.0, 0.001, pml_width=5, impl="c", receiver_type=receivers, **options)


def problem(equation):
    torch.manual_seed(0)
    solver = solver_of(equation, dev="cpu")
    mean = {"vp": 2000, "vs": 1000, "rho": 1800}
    models = [mean[p.name] + 300 * torch.rand(SHAPE, dtype=torch.float64) for p in solver.problem.equation.parameters]
    sources = torch.tensor([[4, 2], [12, 9], [20, 17]])[:SHOTS]
    receivers = torch.tensor([[2, 3], [22, 18], [10, 10]])
    wavelet = torch.tensor(ricker(30.0, NT, 0.001))
    record = solver(wavelet, sources, receivers, models=models)
    observed = torch.randn(record.shape, dtype=torch.float64) * record.abs().amax((0, 1, 2))
    return solver, models, wavelet, sources, receivers, observed


def gradient(solver, models, wavelet, sources, receivers, observed, shots):
    leaves, total = [m.clone().requires_grad_() for m in models], torch.zeros((), dtype=torch.float64)
    for leaf in leaves:
        leaf.grad = torch.zeros_like(leaf)
    for s in shots:
        record = solver(wavelet, sources[s : s + 1], receivers, models=leaves)
        loss = 0.5 * (record - observed[s : s + 1]).pow(2).sum()
        loss.backward()
        total += loss.detach()
    return total, [leaf.grad for leaf in leaves]


def changed_by_broadcast(group):
    """Return the numbers of tensors that the broadcast changed and of objects that it unpickled, over all ranks."""
    generator = torch.Generator().manual_seed(1)
    shapes = ((), (0,), (3,), (0, 4), (2, 3, 4), (1,) * 9)
    arguments = [(100 * torch.rand(shape, generator=generator)).to(dtype) for dtype in DTYPES for shape in shapes]
    arguments.append(torch.rand((4, 6), generator=generator).T)
    unpickled = []
    sys.addaudithook(lambda event, _: unpickled.append(event) if event == "pickle.find_class" else None)
    results = [group.broadcast(tensor if group.rank == 0 else None) for tensor in arguments]
    wrong = [
        f"{a.dtype} {list(a.shape)}"
        for a, b in zip(arguments, results, strict=True)
        if a.dtype != b.dtype or not torch.equal(a, b)
    ]
    count = group.all_reduce(torch.tensor([len(wrong), len(unpickled)]))
    return {"changed": int(count[0]), "unpickled": int(count[1]), "for example": wrong[:3]}


def refusals(group):
    """Return the number of refusals over all ranks for None and a quantised tensor.

    Every rank must refuse, so that no rank waits for the others.
    """
    count = 0
    for x in (None, torch.quantize_per_tensor(torch.ones(3), 1.0, 0, torch.qint8)):
        try:
            group.broadcast(x if group.rank == 0 else None)
        except SweepError:
            count += 1
    return int(group.all_reduce(torch.tensor(count)))


def main(path):
    rank, size, device = setup_distributed("cpu")
    try:
        group = TorchDistributor(device)
        laws = list(distributes(group))
        broken = torch.tensor(sum(law.status != "held" for law in laws))
        results = {"size": size, "laws": len(laws), "broken": int(group.all_reduce(broken))}
        results["sent"] = changed_by_broadcast(group)
        results["refusals"] = refusals(group) if size > 1 else 0
        for equation in RECEIVERS:
            results[equation.name] = results_of_rank(equation, group, rank, device)
    finally:
        teardown_distributed()
    if rank == 0:
        results["threads"] = [
            name for task in Path("/proc/self/task").glob("*/comm") if "gloo" in (name := task.read_text())
        ]
        with open(path, "w") as file:
            json.dump(results, file)


def results_of_rank(equation, group, rank, device):
    solver, models, *survey = problem(equation)
    wavelet, sources, receivers, observed = survey
    own_shots = split_indices_for_rank(range(SHOTS), rank, group.size)
    misfit, slopes = gradient(solver, models, *survey, own_shots)
    part = chunked_observed_data(
        solver, wavelet, sources[own_shots.start : own_shots.stop], receivers, models=models, forward_batchsize=2
    )
    arguments = broadcast_observed_data(rank, device, observed if rank == 0 else None)
    return {
        "misfit": float(group.all_reduce(misfit)),
        "gradient": [group.all_reduce(slope).tolist() for slope in slopes],
        "record": group.all_gather(ShotPlan(SHOTS, group.size), part).tolist(),
        "broadcast": float(group.all_reduce((arguments - observed).abs().max())),
        "ddp": ddp_gradient(equation, models, survey, own_shots),
    }


def ddp_gradient(equation, models, survey, own_shots):
    """Return gradients of DistributedDataParallel; a rank without shots has an empty record and a zero gradient."""
    wavelet, sources, receivers, observed = survey
    solver = solver_of(equation, models=models)
    ddp = torch.nn.parallel.DistributedDataParallel(solver)
    sum_gradients(ddp)
    record = ddp(wavelet, sources[list(own_shots)], receivers)
    (0.5 * (record - observed[list(own_shots)]).pow(2).sum()).backward()
    return [p.grad.tolist() for p in solver.parameters()]


if __name__ == "__main__":
    main(sys.argv[1])
