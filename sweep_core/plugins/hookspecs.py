"""The hooks through which backends, distributors, equations and observers are found (entry points, group ``sweep``)."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np
import pluggy

from ..errors import OptionError

GROUP = "sweep"
spec = pluggy.HookspecMarker(GROUP)
impl = pluggy.HookimplMarker(GROUP)
"""Marks a plugin's functions as implementations of these hooks."""


def _name(instance: Any, attribute: Any, value: Any) -> None:
    if not isinstance(value, str) or not value:
        raise OptionError(f"{type(instance).__name__}: {attribute.name} is {value!r}; expected a name")


def _names(instance: Any, attribute: Any, value: Any) -> None:
    if not isinstance(value, tuple | list) or not all(isinstance(name, str) and name for name in value):
        raise OptionError(f"{type(instance).__name__}: {attribute.name} is {value!r}; expected a tuple of names")


@attrs.frozen
class BackendRecord:
    """A backend, by name, without importing it.

    Parameters
    ----------
    name : str
        The name that users select.
    target : str
        ``"package.module:attribute"``, an executor or a class or function without arguments that makes one.
    requires : tuple of str
        Modules that must be importable.
    devices : tuple of str
        Kinds of device that it may use, such as ``("cpu", "cuda")``.
    impls : tuple of str
        Values of the argument ``impl=`` of `target`, such as ``("eager", "c")``, if it has several kinds of code.
    """

    name: str = attrs.field(validator=_name)
    target: str = attrs.field(validator=_name)
    requires: tuple[str, ...] = attrs.field(default=(), validator=_names)
    devices: tuple[str, ...] = attrs.field(default=("cpu",), validator=_names)
    impls: tuple[str, ...] = attrs.field(default=(), validator=_names)


@attrs.frozen
class DistributorRecord:
    """A distributor, by name, without importing it.

    Parameters
    ----------
    name : str
        The name that users select.
    target : str
        ``"package.module:attribute"``, a distributor or a class or function without arguments that makes one.
    requires : tuple of str
        Modules that must be importable.
    """

    name: str = attrs.field(validator=_name)
    target: str = attrs.field(validator=_name)
    requires: tuple[str, ...] = attrs.field(default=(), validator=_names)


@attrs.frozen
class EquationRecord:
    """An equation, by name, without importing it.

    Parameters
    ----------
    name : str
        Name of the equation.
    target : str
        ``"package.module:Class"``.
    """

    name: str = attrs.field(validator=_name)
    target: str = attrs.field(validator=_name)


@attrs.frozen(eq=False)
class Observation:
    """The event that an observer receives. Arrays are read-only copies on the host.

    Parameters
    ----------
    event : {'shot', 'start', 'iteration'}
    iteration : int
        The iteration under way or, for ``'iteration'``, the one that is over; 0 is the gradient at the starting model.
    misfit : float
        0.5 times the sum of squares of `shots`.
    shots : tuple of int
        Which shots of the survey were modelled: the few that a rank models at once; otherwise all.
    model : (nz, nx) or (n, nz, nx) array
        The parameters, after an iteration; those that the shots were modelled in.
    gradient : array, optional
        After an iteration, that of its last step: of the shape of `model`, summed over the ranks.
    rank : int
        The process that tells it.
    history : tuple of dict
        The lines of :attr:`sweep_core.inversion.Inverted.history` so far; none for ``'shot'``.
    """

    event: str
    iteration: int
    misfit: float
    shots: tuple[int, ...]
    model: np.ndarray
    gradient: np.ndarray | None = None
    rank: int = 0
    history: tuple[Mapping[str, Any], ...] = ()


EVENTS = ("shot", "start", "iteration")
"""The events that observers may receive."""


@attrs.frozen
class ObserverRecord:
    """A function that an inversion calls while it runs.

    Parameters
    ----------
    name : str
        Name in reports.
    event : {'shot', 'start', 'iteration'}
        After the few shots that a rank models at once, on that rank; or, on rank 0, after the first gradient of a stage
        or after each iteration.
    call : callable
        ``call(observation)`` with an :class:`Observation`; what it returns is ignored. If it raises, that is reported
        with name and reason, the run goes on, and it is not called again in that run.

    Raises
    ------
    OptionError
        For an unknown event, or what cannot be called.
    """

    name: str = attrs.field(validator=_name)
    event: str = attrs.field()
    call: Callable[[Observation], Any] = attrs.field()

    @event.validator
    def _known(self, _: Any, event: Any) -> None:
        if event not in EVENTS:
            raise OptionError(f"observer {self.name!r} asks for the event {event!r}; expected one of {EVENTS}")

    @call.validator
    def _callable(self, _: Any, call: Any) -> None:
        if not callable(call):
            raise OptionError(f"observer {self.name!r} is {call!r}; expected a function of one Observation")


@spec
def sweep_backends() -> list[BackendRecord]:
    """Return the backends of this plugin."""
    return []


@spec
def sweep_distributors() -> list[DistributorRecord]:
    """Return the distributors of this plugin."""
    return []


@spec
def sweep_equations() -> list[EquationRecord]:
    """Return the equations of this plugin."""
    return []


@spec
def sweep_observers() -> list[ObserverRecord]:
    """Return the observers of this plugin."""
    return []
