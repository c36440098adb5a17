"""The compiled time loop as an autograd.Function: forward and exact adjoint through the C ABI."""

from functools import lru_cache
from typing import Any

import attrs
import numpy as np
import torch

from sweep_core.call import CallShape
from sweep_core.errors import UnsupportedError
from sweep_core.native import (
    ADJOINT_BUFFERS,
    FORWARD_BUFFERS,
    CompiledCall,
    compiled_call,
    gather_list,
    inject_list,
)
from sweep_core.ops import extend
from sweep_core.problem import Problem
from sweep_core.survey import Shots, cells_of, samples_of

from .ops import transformed
from .pool import Pool

pool = Pool()


@attrs.frozen(eq=False)
class Lists:
    """Points of one call in the orders that injecting and gathering need, as tensors on the device."""

    sources_in: tuple
    sources_out: tuple
    receivers_in: tuple
    receivers_out: tuple


@attrs.frozen(eq=False)
class Task:
    """What a call computes with beside its differentiable arrays."""

    call: CompiledCall
    lists: Lists
    tables: torch.Tensor

    def run(self, operation: str, order, arrays: dict[str, Any]) -> None:
        """Runs the library on tensors by buffer name."""
        tensors = [arrays[name] for name in order]
        buffers = [(t.data_ptr(), t.numel() * t.element_size()) for t in tensors]
        device = self.tables.device
        if device.type == "cuda":
            with torch.cuda.device(device):
                self.call.run(operation, buffers, stream=torch.cuda.current_stream(device).cuda_stream)
        else:
            self.call.run(operation, buffers, threads=torch.get_num_threads())

    def empty(self, name: str) -> torch.Tensor:
        """A buffer of the call; the large ones of unsigned bytes are used again from call to call."""
        shape, dtype = self.call.shapes[name], getattr(torch, self.call.dtype(name))
        if dtype == torch.uint8:
            return pool.take(shape[0], self.tables.device)
        return torch.empty(shape, dtype=dtype, device=self.tables.device)


def _named(prefix, points):
    return dict(zip((f"{prefix}_cell", f"{prefix}_column", f"{prefix}_weight"), points, strict=True))


def _each(function, in_dims, size, arguments):
    """A batching rule: one call after the other."""
    items = []
    for i in range(size):
        chosen = [a if d is None else a.select(d, i) for a, d in zip(arguments, in_dims, strict=True)]
        items.append(function(*chosen))
    return tuple(torch.stack(parts) for parts in zip(*items, strict=True)), (0,) * len(items[0])


class Forward(torch.autograd.Function):
    """(coefficients, wavelet) -> record, and the history that the adjoint reads."""

    @staticmethod
    def forward(coefficients, wavelet, task):
        arrays = {name: task.empty(name) for name in FORWARD_BUFFERS[9:]}
        arrays |= {
            "coefficients": coefficients.contiguous(),
            "wavelet": wavelet.contiguous(),
            "tables": task.tables,
        }
        arrays |= _named("inject", task.lists.sources_in) | _named("gather", task.lists.receivers_out)
        task.run("forward", FORWARD_BUFFERS, arrays)
        return tuple(arrays[name] for name in ("record", "history", "checkpoints", "flag"))

    @staticmethod
    def setup_context(ctx, inputs, output):
        coefficients, wavelet, ctx.task = inputs
        _, *kept, flag = output
        ctx.mark_non_differentiable(*kept, flag)
        ctx.set_materialize_grads(False)  # zeros of the history's size would cost as much as a forward run
        ctx.save_for_backward(coefficients, wavelet, *kept)

    @staticmethod
    def backward(ctx, cotangent, *_):
        if cotangent is None:
            return None, None, None
        return *Adjoint.apply(cotangent, *ctx.saved_tensors, ctx.task), None

    @staticmethod
    def jvp(ctx, *_):
        raise UnsupportedError(
            "forward-mode derivatives of impl='c' (torch.func.jvp) are not supported; use impl='eager'"
        )

    @staticmethod
    def vmap(info, in_dims, coefficients, wavelet, task):
        return _each(lambda *a: Forward.apply(*a, task), in_dims[:2], info.batch_size, (coefficients, wavelet))


