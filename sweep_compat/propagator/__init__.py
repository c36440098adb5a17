"""Solvers and their options; the first use of a solver imports its framework."""

from importlib import import_module
from typing import Any

from .options import (
    BoundaryOptions,
    BoundarySaving,
    Ckpt,
    CkptOptions,
    CUDAOptions,
    EagerOptions,
    Full,
    MemoryOptions,
)

SOLVERS = {"PropTorch": "torch", "PropJax": "jax"}

__all__ = [
    "BoundaryOptions",
    "BoundarySaving",
    "CUDAOptions",
    "Ckpt",
    "CkptOptions",
    "EagerOptions",
    "Full",
    "MemoryOptions",
]


def __getattr__(name: str) -> Any:
    if name in SOLVERS:
        return getattr(import_module(f"{__name__}.{SOLVERS[name]}"), name)
    raise AttributeError(f"{__name__} has no {name!r}; it has {', '.join((*SOLVERS, *__all__))}")
