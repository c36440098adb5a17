"""The protocol that a backend implements, and what it may answer."""

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
        Why it does, or does not.
    """

    ok: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.ok


REQUIRED = ("name", "supports", "forward")
"""What an executor has at least."""

IMPLS = ("auto", "c", "eager")
"""What a user may ask for: compiled where it can be, compiled, or the framework's own operations."""


def lacking(found: object) -> list[str]:
    """What an object lacks to be an :class:`Executor`."""
    return [name for name in REQUIRED if not hasattr(found, name)]


def choose_impl(impl: str, problem: Any, device: object, support: Callable[[], Support]) -> tuple[str, str]:
    """(``'c'`` or ``'eager'``, why); `support` tells whether compiled code runs the problem on the device.

    Raises
    ------
    OptionError, UnsupportedError
        For an unknown name, or ``'c'`` where compiled code cannot run the problem, or eager operations where they
        cannot remember it as they are told to.
    """
    check_choice(impl, "impl", IMPLS)
    reason = "impl='eager' was asked for"
    if impl != "eager":
        found = support()
        if found:
            return "c", found.reason
        if impl == "c":
            raise UnsupportedError(f"impl='c' cannot run {problem.equation.name} on {device}: {found.reason}")
        reason = f"compiled code cannot run it: {found.reason}"
    if refusal := make_strategy(problem.memory).eager_refusal:
        raise UnsupportedError(f"impl='eager' ({reason}) cannot either: {refusal}" if impl != "eager" else refusal)
    return "eager", reason


def check_support(name: str, executor: Any, problem: Any) -> Support:
    """What a backend answers to a problem; UnsupportedError where it does not run it."""
    support = executor.supports(problem)
    if not support:
        raise UnsupportedError(f"backend {name!r} does not run this problem: {support.reason}")
    return support


@runtime_checkable
class Executor(Protocol):
    """What a backend does with a problem. Arrays are the backend's own; NumPy arrays are always accepted.

    `shots` is a :class:`sweep_core.Shots`: the wavelet, sources and receivers of some shots of one survey. What
    an executor cannot do it refuses with an UnsupportedError, or has no method for: modelling needs `name`, `supports`
    and `forward`, an inversion `misfit_and_gradient`.
    """

    name: str

    def supports(self, problem: Any) -> Support:
        """Whether this backend can run `problem` as it stands."""

    def forward(self, problem: Any, shots: Any, models: Any) -> Any:
        """Record of shape (nshots, nt, nrec, nfield)."""

    def misfit_and_gradient(self, problem: Any, shots: Any, models: Any, observed: Any) -> tuple[Any, list[Any]]:
        """(0.5 sum (forward - observed)^2, its derivative in each model): a pure function, summed over the shots."""

    def born(self, problem: Any, shots: Any, models: Any, perturbations: Any) -> Any:
        """The derivative of the record in direction `perturbations` of the models."""


@runtime_checkable
class DifferentiatingExecutor(Executor, Protocol):
    """An executor that gives the gradient of any misfit."""

    def pullback(self, problem: Any, shots: Any, models: Any) -> tuple[Any, Callable[[Any], list[Any]]]:
        """(record, pull): ``pull(cotangent)`` is the gradient in each model of a misfit whose derivative in the record
        is `cotangent`, of the record's shape. Any misfit, by one forward run; `pull` may be called again.
        """
