"""The eager time loop: the equation's step in torch operations, differentiable by autograd."""

from math import isqrt

import torch
from torch.utils.checkpoint import checkpoint

from sweep_core.call import CallShape
from sweep_core.eager import EagerRun
from sweep_core.errors import UnsupportedError
from sweep_core.problem import Problem
from sweep_core.survey import Shots, cells_of, samples_of

from .ops import TorchOps, differentiated


def chunk_length(problem: Problem, steps: int) -> int:
    """Steps between states that autograd keeps: all for ``'full'``; otherwise what is between is recomputed."""
    if problem.memory.strategy == "auto":
        return max(isqrt(steps), 1)
    return problem.chunk(steps, 0)


def propagate(problem: Problem, shape: CallShape, shots: Shots, models) -> torch.Tensor:
    """Record (nshots, nt, nrec, nfield); `shots` hold torch tensors on the device of the models."""
    ops = TorchOps(problem, models[0].dtype, models[0].device)
    receivers = shots.receivers if shots.receivers.ndim == 3 else shots.receivers[None]
    sources, listening = (_cells(problem, p, shape.shots) for p in (shots.sources, receivers))
    run = EagerRun(problem, ops, shape, sources, listening, models)
    wavelet = samples_of(shots.wavelet)
    names = list(run.start())

    def some_steps(first, last, *values):
        state, records = dict(zip(names, values, strict=True)), []
        for k in range(first, last):
            records.append(torch.stack(run.record(state), dim=-1))
            if k + 1 < shape.steps:
                state = run.advance(state, [wavelet[..., k]])
        return torch.stack(records, dim=1), *(state[name] for name in names)

    length = chunk_length(problem, shape.steps)
    if length < shape.steps and any(map(differentiated, (*models, wavelet))):
        if problem.memory.strategy == "ckpt":
            raise UnsupportedError("torch.func cannot recompute (strategy 'ckpt') with impl='eager'; use 'full' or 'c'")
        length = shape.steps
    values, parts = tuple(run.start().values()), []
    for first in range(0, shape.steps, length):
        bounds = first, min(first + length, shape.steps)
        if length + 1 < shape.steps and torch.is_grad_enabled():
            part, *values = checkpoint(some_steps, *bounds, *values, use_reentrant=False, preserve_rng_state=False)
        else:
            part, *values = some_steps(*bounds, *values)
        parts.append(part)
    record = torch.cat(parts, dim=1)
    # One sample is the field at rest; that it depends on nothing is a gradient of zero, not a missing one.
    return record if shape.steps > 1 else record + 0 * run.coefficients[0].sum()


def _cells(problem, positions, nshots):
    positions = positions.to(torch.int64)
    cells = cells_of(problem, positions, positions.shape[0])
    return cells.expand(nshots, -1)
