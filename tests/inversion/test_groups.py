"""An inversion runs over any distributor and reports its progress to observers."""

import copy
import runpy
from pathlib import Path

import attrs
import numpy as np
import pytest

from sweep_core import DistributedError, Distributor, Observation, ObserverRecord, SerialDistributor, SweepWarning
from sweep_core.distribution import on_root
from sweep_core.inversion import Observers, Settings, arguments_of, conclude, invert, make_solver, observe
from sweep_core.io import faulted_model, read_prepared, write_prepared
from sweep_core.plugins import registry

torch = pytest.importorskip("torch")
pytest.importorskip("tqdm")
from sweep_torch import PropTorch, Torch  # noqa: E402
from sweep_torch.distribution import TorchDistributor  # noqa: E402

EXAMPLES = Path(__file__).parents[2] / "examples/multi-gpu"


class OneProcess:
    """A minimal Distributor of a plugin, for one process."""

    rank, size, device = 0, 1, torch.device("cpu")

    def scatter(self, plan, x):
        return copy.copy(x)

    gather = all_gather = scatter

    def broadcast(self, x):
        return copy.copy(x)

    reduce = all_reduce = broadcast

    def barrier(self):
        pass


GROUPS = {"serial": SerialDistributor, "stranger": OneProcess, "torch": TorchDistributor}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_prepared(tmp_path_factory.mktemp("model") / "small.npz", faulted_model((24, 40), 40.0, seed=3))


def prepare(group, model, folder, **options):
    """Return (solver, arguments of `invert`) of an inversion of one epoch."""
    values = {"model": model, "out": folder, "epochs": 1, "max_shots": 5, "batchsize": 5, "freq": 3} | options
    source = values.pop("observed", "slices")
    settings = Settings(**values, forward_batchsize=2, show_every=9)
    solver = make_solver(settings, "torch", PropTorch)
    arguments = arguments_of(settings, solver, observe(settings, solver, group, source))
    adam = Torch(torch.optim.Adam, shots=settings.shots_per_step, lr=1.0)
    return solver, arguments | {"optimiser": adam, "progress": False}


def run_inversion(group, model, folder, records=(), monkeypatch=None, **options):
    """Run an inversion, with the observers of `records` registered like those of plugins."""
    solver, arguments = prepare(group, model, folder, **options)
    if monkeypatch:
        result = attrs.evolve(registry(), observers=tuple(records))
        monkeypatch.setattr("sweep_core.inversion.fwi.registry", lambda: result)
    return invert(solver, **arguments, group=group)


@pytest.fixture(scope="module")
def expected(model, tmp_path_factory):
    return run_inversion(TorchDistributor(), model, tmp_path_factory.mktemp("expected")).models[0]


@pytest.mark.parametrize("source", ["slices", "rank0"])
@pytest.mark.parametrize("group", GROUPS)
def test_every_distributor_gives_the_same_model(group, source, model, expected, tmp_path):
    instance = GROUPS[group]()
    assert isinstance(instance, Distributor)
    result = run_inversion(instance, model, tmp_path, observed=source)
    np.testing.assert_array_equal(result.models[0], expected)


def test_the_closing_lines_name_the_shots_that_were_left_out(model, tmp_path):
    """The misfit of all shots is estimated from the others, whose data can be read."""
    pytest.importorskip("zarr")
    values = {"model": model, "out": tmp_path, "epochs": 1, "max_shots": 5, "batchsize": 5, "freq": 3}
    settings = Settings(**values, skip_bad_shots=True)
    solver, group = make_solver(settings, "torch", PropTorch), SerialDistributor()
    store, whole = observe(settings, solver, group, "store"), observe(settings, solver, group)
    store.record[3] = 0
    arguments = arguments_of(settings, solver, store) | {"observers": (), "progress": False}
    with pytest.warns(SweepWarning, match="shot 3 is left out"):
        result = invert(solver, **arguments, optimiser=Torch(torch.optim.Adam, shots=5, lr=1.0))
    line, last = conclude(settings, solver, store, result).split("\n")
    assert last == "shot 3 left out"
    misfit = float(line.split(" to ")[1].split(",")[0])
    everything = conclude(settings, solver, whole, attrs.evolve(result, bad_shots={}))
    assert misfit == pytest.approx(float(everything.split(" to ")[1].split(",")[0]), rel=0.3)


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_boundary_strips_lead_to_the_same_model(backend, model, expected, tmp_path):
    """Each step is 20 m/s; the gradients differ by rounding."""
    if backend == "jax":
        pytest.importorskip("jax")
    solver, arguments = prepare(SerialDistributor(), model, tmp_path, backend=backend, memory="boundary")
    assert "MemoryOptions(strategy='boundary', known_above=2)" in solver.explain()
    np.testing.assert_allclose(invert(solver, **arguments).models[0], expected, rtol=0, atol=0.1)


def test_a_refusal_on_rank_0_ends_every_rank():
    """The number of refusals is summed over ranks; this rank is not the first."""

    class Second(OneProcess):
        rank, size, refused = 1, 2, 1.0

        def all_reduce(self, x):
            return x + self.refused

    def fail(*_):
        raise AssertionError("only rank 0 may call this")

    with pytest.raises(DistributedError, match="rank 0 failed"):
        on_root(Second(), fail)
    accepted = Second()
    accepted.refused = 0.0
    assert on_root(accepted, fail) is None


