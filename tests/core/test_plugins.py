"""Plugins load one by one: a failure is reported with its reason and stops no other plugin."""

import re
import types

import attrs
import pytest

from sweep_core import (
    Acoustic,
    BackendRecord,
    DistributorRecord,
    EquationRecord,
    ObserverRecord,
    PluginError,
    SerialDistributor,
    backend,
    backends,
    distributor,
    distributors,
    equations,
)
from sweep_core.cli.info import run as main
from sweep_core.equations import BROUGHT
from sweep_core.errors import UnknownOptionError
from sweep_core.execution.reference import ReferenceExecutor
from sweep_core.plugins import impl, registry

BUILT_IN = {cls.name: cls for cls in BROUGHT}


class Entry:
    """An entry point like those of importlib.metadata."""

    def __init__(self, name, load):
        self.name, self.load = name, load


def plugin(**hooks):
    """Return a module with these hooks, each a list to return or a function."""
    module = types.ModuleType("stranger")
    for name, answer in hooks.items():
        function = answer if callable(answer) else (lambda answer=answer: answer)
        setattr(module, name, impl(lambda function=function: function()))
    return module


@pytest.fixture
def install(monkeypatch):
    """Return a function that sets the entry points to these pairs (name, plugin or exception)."""

    def set_entry_points(*pairs):
        def loader(target):
            def load():
                if isinstance(target, Exception):
                    raise target
                return target

            return load

        entries = [Entry(name, loader(target)) for name, target in pairs]
        monkeypatch.setattr("sweep_core.plugins.discovery.entry_points", lambda group: entries)
        registry.cache_clear()

    yield set_entry_points
    monkeypatch.undo()
    registry.cache_clear()


def report():
    return {status.name: status for status in backends()}


TINY = BackendRecord("tiny", "sweep_core.execution.reference:ReferenceExecutor")


def test_only_the_reference_exists_without_plugins(install):
    install()
    assert [(s.name, s.available) for s in backends()] == [("reference", True)]
    assert equations() == BUILT_IN


def test_a_backend_of_another_package_is_found(install):
    install(("stranger", plugin(sweep_backends=[TINY])))
    assert report()["tiny"].available
    assert isinstance(backend("tiny"), ReferenceExecutor)


@pytest.mark.parametrize("target", ["types:SimpleNamespace", "builtins:list"])
def test_an_incomplete_executor_is_refused_with_its_missing_names(install, target):
    install(("s", plugin(sweep_backends=[BackendRecord("half", target)])))
    lacks = "name, supports, forward"
    with pytest.raises(PluginError, match=f"backend 'half' is a .* that lacks {lacks}; expected an Executor"):
        backend("half")


@pytest.mark.parametrize("ready", [True, False], ids=["object", "class"])
def test_an_executor_without_pullback_is_accepted(install, monkeypatch, ready):
    class Earlier:
        name = "earlier"
        supports = forward = misfit_and_gradient = None

    monkeypatch.setattr("sweep_core.execution.reference.EARLIER", Earlier() if ready else Earlier, raising=False)
    install(("s", plugin(sweep_backends=[BackendRecord("earlier", "sweep_core.execution.reference:EARLIER")])))
    assert isinstance(backend("earlier"), Earlier)


def test_all_three_hooks_are_read(install):
    observer = ObserverRecord("bar", "shot", print)
    hooks = {"sweep_backends": [TINY], "sweep_observers": [observer]}
    install(("s", plugin(**hooks, sweep_equations=[EquationRecord("mine", "sweep_core:Acoustic")])))
    assert registry().observers == (observer,) and equations()["mine"] is Acoustic


BAD_OBSERVERS = {
    "event": (
        ("bar", "epoch", print),
        r"OptionError: observer 'bar' asks for the event 'epoch'; expected one of \('shot'",
    ),
    "call": (
        ("bar", "shot", "print"),
        "OptionError: observer 'bar' is 'print'; expected a function of one Observation",
    ),
}


@pytest.mark.parametrize(("arguments", "reason"), BAD_OBSERVERS.values(), ids=BAD_OBSERVERS)
def test_a_bad_observer_is_refused_at_registration(install, arguments, reason):
    install(("s", plugin(sweep_observers=lambda: [ObserverRecord(*arguments)])), ("t", plugin(sweep_backends=[TINY])))
    assert registry().observers == () and report()["tiny"].available
    assert re.search(reason, report()["s"].reason)


def test_observers_are_listed_on_the_command_line(install, capsys):
    install(
        ("s", plugin(sweep_observers=[ObserverRecord("bar", "shot", print), ObserverRecord("plot", "iteration", map)]))
    )
    main()
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["bar", "(shot)", "builtins:print"] in lines and ["plot", "(iteration)", "builtins:map"] in lines


def nonsense():
    raise RuntimeError("no licence")


BROKEN = {
    "import fails": (ImportError("no module named gpulib"), "ImportError: no module named gpulib"),
    "hook raises": (plugin(sweep_backends=nonsense), "RuntimeError: no licence"),
    "no name": (
        plugin(sweep_backends=lambda: [BackendRecord(None, "m:C")]),
        "BackendRecord: name is None; expected a name",
    ),
    "a bare name": (
        plugin(sweep_backends=lambda: [BackendRecord("x", "m:C", requires="numpy")]),
        "BackendRecord: requires is 'numpy'; expected a tuple of names",
    ),
    "no equation": (plugin(sweep_equations=lambda: [EquationRecord(5, "m:C")]), "EquationRecord: name is 5"),
    "wrong records": (plugin(sweep_backends=["torch"]), "TypeError: sweep_backends returned 'torch'; expected Backend"),
    "nothing returned": (plugin(sweep_backends=lambda: None), "TypeError"),
    "misspelt hook": (plugin(sweep_backend=[TINY]), "unknown hook 'sweep_backend'"),
}


