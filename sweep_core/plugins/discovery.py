"""Finding plugins, one guarded load at a time: what fails is reported with its reason and stops nobody."""

import importlib
import importlib.util
import inspect
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any

import attrs
import pluggy

from ..equations import BROUGHT
from ..equations.equation import Equation
from ..errors import PluginError, UnknownOptionError
from . import hookspecs
from .executor import lacking
from .hookspecs import GROUP, BackendRecord, DistributorRecord, EquationRecord, ObserverRecord

VERBS = ("rank", "size", "scatter", "gather", "broadcast", "reduce", "all_reduce", "all_gather", "barrier")
"""The attributes that every distributor has."""


class BuiltIn:
    """The hooks of SWEEP itself."""

    @staticmethod
    @hookspecs.impl
    def sweep_backends() -> list[BackendRecord]:
        return [BackendRecord("reference", "sweep_core.execution.reference:ReferenceExecutor")]

    @staticmethod
    @hookspecs.impl
    def sweep_distributors() -> list[DistributorRecord]:
        return [DistributorRecord("serial", "sweep_core.distribution:SerialDistributor")]

    @staticmethod
    @hookspecs.impl
    def sweep_equations() -> list[EquationRecord]:
        return [EquationRecord(cls.name, f"{cls.__module__}:{cls.__name__}") for cls in BROUGHT]


@attrs.frozen
class PluginStatus:
    """One line of the report: a backend, a distributor, or a plugin that failed to load, and why it cannot be used."""

    name: str
    available: bool
    reason: str = ""
    record: Any = None


@attrs.frozen
class Registry:
    """Everything that was found, and what went wrong on the way."""

    backends: tuple[PluginStatus, ...]
    distributors: tuple[PluginStatus, ...]
    equations: tuple[EquationRecord, ...]
    observers: tuple[ObserverRecord, ...]
    failures: tuple[PluginStatus, ...]


def _register(manager: pluggy.PluginManager, name: str, load: Callable[[], Any], failures: list[PluginStatus]) -> None:
    if manager.has_plugin(name):
        failures.append(PluginStatus(name, False, f"the name {name!r} is already registered; this plugin is left out"))
        return
    try:
        manager.register(load(), name=name)
        manager.check_pending()
    except (Exception, SystemExit) as error:
        if manager.has_plugin(name):
            manager.unregister(name=name)
        failures.append(PluginStatus(name, False, _reason(error)))


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _collect(manager: pluggy.PluginManager, hook: str, kind: type, failures: list[PluginStatus]) -> list[Any]:
    """Return the records of one hook, plugin by plugin: a plugin that fails loses only its own records."""
    records = []
    for implementation in getattr(manager.hook, hook).get_hookimpls():
        try:
            own = list(implementation.function())
            wrong = [r for r in own if not isinstance(r, kind)]
            if wrong:
                raise TypeError(f"{hook} returned {wrong[0]!r}; expected {kind.__name__}")
        except (Exception, SystemExit) as error:
            failures.append(PluginStatus(implementation.plugin_name, False, _reason(error)))
        else:
            records += own
    return records


def _unique(records: list[Any], failures: list[PluginStatus]) -> tuple[Any, ...]:
    unique: dict[str, Any] = {}
    for record in records:
        if record.name in unique:
            reason = f"the name belongs to {unique[record.name].target}; {record.target} is left out"
            failures.append(PluginStatus(record.name, False, reason))
        else:
            unique[record.name] = record
    return tuple(unique.values())


def _status(record: BackendRecord | DistributorRecord) -> PluginStatus:
    for module in record.requires:
        try:
            missing = importlib.util.find_spec(module) is None
        except (ImportError, ValueError):
            missing = True
        if missing:
            return PluginStatus(record.name, False, f"requires {module}, which is not installed", record)
    return PluginStatus(record.name, True, "", record)


@lru_cache(maxsize=1)
def registry() -> Registry:
    """Return all plugins of this environment. The search runs once; ``registry.cache_clear()`` repeats it."""
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(hookspecs)
    failures: list[PluginStatus] = []
    _register(manager, "sweep_core", lambda: BuiltIn, failures)
    for entry in entry_points(group=GROUP):
        _register(manager, entry.name, entry.load, failures)
    backends = _unique(_collect(manager, "sweep_backends", BackendRecord, failures), failures)
    distributors = _unique(_collect(manager, "sweep_distributors", DistributorRecord, failures), failures)
    equations = _unique(_collect(manager, "sweep_equations", EquationRecord, failures), failures)
    observers = tuple(_collect(manager, "sweep_observers", ObserverRecord, failures))
    statuses = tuple(map(_status, backends)), tuple(map(_status, distributors))
    return Registry(*statuses, equations, observers, tuple(failures))


def load(target: str) -> Any:
    """Return the object that ``"package.module:attribute"`` names.

    Parameters
    ----------
    target : str
        Module and attribute, such as ``"sweep_core:Acoustic"``.

    Returns
    -------
    object
        The attribute.
    """
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def backends() -> list[PluginStatus]:
    """List the backends that are installed, and those that cannot be used with the reason; nothing heavy is imported.

    Returns
    -------
    list of PluginStatus
        `name`, `available` and `reason` of each backend, and of each plugin that failed to load.

    Examples
    --------
    >>> from sweep_core import backends
    >>> "reference" in [status.name for status in backends()]
    True
    """
    plugins = registry()
    return [*plugins.backends, *plugins.failures]


