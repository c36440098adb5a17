"""An equation's operations in torch, and helpers for values that may be transformed."""

import torch

from sweep_core.discretization.array_ops import Ops
from sweep_core.problem import Problem

from .private import is_transformed


def tie(*tensors) -> torch.Tensor:
    """Return a zero with a zero derivative in each tensor that asks for a gradient.

    Added to a record, it gives a derivative in arguments that the run did not use, such as a parameter that a dimension
    lacks. Autograd would otherwise raise an error. Tensors that ask for no gradient are not read: the position of a
    masked receiver, say, may be anything.
    """
    asking = [x for x in tensors if isinstance(x, torch.Tensor) and (x.requires_grad or is_transformed(x))]
    asking = [x for x in asking if x.is_floating_point()]
    return torch.as_tensor(0 * sum(x[(slice(1),) * x.ndim].sum() for x in asking))


class TorchOps(Ops):
    """Operations on one device, in one dtype; differentiable."""

    xp = torch

    def __init__(self, problem, dtype: torch.dtype, device: torch.device):
        self.dtype, self.device = dtype, device
        super().__init__(problem, dtype)

    def pad(self, x, axis, count):
        return torch.nn.functional.pad(x, (0, 0) * (self.ndim - 1 - axis) + (count, count))

    def typed(self, x):
        return x.to(self.dtype)

    def hold(self, x):
        return x.detach()

    def array(self, values, dtype):
        return torch.as_tensor(values, dtype=dtype, device=self.device)

    def zeros(self, shape):
        return torch.zeros(shape, dtype=self.dtype, device=self.device)

    def take(self, x, cells):
        return x.reshape(x.shape[0], -1).expand(cells.shape[0], -1).gather(1, cells)

    def add(self, x, cells, amounts):
        flat = x.reshape(x.shape[0], -1)
        return flat.scatter_add(1, cells, amounts.expand(cells.shape)).reshape(x.shape)


def mark_inadmissible(problem: Problem, models) -> list[torch.Tensor]:
    """Return the models with NaN where parameters are inadmissible: their squares alone would look right."""
    good = problem.admits(*models)
    return [m * torch.where(good, 1.0, float("nan")).to(m.dtype) for m in models]


def is_readable(*tensors) -> bool:
    """Return whether values can be read without stopping a device or breaking a transform."""
    return not is_transformed(*tensors) and all(t.device.type == "cpu" for t in tensors)