@pytest.mark.parametrize(("target", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_failure_is_reported_and_stops_no_other_plugin(install, target, reason):
    install(("bad", target), ("good", plugin(sweep_backends=[TINY])))
    assert reason in report()["bad"].reason and not report()["bad"].available
    assert report()["tiny"].available and report()["reference"].available
    with pytest.raises(PluginError, match="backend 'bad' cannot be used"):
        backend("bad")


def test_a_second_backend_of_a_name_is_left_out(install):
    impostor = BackendRecord("reference", "evil:Executor")
    install(("stranger", plugin(sweep_backends=[impostor, TINY])))
    assert "the name belongs to sweep_core.execution.reference:ReferenceExecutor" in str([s.reason for s in backends()])
    assert type(backend("reference")).__name__ == "ReferenceExecutor" and report()["tiny"].available


@pytest.mark.parametrize("name", ["same", "sweep_core"])
def test_two_plugins_of_one_name_stop_no_other_plugin(install, name):
    """Two packages may use one name for their entry points, SWEEP's own included."""
    other = BackendRecord("other", "types:SimpleNamespace")
    install((name, plugin(sweep_backends=[TINY])), (name, plugin(sweep_backends=[other])))
    result = report()
    assert result["reference"].available and "acoustic" in equations()
    assert name == "sweep_core" or result["tiny"].available
    assert any("already registered" in status.reason for status in backends())


def test_a_missing_requirement_is_named(install):
    install(("s", plugin(sweep_backends=[BackendRecord("far", "far:Executor", requires=("no_such_module",))])))
    assert report()["far"].reason == "requires no_such_module, which is not installed"
    with pytest.raises(PluginError, match="requires no_such_module"):
        backend("far")


@pytest.mark.parametrize("target", ["no_such_module:X", "types:NoSuchName", "types", "sweep_core:make_problem"])
def test_a_target_that_does_not_load_is_refused(install, target):
    install(("s", plugin(sweep_backends=[BackendRecord("late", target)])))
    with pytest.raises(PluginError, match="backend 'late' failed to load: "):
        backend("late")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("sweep_core.execution.reference:ReferenceExecutor", "backend 'late' takes no 'device'; leave it out"),
        ("sweep_core.distribution:ShotPlan", "backend 'late' takes no 'device'; it takes count, size"),
    ],
)
def test_an_unknown_option_of_a_backend_is_refused(install, target, words):
    install(("s", plugin(sweep_backends=[BackendRecord("late", target)])))
    with pytest.raises(UnknownOptionError, match=words):
        backend("late", device="cpu")


def test_an_unknown_backend_is_refused_with_the_known_names(install):
    install(("s", plugin(sweep_backends=[TINY])))
    with pytest.raises(PluginError, match=r"backend is 'torhc'; expected one of \['reference', 'tiny'\]"):
        backend("torhc")


def test_an_equation_that_does_not_load_is_left_out(install):
    records = [EquationRecord("bad", "no_such_module:X"), EquationRecord("good", "sweep_core:Acoustic")]
    install(("s", plugin(sweep_equations=records)))
    assert set(equations()) == {*BUILT_IN, "good"}


MINE = DistributorRecord("mine", "sweep_core.distribution:SerialDistributor")


def test_a_distributor_of_another_package_is_found_and_made_with_its_options(install, capsys):
    install(("stranger", plugin(sweep_distributors=[MINE])))
    assert [(s.name, s.available) for s in distributors()] == [("serial", True), ("mine", True)]
    assert distributor("mine", device="here") == SerialDistributor("here")
    assert main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines.index("distributors") < next(i for i, line in enumerate(lines) if line.split() == ["mine", "ready"])


@pytest.mark.parametrize(
    ("records", "options", "message"),
    [
        ([], {}, r"distributor is 'mine'; expected one of \['serial'\]"),
        ([DistributorRecord("mine", "types:SimpleNamespace")], {}, "a SimpleNamespace that lacks rank, size, scatter"),
        ([DistributorRecord("mine", "nobody:It", ("nobody",))], {}, "cannot be used: requires nobody, which is not"),
        ([DistributorRecord("mine", "nobody:It")], {}, "distributor 'mine' failed to load: ModuleNotFoundError"),
        ([MINE], {"colour": 1}, "distributor 'mine' takes no 'colour'; it takes device"),
    ],
)
def test_the_error_for_a_distributor_gives_the_reason(install, records, options, message):
    install(("stranger", plugin(sweep_distributors=records)))
    with pytest.raises((PluginError, UnknownOptionError), match=message):
        distributor("mine", **options)


def test_a_name_may_be_that_of_a_backend_and_of_a_distributor(install):
    install(("stranger", plugin(sweep_backends=[TINY], sweep_distributors=[attrs.evolve(MINE, name="tiny")])))
    assert isinstance(backend("tiny"), ReferenceExecutor) and isinstance(distributor("tiny"), SerialDistributor)
