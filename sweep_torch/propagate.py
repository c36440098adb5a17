"""The eager time loop: the equation's step in torch operations, differentiable by autograd."""

from functools import partial

import torch
from torch.utils.checkpoint import checkpoint

from sweep_core.acquisition.call_shape import CallShape
from sweep_core.acquisition.receivers import receiver_positions
from sweep_core.acquisition.shots import Shots
from sweep_core.acquisition.sources import driving_wavelet
from sweep_core.execution.eager import EagerRun
from sweep_core.memory import make_strategy
from sweep_core.problem import Problem

from .ops import TorchOps
from .private import is_differentiated


def propagate(problem: Problem, shape: CallShape, shots: Shots, models) -> tuple[torch.Tensor, dict]:
    """Return (record, snapshots): the record (nshots, steps, nrec, nfield), and fields by name.

    `shots` hold torch tensors on the device of the models.
    """
    ops = TorchOps(problem, models[0].dtype, models[0].device)
    wavelet, under_func = shots.wavelet, any(map(is_differentiated, (*models, shots.wavelet)))
    length = make_strategy(problem.memory).segment(shape.steps, "torch.func" if under_func else "")
    recomputed = length + 1 < shape.steps and torch.is_grad_enabled()
    if recomputed:  # autograd notices later changes only in tensors that it saves, so copy the others
        wavelet, *models = (x.clone() for x in (wavelet, *models))
    run = EagerRun(problem, ops, shape, shots.sources, receiver_positions(torch, problem, shots), models)
    wavelet = driving_wavelet(torch, problem, shape, wavelet)
    names, every = list(run.start()), shape.snapshots.every if shape.snapshots else 0

    def some_steps(first, last, *values):
        state, records, images = dict(zip(names, values, strict=True)), [], []
        for k in range(first, last):
            new = run.advance(state, wavelet[..., k]) if k + 1 < shape.steps or run.one_more else state
            records.append(torch.stack(run.record(state, new), dim=-1))
            if every and k % every == 0:
                images.append(torch.stack(run.snapshot(state, new), dim=1))
            state = new
        return torch.stack(records, dim=1), images, *(state[name] for name in names)

    values, parts, snapshots = tuple(run.start().values()), [], []
    for first in range(0, shape.steps, length):
        bounds = first, min(first + length, shape.steps)
        if recomputed:
            recomputed_steps = partial(checkpoint, some_steps, use_reentrant=False, preserve_rng_state=False)
            part, images, *values = recomputed_steps(*bounds, *values)
        else:
            part, images, *values = some_steps(*bounds, *values)
        parts.append(part)
        snapshots += images
    record = torch.cat(parts, dim=1)
    fields = shape.snapshots.fields if shape.snapshots else ()
    return record, {f: torch.stack(snapshots, dim=1)[:, :, i] for i, f in enumerate(fields)}
