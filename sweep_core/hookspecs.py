"""The hooks through which backends, equations and observers are found (entry points, group ``sweep``)."""

from collections.abc import Callable
from typing import Any

import attrs
import pluggy

GROUP = "sweep"
spec = pluggy.HookspecMarker(GROUP)
impl = pluggy.HookimplMarker(GROUP)
"""Marks a plugin's functions as implementations of these hooks."""


@attrs.frozen
class BackendRecord:
    """A backend, by name, without importing it.

    Parameters
    ----------
    name : str
        What users select.
    target : str
        ``"package.module:attribute"``, an executor or a class or function without arguments that makes one.
    requires : tuple of str
        Modules that must be importable.
    devices : tuple of str
        Kinds of device that it may use, such as ``("cpu", "cuda")``.
    impls : tuple of str
        What `target` takes as ``impl=``, such as ``("eager", "c")``, where it runs a problem in more than one way.
    """

    name: str
    target: str
    requires: tuple[str, ...] = ()
    devices: tuple[str, ...] = ("cpu",)
    impls: tuple[str, ...] = ()


@attrs.frozen
class EquationRecord:
    """An equation, by name: ``target`` is ``"package.module:Class"``."""

    name: str
    target: str


@attrs.frozen
class ObserverRecord:
    """A function to be called after each shot or iteration: ``event`` is ``'shot'`` or ``'iteration'``."""

    name: str
    event: str
    call: Callable[..., Any]


@spec
def sweep_backends() -> list[BackendRecord]:
    """Backends that this plugin brings."""
    return []


@spec
def sweep_equations() -> list[EquationRecord]:
    """Equations that this plugin brings."""
    return []


@spec
def sweep_observers() -> list[ObserverRecord]:
    """Observers that this plugin brings."""
    return []
