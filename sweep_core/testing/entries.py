"""Entries: the backends of this environment, each with every implementation that it offers."""

from collections.abc import Callable
from typing import Any
from unittest import SkipTest

import attrs
import numpy as np

from ..errors import SweepError, UnsupportedError
from ..execution import answers
from ..plugins import backend, backends
from .cases import Case

__all__ = ["Entry", "entries", "runs"]


@attrs.frozen
class Entry:
    """An executor: its name, and the function that makes it. `rounding` bounds the difference of memory strategies.

    Parameters
    ----------
    name : str
        Name of the executor, such as ``"torch-eager"``.
    make : callable
        A function without arguments that returns the executor.
    rounding : float, default 0
        Largest difference between gradients of two memory strategies, relative to their maximum.
    """

    name: str
    make: Callable[[], Any]
    rounding: float = 0.0

    def executor_for(self, problem):
        """Return the executor, or raise SkipTest with the reason if it does not support the problem.

        Parameters
        ----------
        problem : Problem
            The problem.

        Returns
        -------
        Executor
            The executor, which supports the problem.

        Raises
        ------
        unittest.SkipTest
            If the executor cannot be made, or does not support the problem.
        """
        try:
            executor = self.make()
        except (SweepError, ImportError) as reason:
            self.absent(str(reason))
        support = executor.supports(problem)
        if not support:
            self.absent(getattr(support, "reason", "supports(problem) is false, without a reason"))
        return executor

    def absent(self, reason: str):
        """Raise SkipTest: the executor cannot run a problem.

        Parameters
        ----------
        reason : str
            The reason, which follows the name of the entry in the message.

        Raises
        ------
        unittest.SkipTest
            Always.
        """
        raise SkipTest(f"{self.name}: {reason}")

    def having(self, problem, name: str):
        """Return the executor, or raise SkipTest if it lacks an optional method.

        Parameters
        ----------
        problem : Problem
            The problem.
        name : str
            Name of the method, such as ``"born"``.

        Returns
        -------
        Executor
            The executor, which has the method.

        Raises
        ------
        unittest.SkipTest
            If the executor cannot be made, does not support the problem, or lacks the method.
        """
        executor = self.executor_for(problem)
        if not hasattr(executor, name):
            self.absent(f"it has no {name}")
        return executor

    def forward(self, case: Case) -> np.ndarray:
        """Return the record.

        Parameters
        ----------
        case : Case
            The problem, the shots and the models.

        Returns
        -------
        numpy.ndarray, (nshots, nt, nrec, nfield)

        Raises
        ------
        unittest.SkipTest
            If the executor does not support the problem.
        SweepError
            If the executor refuses the shots or the models.
        """
        return answers.forward(self.executor_for(case.problem), case)

    def misfit_and_gradient(self, case: Case, observed):
        """Return half the sum of squared residuals, and its gradient.

        Parameters
        ----------
        case : Case
            The problem, the shots and the models.
        observed : array, (nshots, nt, nrec, nfield)
            The observed record.

        Returns
        -------
        misfit : float
            Half the sum of the squared residuals.
        gradient : list of numpy.ndarray
            Derivative of the misfit in each model, in the shape of the model.

        Raises
        ------
        unittest.SkipTest
            If the executor does not support the problem, or computes no gradient.
        SweepError
            If the executor refuses the shots or the models.
        """
        return answers.misfit_and_gradient(self.having(case.problem, "misfit_and_gradient"), case, observed)

    def born(self, case: Case) -> np.ndarray:
        """Return the derivative of the record in the direction of the case.

        Parameters
        ----------
        case : Case
            The problem, the shots and the models; the direction is :meth:`Case.direction`.

        Returns
        -------
        numpy.ndarray, (nshots, nt, nrec, nfield)

        Raises
        ------
        unittest.SkipTest
            If the executor does not support the problem, or computes no Born record.
        SweepError
            If the executor refuses the shots or the models.
        """
        return answers.born(self.having(case.problem, "born"), case, case.direction())

    def jacobian_transposed(self, case: Case, cotangent) -> list:
        """Return the gradient whose residual is `cotangent`, in the dtype of the case.

        Parameters
        ----------
        case : Case
            The problem, the shots and the models.
        cotangent : numpy.ndarray, (nshots, nt, nrec, nfield)
            The residual, modelled minus observed.

        Returns
        -------
        list of numpy.ndarray
            One gradient in the shape of each model.

        Raises
        ------
        unittest.SkipTest
            If the executor does not support the problem, or computes no gradient.
        SweepError
            If the executor refuses the shots or the models.
        """
        cotangent = cotangent.astype(case.models[0].dtype)
        return self.misfit_and_gradient(case, self.forward(case) - cotangent)[1]

    @property
    def differentiates(self) -> bool:
        """True if the executor computes gradients, which the reference refuses."""
        return self.name != "reference" and hasattr(self.make(), "misfit_and_gradient")


def entries(*names: str) -> list[Entry]:
    """Return the available backends, each with every implementation, or those of some names.

    Parameters
    ----------
    *names : str
        Names of backends, such as ``"torch"``, or of implementations, such as ``"torch-c"``.

    Returns
    -------
    list of Entry
        One entry for each implementation; the implementations of a backend are adjacent.

    Raises
    ------
    PluginError
        A name is not that of a backend, or the backend is not available.
    """
    by_name = {}
    for status in backends():
        if status.available and status.record:
            impls = status.record.impls or ("",)
            by_name[status.name] = [_entry(status.name, impl) for impl in impls]
            by_name |= {entry.name: [entry] for entry in by_name[status.name]}
    if not names:
        return list({entry.name: entry for several in by_name.values() for entry in several}.values())
    for name in names:
        if name not in by_name:
            backend(name)  # raises the error of this backend
    return [entry for name in names for entry in by_name[name]]


def _entry(name, impl) -> Entry:
    """Return the entry of an implementation. Frameworks may reorder the operations of eager steps, hence a rounding."""
    title, options = (f"{name}-{impl}", {"impl": impl}) if impl else (name, {})
    return Entry(title, lambda: backend(name, **options), 1e-12 if impl == "eager" else 0.0)


def runs(case: Case):
    """Return the case, or raise SkipTest if its equation does not support the problem.

    Parameters
    ----------
    case : Case
        The problem, the shots and the models.

    Returns
    -------
    Case
        The same case.

    Raises
    ------
    unittest.SkipTest
        If the equation does not support the problem.
    SweepError
        If :func:`sweep_core.make_problem` refuses the arguments for another reason.
    """
    try:
        case.problem  # noqa: B018
    except UnsupportedError as reason:
        raise SkipTest(str(reason)) from None
    return case
