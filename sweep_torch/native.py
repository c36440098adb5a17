"""The compiled time loop as an autograd.Function: forward and exact adjoint through the C ABI."""

import inspect
from functools import lru_cache, partial
from typing import Any

import attrs
import numpy as np
import torch
from torch.fx.experimental.proxy_tensor import get_proxy_mode

from sweep_core.call import CallShape, driving
from sweep_core.errors import UnsupportedError
from sweep_core.native import Buffer, CompiledCall, compiled_call, held_steps, seen_fields, tables
from sweep_core.ops import coefficients_of
from sweep_core.points.rows import point_lists
from sweep_core.points.sources import signals
from sweep_core.problem import Problem
from sweep_core.survey import Shots, samples_of

from .compiling import undisturbed
from .memory import allocating, left_on, pool
from .ops import tie, transformed


@attrs.frozen(eq=False)
class Task:
    """What a call computes with beside its differentiable arrays; `fixed` are buffers by name."""

    call: CompiledCall
    cells: list[torch.Tensor]
    device: torch.device
    fixed: dict[str, torch.Tensor]

    @undisturbed
    def run(self, operation: str, **given: Any) -> dict[str, torch.Tensor]:
        """Runs the library on tensors by buffer name; the outputs."""
        if get_proxy_mode() is not None:
            raise UnsupportedError(
                "torch.fx (make_fx, torch.func.linearize) cannot see into impl='c', and would record a tensor that "
                "nothing was written to; use torch.func.jvp or impl='eager'"
            )
        outputs = {b.name: self.empty(b) for b in self.call.made(operation)}
        arrays = self.fixed | outputs | {name: x.resolve_neg().contiguous() for name, x in given.items()}
        taken = [arrays[b.name] for b in self.call.buffers[operation]]
        buffers = [(x.data_ptr(), x.nbytes) for x in taken]
        if self.device.type == "cuda":
            with torch.cuda.device(self.device):
                stream = torch.cuda.current_stream(self.device)
                for x in (*self.cells, *self.fixed.values()):
                    x.record_stream(stream)  # the cache may drop them, and torch hand out their memory, while it reads
                self.call.run(operation, buffers, stream=stream.cuda_stream)
        else:
            self.call.run(operation, buffers, threads=torch.get_num_threads(), keep=taken)
        return outputs

    def empty(self, buffer: Buffer) -> torch.Tensor:
        """An array for a buffer; the large ones of unsigned bytes are used again from call to call."""
        memory = self.call.problem.memory
        with allocating(memory):
            if buffer.dtype == "uint8":
                return pool.take(buffer.shape[0], self.device, memory)
            return torch.empty(buffer.shape, dtype=getattr(torch, buffer.dtype), device=self.device)


def _each(function, in_dims, size, arguments):
    """A batching rule: one call after the other."""
    items = []
    for i in range(size):
        chosen = [a if d is None else a.select(d, i) for a, d in zip(arguments, in_dims, strict=True)]
        answer = function(*chosen)
        items.append(answer if isinstance(answer, tuple) else (answer,))
    stacked = tuple(torch.stack(parts) for parts in zip(*items, strict=True))
    return (stacked, (0,) * len(stacked)) if isinstance(answer, tuple) else (stacked[0], 0)


def _refuse_second(needed) -> None:
    if needed:
        raise UnsupportedError("second derivatives of the compiled implementation are not supported; use impl='eager'")


def _signed(function):
    """A static method that holds its signature, which `apply` would otherwise work out at each call."""
    function.__signature__ = inspect.signature(function)
    return staticmethod(function)


class Forward(torch.autograd.Function):
    """(coefficients, wavelet) -> record, snapshots, and the history that the adjoint reads."""

    @_signed
    def forward(coefficients, wavelet, task):
        found = task.run("forward", coefficients=coefficients, wavelet=wavelet)
        return tuple(found[name] for name in ("record", "snapshots", "history", "checkpoints", "flag"))

    @staticmethod
    def setup_context(ctx, inputs, output):
        coefficients, wavelet, ctx.task = inputs
        _, seen, *kept, flag = output
        ctx.mark_non_differentiable(seen, *kept, flag)
        ctx.set_materialize_grads(False)  # zeros of the history's size would cost as much as a forward run
        ctx.save_for_backward(coefficients, wavelet, *kept)
        ctx.save_for_forward(coefficients, wavelet)

    @staticmethod
    def backward(ctx, cotangent, *_):
        if cotangent is None:
            return None, None, None
        return *Adjoint.apply(cotangent, *ctx.saved_tensors, ctx.task), None

    @staticmethod
    def jvp(ctx, coefficients, wavelet, _):
        return Born.apply(*_filled(ctx, coefficients, wavelet), *ctx.saved_tensors, ctx.task), None, None, None, None

    @staticmethod
    def vmap(info, in_dims, coefficients, wavelet, task):
        return _each(lambda *a: Forward.apply(*a, task), in_dims[:2], info.batch_size, (coefficients, wavelet))


def _filled(ctx, *tangents):
    """Tangents of (coefficients, wavelet), the first two saved tensors, with zeros for those that do not vary."""
    return [torch.zeros_like(x) if t is None else t for x, t in zip(ctx.saved_tensors, tangents, strict=False)]


