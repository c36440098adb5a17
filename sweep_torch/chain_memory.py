"""The memory that torch keeps for the chain rule from coefficients to models."""

import math
import weakref
from functools import lru_cache, partial

import attrs
import numpy as np
import torch

from sweep_core.discretization.array_ops import coefficients_of
from sweep_core.memory import MemoryOptions
from sweep_core.numerics.grid import Grid
from sweep_core.problem import Problem

from .private import plain

SIZE = 8
"""Cells of each axis of the model in which the tensors are counted; a large one, or a wide PML, has as many."""


@attrs.frozen(eq=False)
class _Kept:
    """A tensor of the graph of derivatives; it dies with the graph of a value that no coefficient needs."""

    tensor: torch.Tensor


@lru_cache(maxsize=1024)
def chain_of(problem: Problem) -> float:
    """Return the memory of the chain rule over that of the coefficients, as estimates take it.

    It holds what the graph of derivatives keeps, the models and their gradients.
    """
    grid = Grid((SIZE,) * problem.grid.ndim, problem.grid.spacing)
    thin = tuple((min(low, 1), min(high, 1)) for low, high in problem.pml)
    cpml = attrs.evolve(problem.cpml, width=thin)
    small = attrs.evolve(problem, grid=grid, cpml=cpml, memory=MemoryOptions("full"))
    holders: weakref.WeakSet[_Kept] = weakref.WeakSet()

    def keep(tensor: torch.Tensor) -> _Kept:
        holders.add(holder := _Kept(tensor))
        return holder

    example = small.equation.example(grid.shape, np.random.default_rng(0))
    with plain(), torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(keep, lambda holder: holder.tensor):
        models = [torch.tensor(m, requires_grad=True) for m in example]
        array = partial(torch.as_tensor, dtype=models[0].dtype)
        coefficients = coefficients_of(small, models, 1, torch, torch.Tensor.detach, array)
    storages = {x.data_ptr(): x.nbytes() for x in (holder.tensor.untyped_storage() for holder in holders)}
    graph = sum(storages.values()) / sum(c.nbytes for c in coefficients)
    of_models = len(models) * math.prod(problem.grid.shape) / len(coefficients) / math.prod(problem.padded_shape)
    return graph + 2 * of_models
