"""A solver inside torch.compile: one custom operator that Dynamo does not look into, and its gradient."""

import functools
import itertools
import secrets
import weakref
from typing import Any

import torch
from torch import Tensor

from sweep_core.errors import UnsupportedError

from .batching import one_by_one
from .private import compiler_is_loaded, is_forward_mode

# Compiled programs can outlive the process, as files: numbers must differ from those of other processes.
_numbers = itertools.count(secrets.randbits(62))
_solvers: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def outside_dynamo(function):
    """Return `function` such that Dynamo never compiles it, since Dynamo would treat an address as a constant.

    Under ``torch.func`` over ``torch.compile`` Dynamo gives up the outer frames, yet compiles each frame within. This
    wrapper does not import Dynamo.
    """
    outside = functools.cache(lambda: torch.compiler.disable(function))

    @functools.wraps(function)
    def call(*args, **kwargs):
        return (outside() if compiler_is_loaded() else function)(*args, **kwargs)

    return call


def register(solver) -> int:
    """Return the number by which compiled programs find a solver, as long as the solver lives."""
    number = next(_numbers)
    _solvers[number] = solver
    return number


def _solver(number: int):
    if number not in _solvers:
        raise UnsupportedError(
            f"a compiled program uses solver {number}, which no longer exists or belongs to another process; compile "
            "the program in the process of the solver"
        )
    return _solvers[number]


@torch.library.custom_op("sweep::record", mutates_args=())
def record(
    wavelet: Tensor,
    sources: Tensor,
    receivers: Tensor,
    mask: Tensor | None,
    models: list[Tensor],
    solver: int,
    samples: int,
    fields: int,
) -> Tensor:
    """Return the record of solver number `solver`; a compiled program stores the sizes `samples` and `fields`."""
    with torch.no_grad():
        return _solver(solver)(wavelet, sources, receivers, models, mask).clone(memory_format=torch.contiguous_format)


@record.register_fake
def _(wavelet, sources, receivers, mask, models, solver, samples, fields):
    # An operator has no forward mode: its tangent would silently be zero.
    if is_forward_mode():
        raise UnsupportedError("forward mode inside torch.compile is not supported; call torch.func.jvp outside")
    return wavelet.new_empty((sources.shape[0], samples, receivers.shape[-2], fields))


@torch.library.custom_op("sweep::gradient", mutates_args=())
def gradient(
    cotangent: Tensor,
    wavelet: Tensor,
    sources: Tensor,
    receivers: Tensor,
    mask: Tensor | None,
    models: list[Tensor],
    solver: int,
) -> list[Tensor]:
    """Return gradients of (wavelet, *models); runs the forward again, since a compiled program keeps no history."""

    def forward(wavelet, *models):
        return _solver(solver)(wavelet, sources, receivers, list(models), mask)

    # An operator runs below autograd, where only torch.func differentiates.
    back = torch.func.vjp(forward, wavelet, *models)[1]
    return [x.clone(memory_format=torch.contiguous_format) for x in back(cotangent)]


@gradient.register_fake
def _(cotangent, wavelet, sources, receivers, mask, models, solver):
    return [x.new_empty(x.shape) for x in (wavelet, *models)]


def _setup_context(ctx, inputs, output):
    wavelet, sources, receivers, ctx.mask, models, ctx.solver, *_ = inputs
    if any(ctx.needs_input_grad[1:3]):
        raise UnsupportedError("torch.compile has no derivative in positions; call the solver outside")
    ctx.save_for_backward(wavelet, sources, receivers, *models)


def _backward(ctx, cotangent):
    wavelet, sources, receivers, *models = ctx.saved_tensors
    first, *rest = gradient(cotangent.contiguous(), wavelet, sources, receivers, ctx.mask, models, ctx.solver)
    return first, None, None, None, rest, None, None, None


record.register_autograd(_backward, setup_context=_setup_context)


for operator in (record, gradient):

    @operator.register_vmap
    def _(info, in_dims, *arguments, operator=operator):
        return one_by_one(operator, in_dims, info.batch_size, arguments)
