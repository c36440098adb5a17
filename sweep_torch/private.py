"""Private names of torch, which may change: all uses are in this file. They were tried with torch 2.13.0."""

import sys
from contextlib import AbstractContextManager, nullcontext
from threading import RLock
from typing import Any

import torch

if torch.distributed.is_available():
    # Default arguments in this module are the default process group. If DDP or an optimiser imports the module while
    # a group exists, the module holds the group to the end of the process, and threads of Gloo abort as Python ends.
    import torch.distributed.nn.functional

_functorch = torch._C._functorch


def default_store() -> Any:
    """Return the store in which the ranks of the default process group have met."""
    return torch.distributed.distributed_c10d._get_default_store()


# A context in which torch.func wraps nothing: tensors made there have an address, and their values can be read.
plain = torch._C._DisableFuncTorch


_NO_RANGE = nullcontext()


def profiler_range(name: str) -> AbstractContextManager[Any]:
    """Return a range that a running profiler shows; entering one without a profiler takes 10 us."""
    return torch.profiler.record_function(name) if torch.autograd._profiler_enabled() else _NO_RANGE


def is_transformed(*tensors: torch.Tensor) -> bool:
    """Return whether torch.func transforms a tensor: its values cannot be read then, and requires_grad says nothing."""
    return any(map(_functorch.is_functorch_wrapped_tensor, tensors))


def is_differentiated(tensor: torch.Tensor) -> bool:
    """Return whether torch.func takes a gradient through this tensor, at any level."""
    while _functorch.is_functorch_wrapped_tensor(tensor):
        if _functorch.is_gradtrackingtensor(tensor):
            return True
        tensor = _functorch.get_unwrapped(tensor)
    return False


def without_gradient(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor that torch.func wrapped to differentiate."""
    while _functorch.is_gradtrackingtensor(tensor):
        tensor = _functorch.get_unwrapped(tensor)
    return tensor


def is_traced() -> bool:
    """Return whether torch.fx or torch.jit traces this computation; neither sees the writes of a library."""
    from torch.fx.experimental.proxy_tensor import get_proxy_mode  # slow to import

    return get_proxy_mode() is not None or torch.jit.is_tracing()


def is_exporting() -> bool:
    """Return whether torch.export compiles; False before torch 2.7, which does not say."""
    return hasattr(torch.compiler, "is_exporting") and torch.compiler.is_exporting()


def is_forward_mode() -> bool:
    """Return whether tangents are computed beside values."""
    return torch.autograd.forward_ad._current_level >= 0


_forward_mode = RLock()


def tangent(function, primals, tangents) -> Any:
    """Return the tangent of torch.func.jvp, for one thread at a time: its level belongs to the whole process."""
    with _forward_mode:
        return torch.func.jvp(function, primals, tangents)[1]


def compiler_is_loaded() -> bool:
    """Return whether Dynamo is imported (which takes a second), and could compile anything."""
    return "torch._dynamo" in sys.modules


def holder_count(tensor: torch.Tensor) -> int:
    """Return the number of tensors that share this tensor's memory, this tensor included."""
    storage = tensor.untyped_storage()
    return torch._C._storage_Use_Count(storage._cdata) - 1  # `storage` here


def is_replica(module: torch.nn.Module) -> bool:
    """Return whether DataParallel made this module to run a part of a batch."""
    return getattr(module, "_is_replica", False)
