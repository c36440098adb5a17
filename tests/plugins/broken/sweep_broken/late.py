"""Unusable records: a backend that fails at import, one that lacks a module, and a missing equation."""

from sweep_core import BackendRecord, EquationRecord, impl


@impl
def sweep_backends():
    return [
        BackendRecord("late", "sweep_broken.raises:Executor"),
        BackendRecord("needy", "sweep_broken.needy:Executor", requires=("a_module_that_nobody_has",)),
    ]


@impl
def sweep_equations():
    return [EquationRecord("absent", "sweep_broken.absent:Absent")]