class Adjoint(torch.autograd.Function):
    """Cotangent of the record -> gradients of coefficients and wavelet; the transpose of Born."""

    @_signed
    def forward(cotangent, coefficients, wavelet, history, checkpoints, task):
        given = {"coefficients": coefficients, "wavelet": wavelet, "history": history, "checkpoints": checkpoints}
        found = task.run("adjoint", cotangent=cotangent, **given)
        return found["gradient_coefficients"], found["gradient_wavelet"]

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, coefficients, wavelet, *_, ctx.task = inputs
        ctx.save_for_backward(coefficients, wavelet)

    @staticmethod
    def backward(ctx, *gradients):
        _refuse_second(any(ctx.needs_input_grad[1:3]))
        return Born.apply(*gradients, *ctx.saved_tensors, ctx.task), None, None, None, None, None

    @staticmethod
    def jvp(ctx, *_):
        _refuse_second(True)

    @staticmethod
    def vmap(info, in_dims, *arguments):
        *arrays, task = arguments
        return _each(lambda *a: Adjoint.apply(*a, task), in_dims[:-1], info.batch_size, arrays)


class Born(torch.autograd.Function):
    """Tangents of (coefficients, wavelet) -> tangent of the record; the transpose of Adjoint."""

    @_signed
    def forward(tangent_coefficients, tangent_wavelet, coefficients, wavelet, task):
        tangents = {"tangent_coefficients": tangent_coefficients, "tangent_wavelet": tangent_wavelet}
        return task.run("born", coefficients=coefficients, wavelet=wavelet, **tangents)["record"]

    @staticmethod
    def setup_context(ctx, inputs, output):
        *_, coefficients, wavelet, ctx.task = inputs
        ctx.set_materialize_grads(False)  # `jvp` then knows what varies
        ctx.save_for_backward(coefficients, wavelet)
        ctx.save_for_forward(coefficients, wavelet)

    @staticmethod
    def backward(ctx, cotangent):
        _refuse_second(any(ctx.needs_input_grad[2:4]))
        _, _, history, checkpoints, _ = Forward.apply(*ctx.saved_tensors, ctx.task)
        return *Adjoint.apply(cotangent, *ctx.saved_tensors, history, checkpoints, ctx.task), None, None, None

    @staticmethod
    def jvp(ctx, tangent_coefficients, tangent_wavelet, coefficients, wavelet, _):
        _refuse_second(coefficients is not None or wavelet is not None)
        return Born.apply(*_filled(ctx, tangent_coefficients, tangent_wavelet), *ctx.saved_tensors, ctx.task)

    @staticmethod
    def vmap(info, in_dims, *arguments):
        *arrays, task = arguments
        return _each(lambda *a: Born.apply(*a, task), in_dims[:-1], info.batch_size, arrays)


@lru_cache(maxsize=32)
def make_task(problem: Problem, shape: CallShape, survey: Shots, device: torch.device, chunk: int) -> Task:
    """The call and its points. Steps of an inversion repeat their surveys, so the last ones are kept."""
    call = compiled_call(device.type, problem, shape, chunk)
    dtype = np.dtype(shape.dtype)
    cells, lists = point_lists(problem, shape, survey, np, dtype)

    def tensor(x):
        return torch.from_numpy(np.array(x, order="C")).to(device)

    fixed = {name: tensor(x) for name, x in lists.items()} | {"tables": tensor(tables(problem).astype(dtype))}
    return Task(call, list(map(tensor, cells)), device, fixed)


def prepare(problem: Problem, shape: CallShape, survey: Shots, wavelet, models, gradient: bool):
    """(task, coefficients, wavelet) of a call, as the library takes them."""
    device, chunk = models[0].device, 0
    if gradient:  # under torch.func a call may be one of many whose histories live together
        left, together = partial(left_on, device), transformed(wavelet, *models)
        chunk = held_steps(device.type, problem, shape, left, together=together)
    with torch._C._DisableFuncTorch():  # what is made inside torch.func would be wrapped, and have no address
        task = make_task(problem, shape, survey, device, chunk)
    if not readable(*models):
        models = admitted(problem, models)
    return task, *_arrays(problem, shape, wavelet, models, task)


def _arrays(problem, shape, wavelet, models, task):
    """(coefficients, wavelet) as the library takes them."""
    made = coefficients_of(problem, models, shape.earths, torch, torch.Tensor.detach)
    coefficients = torch.stack(made, dim=1)
    samples = driving(torch, problem, samples_of(wavelet, shape))
    return coefficients, signals(problem, shape, torch, samples, task.cells, coefficients)


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
    samples = samples + tie(*models) if gradient else samples
    record, seen, _, _, flag = Forward.apply(coefficients, samples, task)
    kept = flag if flag.device.type == "cuda" and not transformed(*differentiable) else None
    return record, seen_fields(problem, shape, seen), kept


def born(problem: Problem, shape: CallShape, survey: Shots, wavelet, models, perturbations, perturbed) -> torch.Tensor:
    """The derivative of the record in the direction of perturbations of the models and, if given, of the wavelet."""
    task, coefficients, samples = prepare(problem, shape, survey, wavelet, models, True)
    given = (tuple(m.detach() for m in models), wavelet.detach())
    varied = (tuple(perturbations), torch.zeros_like(given[1]) if perturbed is None else perturbed)

    def arrays(models, wavelet):
        return _arrays(problem, shape, wavelet, models, task)

    tangents = torch.func.jvp(arrays, given, varied)[1]
    return Born.apply(*tangents, coefficients, samples, task)


def admitted(problem: Problem, models) -> list[torch.Tensor]:
    """The models with NaN where parameters are not admissible or too fast: their squares alone would look right."""
    good = problem.admits(*models)
    return [m * torch.where(good, 1.0, float("nan")).to(m.dtype) for m in models]


def readable(*tensors) -> bool:
    """Whether values can be looked at without stopping a device and without breaking a transform."""
    return not transformed(*tensors) and all(t.device.type == "cpu" for t in tensors)