class Adjoint(torch.autograd.Function):
    """Cotangent of the record -> gradients of coefficients and wavelet."""

    @staticmethod
    def forward(cotangent, coefficients, wavelet, history, checkpoints, task):
        arrays = {name: task.empty(name) for name in ADJOINT_BUFFERS[15:]}
        arrays |= {
            "coefficients": coefficients.contiguous(),
            "wavelet": wavelet.contiguous(),
            "tables": task.tables,
        }
        arrays |= {"cotangent": cotangent.contiguous(), "history": history, "checkpoints": checkpoints}
        arrays |= _named("source", task.lists.sources_in) | _named("gather", task.lists.sources_out)
        arrays |= _named("inject", task.lists.receivers_in)
        task.run("adjoint", ADJOINT_BUFFERS, arrays)
        return arrays["gradient_coefficients"], arrays["gradient_wavelet"]

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, *_):
        raise UnsupportedError("second derivatives of the compiled implementation are not supported; use impl='eager'")

    @staticmethod
    def vmap(info, in_dims, *arguments):
        *arrays, task = arguments
        return _each(lambda *a: Adjoint.apply(*a, task), in_dims[:-1], info.batch_size, arrays)


@attrs.frozen
class Positions:
    """Host positions as a value, by which a task is found again."""

    shape: tuple[int, ...]
    content: bytes

    @classmethod
    def of(cls, positions: np.ndarray) -> "Positions":
        whole = np.ascontiguousarray(positions, dtype=np.int64)
        return cls(whole.shape, whole.tobytes())

    def array(self) -> np.ndarray:
        """(nshots or 1, n, ndim), or (nshots, ndim)."""
        return np.frombuffer(self.content, dtype=np.int64).reshape(self.shape)


@lru_cache(maxsize=32)
def make_task(
    problem: Problem,
    shape: CallShape,
    sources: Positions,
    receivers: Positions,
    device: torch.device,
    gradient: bool,
) -> Task:
    """The call and its points. Steps of an inversion repeat their surveys, so the last ones are kept."""
    call = compiled_call(device.type, problem, shape, gradient)
    dtype = np.dtype(shape.dtype)
    at = receivers.array()
    sources, receivers = (
        cells_of(problem, p, shape.shots) for p in (sources.array(), at if at.ndim == 3 else at[None])
    )

    def tensors(points):
        return tuple(torch.from_numpy(np.array(p, order="C")).to(device) for p in points)

    lists = Lists(
        sources_in=tensors(inject_list(problem, "sources", sources, np, dtype)),
        sources_out=tensors(gather_list(problem, "sources", sources, np, dtype)) if gradient else (),
        receivers_in=tensors(inject_list(problem, "receivers", receivers, np, dtype)) if gradient else (),
        receivers_out=tensors(gather_list(problem, "receivers", receivers, np, dtype)),
    )
    tables = torch.from_numpy(problem.tables().astype(dtype)).to(device)
    return Task(call, lists, tables)


def propagate(problem: Problem, shape: CallShape, shots: Shots, models) -> tuple[torch.Tensor, torch.Tensor | None]:
    """(record, flag): the record (nshots, nt, nrec, nfield), and the status word where a GPU leaves one behind.

    The wavelet and models are tensors on one device, positions NumPy arrays.
    """
    device = models[0].device
    gradient = torch.is_grad_enabled() and any(x.requires_grad for x in (*models, shots.wavelet))
    with torch._C._DisableFuncTorch():  # what is made inside torch.func would be wrapped, and have no address
        history = gradient or transformed(*models, shots.wavelet)
        positions = Positions.of(shots.sources), Positions.of(shots.receivers)
        task = make_task(problem, shape, *positions, device, history)
    if not readable(*models):
        models = [_admitted(p, m) for p, m in zip(problem.equation.parameters, models, strict=True)]
    coefficients = [extend(problem, c, torch.cat) for c in problem.equation.coefficients(*models)]
    wavelet = samples_of(shots.wavelet).expand(shape.shots, shape.sources, shape.steps).transpose(1, 2)
    record, _, _, flag = Forward.apply(torch.stack(coefficients)[None], wavelet, task)
    kept = flag if device.type == "cuda" and not transformed(*models, shots.wavelet) else None
    return record.reshape(shape.record(problem)), kept


def _admitted(parameter, model):
    """The model with NaN where it is out of bounds, for compiled code to find: a square alone would look right."""
    good = (model > parameter.low) & (model < parameter.high)
    return model * torch.where(good, 1.0, float("nan")).to(model.dtype)


def readable(*tensors) -> bool:
    """Whether values can be looked at without stopping a device and without breaking a transform."""
    return not transformed(*tensors) and all(t.device.type == "cpu" for t in tensors)
