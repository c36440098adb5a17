"""Finding plugins, one guarded load at a time: what fails is reported with its reason and stops nobody."""

import importlib
import importlib.util
import inspect
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any

import attrs
import pluggy

from ..equations import BROUGHT
from ..errors import PluginError, UnknownOptionError
from . import hookspecs
from .executor import lacking
from .hookspecs import GROUP, BackendRecord, EquationRecord, ObserverRecord


class BuiltIn:
    """What SWEEP itself brings without another package."""

    @staticmethod
    @hookspecs.impl
    def sweep_backends():
        return [BackendRecord("reference", "sweep_core.execution.reference:ReferenceExecutor")]

    @staticmethod
    @hookspecs.impl
    def sweep_equations():
        return [EquationRecord(cls.name, f"{cls.__module__}:{cls.__name__}") for cls in BROUGHT]


@attrs.frozen
class BackendStatus:
    """One line of the report: a backend, or a plugin that failed to load, and why it cannot be used."""

    name: str
    available: bool
    reason: str = ""
    record: BackendRecord | None = None


@attrs.frozen
class Registry:
    """Everything that was found, and what went wrong on the way."""

    backends: tuple[BackendStatus, ...]
    equations: tuple[EquationRecord, ...]
    observers: tuple[ObserverRecord, ...]
    failures: tuple[BackendStatus, ...]


def _register(manager, name, load, failures):
    if manager.has_plugin(name):
        failures.append(BackendStatus(name, False, f"the name {name!r} is already registered; this plugin is left out"))
        return
    try:
        manager.register(load(), name=name)
        manager.check_pending()
    except (Exception, SystemExit) as error:
        if manager.has_plugin(name):
            manager.unregister(name=name)
        failures.append(BackendStatus(name, False, _reason(error)))


def _reason(error):
    return f"{type(error).__name__}: {error}"


def _collect(manager, hook, kind, failures):
    """The records of one hook, plugin by plugin, so that one that raises or answers nonsense costs only itself."""
    found = []
    for implementation in getattr(manager.hook, hook).get_hookimpls():
        try:
            records = list(implementation.function())
            wrong = [r for r in records if not isinstance(r, kind)]
            if wrong:
                raise TypeError(f"{hook} returned {wrong[0]!r}; expected {kind.__name__}")
        except (Exception, SystemExit) as error:
            failures.append(BackendStatus(implementation.plugin_name, False, _reason(error)))
        else:
            found += records
    return found


def _unique(records, failures):
    unique: dict[str, Any] = {}
    for record in records:
        if record.name in unique:
            reason = f"the name is taken by {unique[record.name].target}; {record.target} is left out"
            failures.append(BackendStatus(record.name, False, reason))
        else:
            unique[record.name] = record
    return tuple(unique.values())


def _status(record: BackendRecord) -> BackendStatus:
    for module in record.requires:
        try:
            missing = importlib.util.find_spec(module) is None
        except (ImportError, ValueError):
            missing = True
        if missing:
            return BackendStatus(record.name, False, f"requires {module}, which is not installed", record)
    return BackendStatus(record.name, True, "", record)


@lru_cache(maxsize=1)
def registry() -> Registry:
    """All plugins of this environment; found once. ``registry.cache_clear()`` looks again."""
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(hookspecs)
    failures: list[BackendStatus] = []
    _register(manager, "sweep_core", lambda: BuiltIn, failures)
    for entry in entry_points(group=GROUP):
        _register(manager, entry.name, entry.load, failures)
    backends = _unique(_collect(manager, "sweep_backends", BackendRecord, failures), failures)
    equations = _unique(_collect(manager, "sweep_equations", EquationRecord, failures), failures)
    observers = tuple(_collect(manager, "sweep_observers", ObserverRecord, failures))
    return Registry(tuple(map(_status, backends)), equations, observers, tuple(failures))


def load(target: str):
    """What ``"package.module:attribute"`` names."""
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def backends() -> list[BackendStatus]:
    """What is installed, what is not, and why; nothing heavy is imported."""
    found = registry()
    return [*found.backends, *found.failures]


def backend(name: str, **options):
    """The executor of a backend; `options` are passed to what makes it, such as ``impl="eager"`` for torch and JAX.

    Raises
    ------
    PluginError
        Where no such backend is known, something it requires is missing, it fails to load or is no executor.
    UnknownOptionError
        Where the backend takes no such option.
    """
    known = {status.name: status for status in reversed(backends())}
    if name not in known:
        raise PluginError(f"no backend is called {name!r}; known are {sorted(s.name for s in registry().backends)}")
    status = known[name]
    if status.record is None or not status.available:
        raise PluginError(f"backend {name!r} cannot be used: {status.reason}")
    try:
        target = load(status.record.target)
        makes = isinstance(target, type) or (callable(target) and lacking(target))
        _check_options(name, target, options)
        made = target(**options) if makes or options else target
    except UnknownOptionError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"backend {name!r} failed to load: {_reason(error)}") from error
    if missing := lacking(made):
        raise PluginError(
            f"backend {name!r} is a {type(made).__name__} that lacks {', '.join(missing)}; expected an Executor"
        )
    return made


def _check_options(name, target, options):
    """UnknownOptionError for one that is no parameter of what makes the executor, as far as it tells them."""
    try:
        known = inspect.signature(target).parameters
    except (TypeError, ValueError):
        return
    unknown = [option for option in options if option not in known]
    if unknown and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        instead = f"it takes {', '.join(known)}" if known else "leave it out"
        raise UnknownOptionError(f"backend {name!r} takes no {unknown[0]!r}; {instead}")


def equation_failures() -> dict[str, str]:
    """Why an equation of a plugin could not be loaded, by name."""
    return _equations()[1]


def equations() -> dict[str, type]:
    """Equation classes by name, those of plugins included; :func:`equation_failures` tells which are missing."""
    return dict(_equations()[0])


def _equations():
    found, failures = {}, {}
    for record in registry().equations:
        try:
            found[record.name] = load(record.target)
        except (Exception, SystemExit) as error:
            failures[record.name] = _reason(error)
    return found, failures
