"""An equation's operations in torch, and what compiled and eager runs ask of values that may be transformed."""

import torch

from sweep_core.discretization.array_ops import Ops
from sweep_core.problem import Problem

from .private import transformed


def tie(*tensors) -> torch.Tensor:
    """Zero, whose derivative is zero in each of them that asks for one: with it a record answers for what the run made
    no use of as well, such as a parameter that a dimension lacks, where autograd would call it an error.

    Others are not read: what positions are where a receiver is masked, say, is nobody's business.
    """
    asking = [x for x in tensors if isinstance(x, torch.Tensor) and (x.requires_grad or transformed(x))]
    asking = [x for x in asking if x.is_floating_point()]
    return torch.as_tensor(0 * sum(x[(slice(1),) * x.ndim].sum() for x in asking))


class TorchOps(Ops):
    """On one device, in one dtype; differentiable."""

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


def admitted(problem: Problem, models) -> list[torch.Tensor]:
    """The models with NaN where parameters are not admissible: their squares alone would look right."""
    good = problem.admits(*models)
    return [m * torch.where(good, 1.0, float("nan")).to(m.dtype) for m in models]


def readable(*tensors) -> bool:
    """Whether values can be looked at without stopping a device and without breaking a transform."""
    return not transformed(*tensors) and all(t.device.type == "cpu" for t in tensors)