# --- observers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_observers_receive_shots_and_iterations(backend, model, tmp_path, monkeypatch):
    if backend == "jax":
        pytest.importorskip("jax")
    observations: list[Observation] = []
    records = [ObserverRecord("list", event, observations.append) for event in ("shot", "start", "iteration")]
    outcome = run_inversion(SerialDistributor(), model, tmp_path, records, monkeypatch, backend=backend)
    start, first = ([o for o in observations if o.iteration == n] for n in (0, 1))
    for output, event in ((start, "start"), (first, "iteration")):
        assert [(o.event, o.shots) for o in output] == [
            *(("shot", s) for s in ((0, 1), (2, 3), (4,))),
            (event, (0, 1, 2, 3, 4)),
        ]
        assert sum(o.misfit for o in output[:3]) == pytest.approx(output[3].misfit, rel=1e-5)
    initial = read_prepared(model).initial
    np.testing.assert_array_equal(start[3].model, initial)
    np.testing.assert_array_equal(first[0].model, initial)
    np.testing.assert_array_equal(first[3].model, outcome.models[0])
    assert start[3].gradient.shape == start[3].model.shape and np.abs(start[3].gradient).max() > 0
    assert all(o.rank == 0 and o.gradient is None and not o.history for o in observations if o.event == "shot")
    assert [dict(line) for line in first[3].history] == outcome.history and outcome.history[1]["misfit"] == first[
        3
    ].misfit


def test_a_failing_observer_does_not_change_the_run(model, expected, tmp_path, capfd, monkeypatch):
    calls = []

    def fails(observation):
        calls.append(observation)
        raise OSError("the disk of plots is full")

    def leaves(observation):
        raise SystemExit(3)

    class Speechless(Exception):
        def __str__(self):
            raise AttributeError("no words")

    def is_lost(observation):
        raise Speechless

    def spoils(observation):
        calls.append(observation)
        observation.model[...] = 0

    records = [
        *(ObserverRecord(f.__name__, "shot", f) for f in (fails, spoils, is_lost)),
        ObserverRecord("leaves", "iteration", leaves),
        ObserverRecord("counts", "shot", calls.append),
    ]
    result = run_inversion(SerialDistributor(), model, tmp_path, records, monkeypatch)
    np.testing.assert_array_equal(result.models[0], expected)
    assert len(calls) == 2 + 6, "a failed observer is not called again, the other one is called six times"
    messages = capfd.readouterr().err.splitlines()
    assert "observer 'fails' failed and is not called again: OSError: the disk of plots is full" in messages
    assert any(line.startswith("observer 'spoils' failed") and "read-only" in line for line in messages)
    assert "observer 'leaves' failed and is not called again: SystemExit: 3" in messages
    assert any(line.startswith("observer 'is_lost' failed") and "Speechless" in line for line in messages)


def test_ctrl_c_in_an_observer_ends_the_run(model, tmp_path, monkeypatch):
    def interrupted(observation):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_inversion(SerialDistributor(), model, tmp_path, [ObserverRecord("bar", "shot", interrupted)], monkeypatch)


def test_the_model_in_an_observation_does_not_change_later(model, tmp_path, monkeypatch):
    remaining = []
    records = [ObserverRecord("keeps", event, lambda o: remaining.append(o.model)) for event in ("start", "iteration")]
    run_inversion(SerialDistributor(), model, tmp_path, records, monkeypatch)
    assert not np.array_equal(*remaining)


def test_each_observer_receives_a_copy():
    """The run later changes its own arrays."""
    observations: list[Observation] = []
    records = [ObserverRecord(name, "iteration", observations.append) for name in ("one", "other")]
    model, gradient = np.ones((2, 3), np.float32), np.ones((2, 3), np.float32)
    Observers(0, records).after_iteration(1, 0.5, 3, model, gradient)
    model[:] = gradient[:] = 2
    assert len(observations) == 2 and not np.shares_memory(observations[0].model, observations[1].model)
    assert all((o.model == 1).all() and (o.gradient == 1).all() for o in observations)


@pytest.mark.parametrize("script", ["torch/fwi_marmousi_dist.py", "jax/fwi_marmousi_pmap.py"])
def test_the_scripts_call_observers_of_plugins(script, model, tmp_path, monkeypatch):
    if script.startswith("jax"):
        pytest.importorskip("jax"), pytest.importorskip("optax")
    messages: list[Observation] = []
    records = tuple(ObserverRecord("list", event, messages.append) for event in ("shot", "start", "iteration"))
    result = attrs.evolve(registry(), observers=records)
    monkeypatch.setattr("sweep_core.inversion.fwi.registry", lambda: result)
    parts = {"model": model, "out": tmp_path, "epochs": 1, "max-shots": 3, "freq": 3, "forward-batchsize": 3}
    monkeypatch.setattr("sys.argv", [script, *(f"--{name}={value}" for name, value in parts.items())])
    runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    assert {(o.event, o.iteration) for o in messages} == {("shot", 0), ("start", 0), ("shot", 1), ("iteration", 1)}
    assert all(
        sorted(n for o in messages if (o.event, o.iteration) == ("shot", i) for n in o.shots) == [0, 1, 2]
        for i in (0, 1)
    )