def backend(name: str, **options: Any) -> Any:
    """Return the executor of a backend.

    Parameters
    ----------
    name : str
        One of the names that :func:`backends` lists, such as ``"torch"``.
    **options
        Options of the backend, such as ``impl="eager"`` of torch and JAX.

    Returns
    -------
    Executor

    Raises
    ------
    PluginError
        If no such backend is known, a requirement is missing, or the backend fails to load or is no executor.
    UnknownOptionError
        If the backend takes no such option.

    Examples
    --------
    >>> from sweep_core import backend
    >>> backend("torch", impl="eager").name
    'torch'
    """
    return _make("backend", name, backends(), options, lacking, "an Executor")


def first_backend() -> str | None:
    """Return the name of the first of torch and jax that can be used, for users who name no backend.

    Returns
    -------
    str or None
        None if neither can be used.
    """
    return next((each.name for each in backends() if each.available and each.name in ("torch", "jax")), None)


def distributors() -> list[PluginStatus]:
    """List the distributors that are installed, and those that cannot be used with the reason.

    Returns
    -------
    list of PluginStatus
        `name`, `available` and `reason` of each distributor, and of each plugin that failed to load.

    Examples
    --------
    >>> from sweep_core import distributors
    >>> "serial" in [status.name for status in distributors()]
    True
    """
    plugins = registry()
    return [*plugins.distributors, *plugins.failures]


def distributor(name: str, **options: Any) -> Any:
    """Return a distributor, for the argument `group` of an inversion.

    Parameters
    ----------
    name : str
        One of the names that :func:`distributors` lists, such as ``"serial"``.
    **options
        Options of the distributor, such as ``address="tcp://host:8786"`` of Dask.

    Returns
    -------
    Distributor

    Raises
    ------
    PluginError
        If no such distributor is known, a requirement is missing, or it fails to load or is no distributor.
    UnknownOptionError
        If the distributor takes no such option.

    Examples
    --------
    >>> from sweep_core import distributor
    >>> distributor("serial").size
    1
    """
    return _make("distributor", name, distributors(), options, _lacking_verbs, "a Distributor")


def _lacking_verbs(target: object) -> list[str]:
    return [verb for verb in VERBS if not hasattr(target, verb)]


def _make(
    noun: str, name: str, statuses: list[PluginStatus], options: dict[str, Any],
    lacks: Callable[[object], list[str]], expected: str,
) -> Any:  # fmt: skip
    """Return the object of a record by its name, made with options."""
    known = {status.name: status for status in reversed(statuses)}
    if name not in known:
        raise PluginError(f"{noun} is {name!r}; expected one of {sorted(s.name for s in statuses if s.record)}")
    status = known[name]
    if status.record is None or not status.available:
        raise PluginError(f"{noun} {name!r} cannot be used: {status.reason}")
    try:
        target = load(status.record.target)
        makes = isinstance(target, type) or (callable(target) and lacks(target))
        _check_options(f"{noun} {name!r}", target, options)
        result = target(**options) if makes or options else target
    except UnknownOptionError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"{noun} {name!r} failed to load: {_reason(error)}") from error
    if missing := lacks(result):
        raise PluginError(
            f"{noun} {name!r} is a {type(result).__name__} that lacks {', '.join(missing)}; expected {expected}"
        )
    return result


def _check_options(owner: str, target: Any, options: dict[str, Any]) -> None:
    """Raise an UnknownOptionError for an option that the maker of an object does not list among its parameters."""
    try:
        known = inspect.signature(target).parameters
    except (TypeError, ValueError):
        return
    unknown = [option for option in options if option not in known]
    if unknown and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        instead = f"it takes {', '.join(known)}" if known else "leave it out"
        raise UnknownOptionError(f"{owner} takes no {unknown[0]!r}; {instead}")


def equation_failures() -> dict[str, str]:
    """Return the reasons why equations of plugins could not be loaded, by name.

    Returns
    -------
    dict of str to str
        Reasons by the name of the equation.
    """
    return _equations()[1]


def equations() -> dict[str, type[Equation]]:
    """Return the equation classes by name, those of plugins included.

    Returns
    -------
    dict
        An equation of a plugin that fails to load is left out; see :func:`sweep_core.plugins.equation_failures`.

    Examples
    --------
    >>> from sweep_core import equations
    >>> equations()["acoustic"](spatial_order=8)
    Acoustic(spatial_order=8, device=None)
    """
    return dict(_equations()[0])


def _equations() -> tuple[dict[str, type[Equation]], dict[str, str]]:
    known: dict[str, type[Equation]] = {}
    failures: dict[str, str] = {}
    for record in registry().equations:
        try:
            known[record.name] = load(record.target)
        except (Exception, SystemExit) as error:
            failures[record.name] = _reason(error)
    return known, failures
