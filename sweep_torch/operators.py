"""The compiled time loop as autograd functions: forward, and born and adjoint, each the other's transpose."""

import inspect
import math
from typing import Any

import attrs
import torch

from sweep_core.acquisition.snapshots import UNDERIVABLE
from sweep_core.errors import UnsupportedError
from sweep_core.memory import NO_HISTORY
from sweep_core.native import Buffer, CompiledCall
from sweep_core.native.prepare import CallPlan

from . import slices
from .batching import one_by_one
from .compiling import outside_dynamo
from .memory import allocate_history, allocating, until_done
from .private import is_traced, profiler_range
from .threads import cpu_threads


@attrs.frozen(eq=False)
class Task:
    """The arrays of a call that are not differentiated; `fixed` are buffers by name."""

    plan: CallPlan
    cells: list[torch.Tensor]
    device: torch.device
    fixed: dict[str, torch.Tensor]

    def run(self, operation: str, **arrays: Any) -> dict[str, torch.Tensor]:
        """Run an operation; return its outputs by buffer name, for a forward run in slices also ``"segments"``."""
        if is_traced():
            raise UnsupportedError(
                "torch.fx (make_fx, torch.func.linearize) and torch.jit.trace cannot trace impl='c', and would "
                "record an unwritten tensor; use torch.func.jvp or impl='eager'"
            )
        arrays = {name: x.resolve_neg().contiguous() for name, x in arrays.items()}
        if self.plan.history.sliced and operation in slices.MAKES:
            return slices.MAKES[operation](self, **arrays)
        call = self.plan.whole()
        outputs = self.outputs(call, operation)
        self.invoke(call, operation, outputs | arrays)
        return outputs

    def invoke(self, call: CompiledCall, operation: str, arrays: dict[str, torch.Tensor]) -> None:
        """Run the library on tensors by buffer name; `arrays` need not hold the fixed buffers."""
        tensors = [(self.fixed | arrays)[b.name] for b in call.buffers[operation]]
        buffers = [(x.data_ptr(), x.nbytes) for x in tensors]
        with profiler_range(f"sweep::{operation}"):
            if self.device.type != "cuda":
                call.run(operation, buffers, threads=cpu_threads(), keep=tensors)
                return
            with torch.cuda.device(self.device):
                stream = torch.cuda.current_stream(self.device)
                for x in (*self.cells, *self.fixed.values()):
                    x.record_stream(stream)  # else torch may reuse their memory while the kernel reads
                call.run(operation, buffers, stream=stream.cuda_stream)
                until_done(stream, [x for x in tensors if not x.is_cuda])

    def outputs(self, call: CompiledCall, operation: str, **own: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return arrays by name for the buffers that an operation only writes; `own` replaces some of them."""
        buffers = [b for b in call.outputs(operation) if b.name not in own]
        # the largest first, lest a smaller one take the free memory that fits it
        return {b.name: self.empty(b) for b in sorted(buffers, key=lambda b: -math.prod(b.shape))} | own

    def empty(self, buffer: Buffer) -> torch.Tensor:
        """Return an array for a buffer; large buffers of unsigned bytes are used again from call to call."""
        memory = self.plan.problem.memory
        with allocating(memory):
            if buffer.dtype == "uint8":
                placement = self.plan.history if buffer.name == self.plan.history.placed else NO_HISTORY
                return allocate_history(buffer.shape[0], self.device, placement, memory)
            return torch.empty(buffer.shape, dtype=getattr(torch, buffer.dtype), device=self.device)

    def slots(self) -> torch.Tensor:
        """Return room for the checkpoints of a run in slices, a row each."""
        history, memory = self.plan.history, self.plan.problem.memory
        count, size = history.states or 0, self.plan.segment().bytes_of("forward", "state")
        with allocating(memory):
            return allocate_history(count * size, self.device, history, memory).reshape(count, size)


def _refuse_second(needed) -> None:
    if needed:
        raise UnsupportedError("second derivatives of the compiled implementation are not supported; use impl='eager'")


def _refuse_snapshots(needed) -> None:
    if needed:
        raise UnsupportedError(UNDERIVABLE)


def _signed(function):
    """Return a static method that stores its signature, which `apply` would otherwise compute at each call."""
    function.__signature__ = inspect.signature(function)
    return staticmethod(function)


class Forward(torch.autograd.Function):
    """The forward run: (coefficients, wavelet) -> record, snapshots, and the history that the adjoint reads."""

    @_signed
    def forward(coefficients, wavelet, task):
        outputs = task.run("forward", coefficients=coefficients, wavelet=wavelet)
        outputs.setdefault("segments", torch.empty(0, dtype=torch.int64))
        return tuple(outputs[name] for name in ("record", "snapshots", "flag", "history", "checkpoints", "segments"))

    @staticmethod
    def setup_context(ctx, inputs, output):
        coefficients, wavelet, ctx.task = inputs
        _, _, _, *history = output
        has_snapshots = ctx.task.plan.shape.snapshots is not None  # their cotangent is refused, not dropped
        ctx.mark_non_differentiable(*output[1 + has_snapshots :])
        ctx.set_materialize_grads(False)  # zeros of the history's size would cost as much as a forward run
        ctx.save_for_backward(coefficients, wavelet, *history)
        ctx.save_for_forward(coefficients, wavelet)

    @staticmethod
    @outside_dynamo
    def backward(ctx, cotangent, of_snapshots, *_):
        _refuse_snapshots(of_snapshots is not None)
        if cotangent is None:
            return None, None, None
        return *Adjoint.apply(cotangent, *ctx.saved_tensors, ctx.task), None

    @staticmethod
    def jvp(ctx, coefficients, wavelet, _):
        _refuse_snapshots(ctx.task.plan.shape.snapshots is not None)
        return Born.apply(*_filled(ctx, coefficients, wavelet), *ctx.saved_tensors, ctx.task), *[None] * 5

    @staticmethod
    def vmap(info, in_dims, coefficients, wavelet, task):
        return one_by_one(lambda *a: Forward.apply(*a, task), in_dims[:2], info.batch_size, (coefficients, wavelet))


def _filled(ctx, *tangents):
    """Return tangents of (coefficients, wavelet), the first two saved tensors, with zeros for constant ones."""
    return [torch.zeros_like(x) if t is None else t for x, t in zip(ctx.saved_tensors, tangents, strict=False)]


class Adjoint(torch.autograd.Function):
    """The adjoint run: cotangent of the record -> gradients of coefficients and wavelet; the transpose of Born."""

    @_signed
    def forward(cotangent, coefficients, wavelet, history, checkpoints, segments, task):
        saved = {"history": history, "checkpoints": checkpoints, "segments": segments}
        outputs = task.run("adjoint", cotangent=cotangent, coefficients=coefficients, wavelet=wavelet, **saved)
        return outputs["gradient_coefficients"], outputs["gradient_wavelet"]

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, coefficients, wavelet, *_, ctx.task = inputs
        ctx.save_for_backward(coefficients, wavelet)

    @staticmethod
    @outside_dynamo
    def backward(ctx, *gradients):
        _refuse_second(any(ctx.needs_input_grad[1:3]))
        return Born.apply(*gradients, *ctx.saved_tensors, ctx.task), *[None] * 6

    @staticmethod
    def jvp(ctx, *_):
        _refuse_second(True)

    @staticmethod
    def vmap(info, in_dims, *arguments):
        *arrays, task = arguments
        return one_by_one(lambda *a: Adjoint.apply(*a, task), in_dims[:-1], info.batch_size, arrays)


class Born(torch.autograd.Function):
    """The Born run: tangents of (coefficients, wavelet) -> tangent of the record; the transpose of Adjoint."""

    @_signed
    def forward(tangent_coefficients, tangent_wavelet, coefficients, wavelet, task):
        tangents = {"tangent_coefficients": tangent_coefficients, "tangent_wavelet": tangent_wavelet}
        return task.run("born", coefficients=coefficients, wavelet=wavelet, **tangents)["record"]

    @staticmethod
    def setup_context(ctx, inputs, output):
        *_, coefficients, wavelet, ctx.task = inputs
        ctx.set_materialize_grads(False)  # `jvp` then knows which tangents are zero
        ctx.save_for_backward(coefficients, wavelet)
        ctx.save_for_forward(coefficients, wavelet)

    @staticmethod
    @outside_dynamo
    def backward(ctx, cotangent):
        _refuse_second(any(ctx.needs_input_grad[2:4]))
        _, _, _, *history = Forward.apply(*ctx.saved_tensors, ctx.task)
        return *Adjoint.apply(cotangent, *ctx.saved_tensors, *history, ctx.task), None, None, None

    @staticmethod
    def jvp(ctx, tangent_coefficients, tangent_wavelet, coefficients, wavelet, _):
        _refuse_second(coefficients is not None or wavelet is not None)
        return Born.apply(*_filled(ctx, tangent_coefficients, tangent_wavelet), *ctx.saved_tensors, ctx.task)

    @staticmethod
    def vmap(info, in_dims, *arguments):
        *arrays, task = arguments
        return one_by_one(lambda *a: Born.apply(*a, task), in_dims[:-1], info.batch_size, arrays)
