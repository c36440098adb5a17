"""The protocol that a backend implements, and its possible answers."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import attrs

from .._util.validators import check_choice
from ..errors import UnsupportedError
from ..memory import make_strategy


@attrs.frozen
class Support:
    """The answer of a backend: whether it runs a problem. True or False in a condition.

    Parameters
    ----------
    ok : bool
        True if the backend runs the problem.
    reason : str
        The reason why it does, or does not.
    """

    ok: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.ok


REQUIRED = ("name", "supports", "forward")
"""The attributes that every executor has."""

IMPLS = ("auto", "c", "eager")
"""Kinds of code: compiled if possible, compiled, or the framework's own operations."""


def lacking(target: object) -> list[str]:
    """Return the attributes of an :class:`Executor` that an object lacks."""
    return [name for name in REQUIRED if not hasattr(target, name)]


def choose_impl(impl: str, problem: Any, device: object, support: Callable[[], Support]) -> tuple[str, str]:
    """Return (``'c'`` or ``'eager'``, reason); `support` says if compiled code runs the problem on the device.

    Parameters
    ----------
    impl : {'auto', 'c', 'eager'}
        The requested kind of code.
    problem : Problem
        The problem.
    device : object
        Device, for the message.
    support : callable
        Returns the Support of compiled code for the problem on the device.

    Returns
    -------
    impl : {'c', 'eager'}
        The kind of code to use.
    reason : str
        The reason of the choice.

    Raises
    ------
    OptionError, UnsupportedError
        For an unknown name, for ``'c'`` if compiled code cannot run the problem, or for eager operations if they cannot
        follow the memory strategy.
    """
    check_choice(impl, "impl", IMPLS)
    reason = "impl='eager' was asked for"
    if impl != "eager":
        answer = support()
        if answer:
            return "c", answer.reason
        if impl == "c":
            raise UnsupportedError(f"impl='c' cannot run {problem.equation.name} on {device}: {answer.reason}")
        reason = f"compiled code cannot run {problem.equation.name}: {answer.reason}"
    if refusal := make_strategy(problem.memory).eager_refusal:
        raise UnsupportedError(
            f"{reason}; impl='eager' cannot run it either: {refusal}" if impl != "eager" else refusal
        )
    return "eager", reason


def check_support(name: str, executor: Any, problem: Any) -> Support:
    """Return the answer of a backend to a problem; UnsupportedError if it does not run the problem.

    Parameters
    ----------
    name : str
        Name of the backend, for the message.
    executor : Executor
        An executor of the backend.
    problem : Problem
        The problem.

    Returns
    -------
    Support
        A positive answer, with its reason.

    Raises
    ------
    UnsupportedError
        The backend does not run the problem; the message has its reason.
    """
    support = executor.supports(problem)
    if not support:
        raise UnsupportedError(f"backend {name!r} does not run this problem: {support.reason}")
    return support


@runtime_checkable
class Executor(Protocol):
    """The operations of a backend on a problem. Arrays are the backend's own; NumPy arrays are always accepted.

    `shots` is a :class:`sweep_core.Shots`: the wavelet, sources and receivers of some shots of one survey. An executor
    that lacks an operation has no method for it, or raises an UnsupportedError. Modelling needs `name`, `supports` and
    `forward`; an inversion needs `misfit_and_gradient`.
    """

    name: str

    def supports(self, problem: Any) -> Support:
        """Return whether this backend can run `problem`, and the reason."""

    def forward(self, problem: Any, shots: Any, models: Any) -> Any:
        """Record of shape (nshots, nt, nrec, nfield)."""

    def misfit_and_gradient(self, problem: Any, shots: Any, models: Any, observed: Any) -> tuple[Any, list[Any]]:
        """Return 0.5 sum (forward - observed)^2 and its derivative in each model.

        It is a pure function, summed over the shots.
        """

    def born(self, problem: Any, shots: Any, models: Any, perturbations: Any) -> Any:
        """Return the derivative of the record in the direction `perturbations` of the models."""


@runtime_checkable
class DifferentiatingExecutor(Executor, Protocol):
    """An executor that gives the gradient of any misfit."""

    def pullback(self, problem: Any, shots: Any, models: Any) -> tuple[Any, Callable[[Any], list[Any]]]:
        """Return (record, pull) of one forward run, for any misfit.

        ``pull(cotangent)`` is the gradient in each model of a misfit whose derivative in the record is
        `cotangent`, of the record's shape; it may be called again.
        """
