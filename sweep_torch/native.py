"""The compiled time loop under autograd: forward and exact adjoint through the C ABI."""

from functools import lru_cache, partial

import numpy as np
import torch

from sweep_core.acquisition.call_shape import CallShape
from sweep_core.acquisition.contacts import has_contacts
from sweep_core.acquisition.positions import interpolated
from sweep_core.acquisition.shots import Shots
from sweep_core.discretization.array_ops import extend
from sweep_core.memory import NO_HISTORY, HistoryPlan
from sweep_core.native import check_room, plan_history, snapshots_of
from sweep_core.native.prepare import ArrayLibrary, CallPlan, model_buffers, survey_buffers
from sweep_core.problem import Problem

from .chain_memory import chain_of
from .memory import left_on
from .operators import Born, Forward, Task
from .ops import TorchOps, is_readable, mark_inadmissible, tie
from .private import is_transformed, plain, tangent, without_gradient


@lru_cache(maxsize=32)
def make_task(
    problem: Problem, shape: CallShape, survey: Shots, device: torch.device, history: HistoryPlan, solid
) -> Task:
    """Return the call and its points; `solid` is the result of :func:`solid_cells`.

    The iterations of an inversion repeat their surveys, so the last 32 tasks are cached.
    """
    if solid is not None:
        solid = extend(problem, np.frombuffer(solid[1], bool).reshape(solid[0]), np).reshape(-1, *problem.padded_shape)
    cells, fixed = survey_buffers(problem, shape, survey, solid=solid)

    def tensor(x):
        return torch.from_numpy(np.array(x, order="C")).to(device)

    plan = CallPlan(device.type, problem, shape, history)
    return Task(plan, list(map(tensor, cells)), device, {name: tensor(x) for name, x in fixed.items()})


def solid_cells(problem: Problem, survey: Shots, models) -> tuple | None:
    """Return which cells are solid, as a value (shape, content), where positions lie between nodes and some are fluid.

    Return None also where the models cannot be read: under torch.vmap over models, and while a CUDA graph is captured.
    """
    if not interpolated(survey.sources, survey.receivers):
        return None
    models = [without_gradient(m).detach() for m in models]
    if is_transformed(*models) or (models[0].is_cuda and torch.cuda.is_current_stream_capturing()):
        return None
    with plain():
        solid = problem.equation.solid(*models)
        return (tuple(solid.shape), solid.cpu().numpy().tobytes()) if has_contacts(solid) else None


def prepare(problem: Problem, shape: CallShape, survey: Shots, wavelet, models, gradient: bool):
    """Return (task, coefficients, wavelet) of a call, in the layout of the library."""
    device, history = models[0].device, NO_HISTORY
    if gradient:  # under torch.func a call may be one of many whose histories live together
        left, coexist = partial(left_on, device), is_transformed(wavelet, *models)
        history = plan_history(device.type, problem, shape, left, histories_coexist=coexist, chain=chain_of(problem))
    with plain():  # tensors made inside torch.func would be wrapped, and have no address
        task = make_task(problem, shape, survey, device, history, solid_cells(problem, survey, models))
    return task, *_arrays(problem, shape, wavelet, models, task, unread=not is_readable(*models, wavelet))


def _arrays(problem, shape, wavelet, models, task, unread=False):
    """Return (coefficients, wavelet) in the layout of the library; models that are `unread` are checked here."""
    models = mark_inadmissible(problem, models) if unread else models
    dtype, device = models[0].dtype, models[0].device
    library = ArrayLibrary(torch, torch.Tensor.detach, partial(torch.as_tensor, dtype=dtype, device=device))
    ops = TorchOps(problem, dtype, device) if unread else None
    buffers = model_buffers(problem, shape, task.cells, wavelet, models, library, ops)
    return buffers["coefficients"], buffers["wavelet"]


def propagate(
    problem: Problem, shape: CallShape, survey: Shots, wavelet, models
) -> tuple[torch.Tensor, dict, torch.Tensor | None]:
    """Return (record, snapshots, flag).

    The record is (nshots, steps, nrec, nfield), snapshots are fields by name, and the flag is the status word of a GPU,
    or None. The wavelet and models are tensors on one device; `survey` comes from :func:`.executor.check_arguments`.
    """
    differentiable = *models, wavelet
    gradient = torch.is_grad_enabled() and any(x.requires_grad for x in differentiable)
    gradient = gradient or is_transformed(*differentiable)
    task, coefficients, samples = prepare(problem, shape, survey, wavelet, models, gradient)
    if gradient:
        left = partial(left_on, task.device, False)
        run = {"histories_coexist": is_transformed(*differentiable), "chain": chain_of(problem)}
        check_room(task.device.type, problem, shape, task.plan.history, left, **run)
        samples = samples + tie(*models)
    record, snapshots, flag, *_ = Forward.apply(coefficients, samples, task)
    status = flag if flag.device.type == "cuda" and not is_transformed(*differentiable) else None
    return record, snapshots_of(problem, shape, snapshots), status


def born(problem: Problem, shape: CallShape, survey: Shots, wavelet, models, perturbations, d_wavelet) -> torch.Tensor:
    """Return the derivative of the record in the direction of model `perturbations`, and of the wavelet's, if given."""
    task, coefficients, samples = prepare(problem, shape, survey, wavelet, models, True)
    primals = (tuple(m.detach() for m in models), wavelet.detach())
    directions = (tuple(perturbations), torch.zeros_like(primals[1]) if d_wavelet is None else d_wavelet)

    def arrays(models, wavelet):
        return _arrays(problem, shape, wavelet, models, task)

    tangents = tangent(arrays, primals, directions)
    return Born.apply(*tangents, coefficients, samples, task)
