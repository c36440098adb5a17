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

from .memory import left_on
from .operators import Born, Forward, Task
from .ops import TorchOps, admitted, readable, tie
from .private import plain, tangent, transformed, without_gradient


@lru_cache(maxsize=32)
def make_task(
    problem: Problem, shape: CallShape, survey: Shots, device: torch.device, kept: HistoryPlan, solid
) -> Task:
    """The call and its points, with what :func:`solid_cells` gives. Steps of an inversion repeat their surveys, so the
    last ones are kept.
    """
    if solid is not None:
        solid = extend(problem, np.frombuffer(solid[1], bool).reshape(solid[0]), np).reshape(-1, *problem.padded_shape)
    cells, fixed = survey_buffers(problem, shape, survey, solid=solid)

    def tensor(x):
        return torch.from_numpy(np.array(x, order="C")).to(device)

    plan = CallPlan(device.type, problem, shape, kept)
    return Task(plan, list(map(tensor, cells)), device, {name: tensor(x) for name, x in fixed.items()})


def solid_cells(problem: Problem, survey: Shots, models) -> tuple | None:
    """Return which cells are solid, as a value (shape, content), where positions lie between nodes and some are fluid.

    None too where it cannot be read: under torch.vmap over models, and while a CUDA graph is captured.
    """
    if not interpolated(survey.sources, survey.receivers):
        return None
    models = [without_gradient(m).detach() for m in models]
    if transformed(*models) or (models[0].is_cuda and torch.cuda.is_current_stream_capturing()):
        return None
    with plain():
        solid = problem.equation.solid(*models)
        return (tuple(solid.shape), solid.cpu().numpy().tobytes()) if has_contacts(solid) else None


def prepare(problem: Problem, shape: CallShape, survey: Shots, wavelet, models, gradient: bool):
    """(task, coefficients, wavelet) of a call, as the library takes them."""
    device, kept = models[0].device, NO_HISTORY
    if gradient:  # under torch.func a call may be one of many whose histories live together
        left, coexist = partial(left_on, device), transformed(wavelet, *models)
        kept = plan_history(device.type, problem, shape, left, histories_coexist=coexist)
    with plain():  # what is made inside torch.func would be wrapped, and have no address
        task = make_task(problem, shape, survey, device, kept, solid_cells(problem, survey, models))
    return task, *_arrays(problem, shape, wavelet, models, task, unread=not readable(*models, wavelet))


def _arrays(problem, shape, wavelet, models, task, unread=False):
    """(coefficients, wavelet) as the library takes them; of models that are `unread` it finds out what is wrong."""
    models = admitted(problem, models) if unread else models
    dtype, device = models[0].dtype, models[0].device
    library = ArrayLibrary(torch, torch.Tensor.detach, partial(torch.as_tensor, dtype=dtype, device=device))
    ops = TorchOps(problem, dtype, device) if unread else None
    buffers = model_buffers(problem, shape, task.cells, wavelet, models, library, ops)
    return buffers["coefficients"], buffers["wavelet"]


def propagate(
    problem: Problem, shape: CallShape, survey: Shots, wavelet, models
) -> tuple[torch.Tensor, dict, torch.Tensor | None]:
    """(record, snapshots, flag): the record (nshots, steps, nrec, nfield), fields by name, and the status word where a
    GPU leaves one behind.

    The wavelet and models are tensors on one device; `survey` is that of :func:`sweep_torch.executor.checked`.
    """
    differentiable = *models, wavelet
    gradient = torch.is_grad_enabled() and any(x.requires_grad for x in differentiable)
    gradient = gradient or transformed(*differentiable)
    task, coefficients, samples = prepare(problem, shape, survey, wavelet, models, gradient)
    if gradient:
        left = partial(left_on, task.device, False)
        check_room(
            task.device.type, problem, shape, task.plan.history, left, histories_coexist=transformed(*differentiable)
        )
        samples = samples + tie(*models)
    record, seen, flag, *_ = Forward.apply(coefficients, samples, task)
    kept = flag if flag.device.type == "cuda" and not transformed(*differentiable) else None
    return record, snapshots_of(problem, shape, seen), kept


def born(problem: Problem, shape: CallShape, survey: Shots, wavelet, models, perturbations, perturbed) -> torch.Tensor:
    """The derivative of the record in the direction of perturbations of the models and, if given, of the wavelet."""
    task, coefficients, samples = prepare(problem, shape, survey, wavelet, models, True)
    given = (tuple(m.detach() for m in models), wavelet.detach())
    varied = (tuple(perturbations), torch.zeros_like(given[1]) if perturbed is None else perturbed)

    def arrays(models, wavelet):
        return _arrays(problem, shape, wavelet, models, task)

    tangents = tangent(arrays, given, varied)
    return Born.apply(*tangents, coefficients, samples, task)
