"""What torch does not promise to keep: each such name stands here, as tried with torch 2.13.0, and nowhere else."""

import sys
from threading import RLock
from typing import Any

import torch

if torch.distributed.is_available():
    # Default arguments in it are the default process group. Imported when that is there, by DDP or an optimiser, it
    # holds the group to the end of the process, and threads of Gloo abort where Python ends under them.
    import torch.distributed.nn.functional

_functorch = torch._C._functorch

# A context in which torch.func wraps nothing: what is made there has an address, and can be looked at.
plain = torch._C._DisableFuncTorch


def transformed(*tensors: torch.Tensor) -> bool:
    """Whether torch.func is at work, under which values cannot be read and requires_grad says nothing."""
    return any(map(_functorch.is_functorch_wrapped_tensor, tensors))


def differentiated(tensor: torch.Tensor) -> bool:
    """Whether torch.func takes a gradient through this tensor, at any level."""
    while _functorch.is_functorch_wrapped_tensor(tensor):
        if _functorch.is_gradtrackingtensor(tensor):
            return True
        tensor = _functorch.get_unwrapped(tensor)
    return False


def without_gradient(tensor: torch.Tensor) -> torch.Tensor:
    """What torch.func wrapped to differentiate."""
    while _functorch.is_gradtrackingtensor(tensor):
        tensor = _functorch.get_unwrapped(tensor)
    return tensor


def recorded() -> bool:
    """Whether torch.fx or torch.jit writes down what is computed, and sees nothing of what a library writes."""
    from torch.fx.experimental.proxy_tensor import get_proxy_mode  # which takes its time to import

    return get_proxy_mode() is not None or torch.jit.is_tracing()


def exported() -> bool:
    """Whether torch.export compiles; before torch 2.7 nothing tells."""
    return hasattr(torch.compiler, "is_exporting") and torch.compiler.is_exporting()


def in_forward_mode() -> bool:
    """Whether tangents are computed beside values."""
    return torch.autograd.forward_ad._current_level >= 0


_forward_mode = RLock()


def tangent(function, primals, tangents) -> Any:
    """What torch.func.jvp says of the tangent, to one thread after the other: its level is one of the whole process."""
    with _forward_mode:
        return torch.func.jvp(function, primals, tangents)[1]


def compiler_is_loaded() -> bool:
    """Whether Dynamo, which takes a second to import, is there to compile anything."""
    return "torch._dynamo" in sys.modules


def holders(tensor: torch.Tensor) -> int:
    """How many tensors share this one's memory; itself is one of them."""
    storage = tensor.untyped_storage()
    return torch._C._storage_Use_Count(storage._cdata) - 1  # `storage` here


def is_replica(module: torch.nn.Module) -> bool:
    """Whether DataParallel made this module to run a part of a batch."""
    return getattr(module, "_is_replica", False)
