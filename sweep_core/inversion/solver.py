"""Solvers of any backend, for an inversion."""

from typing import Any

import attrs

from ..errors import OptionError
from ..plugins import check_support
from ..problem import Problem


@attrs.frozen
class Solver:
    """A solver of any backend for :func:`sweep_core.inversion.invert`, instead of a PropTorch or PropJax.

    Parameters
    ----------
    executor : Executor
        An executor of a backend, such as ``backend("torch")``.
    problem : Problem
        The problem.
    """

    executor: Any
    problem: Problem

    def explain(self) -> str:
        """Return the backend and the memory strategy of gradients.

        Returns
        -------
        str
            One sentence.

        Raises
        ------
        UnsupportedError
            The executor does not support the problem.
        """
        name = self.executor.name
        reason = check_support(name, self.executor, self.problem).reason or "ready"
        return f"backend {name!r}: {reason}; gradients with {self.problem.memory}"


def problem_of(solver: Any) -> Problem:
    """Return the problem of a PropTorch or PropJax, or raise an OptionError for any other object."""
    if isinstance(solver, type) or not hasattr(solver, "executor"):
        raise OptionError(f"solver is {solver!r}; expected a PropTorch or PropJax")
    return solver.problem
