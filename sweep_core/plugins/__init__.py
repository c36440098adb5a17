"""Backends, distributors, equations and observers of other packages: protocols of plugins, and their discovery."""

from .discovery import (
    backend,
    backends,
    distributor,
    distributors,
    equation_failures,
    equations,
    first_backend,
    load,
    registry,
)
from .executor import IMPLS, DifferentiatingExecutor, Executor, Support, check_support, choose_impl
from .hookspecs import BackendRecord, DistributorRecord, EquationRecord, Observation, ObserverRecord, impl

__all__ = [
    "IMPLS",
    "BackendRecord",
    "DifferentiatingExecutor",
    "DistributorRecord",
    "EquationRecord",
    "Executor",
    "Observation",
    "ObserverRecord",
    "Support",
    "backend",
    "backends",
    "check_support",
    "choose_impl",
    "distributor",
    "distributors",
    "equation_failures",
    "equations",
    "first_backend",
    "impl",
    "load",
    "registry",
]
