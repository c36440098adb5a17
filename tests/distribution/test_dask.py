"""Shots on a Dask cluster: the serial gradient, the same bits on any workers, and nothing lost with a worker."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import attrs
import numpy as np
import pytest
from shot_tasks import Deadly, Failing, LocalTasks, Slow, Traced, class_name, objective

import sweep_core
from sweep_core import Acoustic, DistributedError, OptionError, ShapeError, StorageError, native
from sweep_core.inversion import LBFGS, Settings, Solver, Stage, arguments_of, conclude, invert, make_solver, observe
from sweep_core.inversion.tasks import part_of
from sweep_core.testing.cases import case
from sweep_core.testing.distributors import distributes

pytest.importorskip("distributed", reason="distributed is not installed: pip install plugins/dask")
pytest.importorskip("sweep_dask", reason="sweep-dask is not installed: pip install plugins/dask")
from distributed import Client, LocalCluster
from sweep_dask import DaskDistributor, DaskExecutor

pytestmark = pytest.mark.skipif(
    not native.supports(Acoustic(), 2, "cpu") and not os.environ.get("SWEEP_REQUIRE_NATIVE"),
    reason="needs the compiled library",
)


@pytest.fixture(scope="module")
def cluster():
    """One cluster for all tests; most of its workers never import torch, which takes seconds."""
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    cluster.scheduler.allowed_failures = 1
    yield cluster
    with suppress(KeyError):  # Dask may retire a worker that a test killed (dask/distributed issue 5919)
        cluster.close()


@pytest.fixture(scope="module")
def client(cluster):
    with Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture
def group(client):
    """Two workers."""
    return on_workers(client, 2)


def on_workers(client, count):
    """Return the distributor of a cluster that has `count` workers.

    A worker that is killed while it starts may end its nanny, so the cluster is emptied and filled again.
    """
    for _ in range(3):
        client.cluster.scale(count)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if len(client.scheduler_info(n_workers=-1)["workers"]) == count:
                return DaskDistributor(client)
            time.sleep(0.05)
        client.cluster.scale(0)
    pytest.fail(f"the cluster has no {count} workers: {client.scheduler_info(n_workers=-1)['workers']}")


def pids(group):
    return sorted(group.client.run(os.getpid).values())


def same(result, expected):
    (misfit, gradients), (total, sums) = result, expected
    return misfit == total and all(np.array_equal(g, s) for g, s in zip(gradients, sums, strict=True))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_any_workers_give_the_serial_gradient_and_the_same_bits(client, workers):
    """The sum in a tree has the bits of the same tree in this process, the ordered sum those of a serial run."""
    group = on_workers(client, workers)
    for nshots in (1, 2, 5, 7):
        serial, models = objective(nshots, misfit="envelope", low=2.0, high=30.0)
        result, (misfit, (gradient,)) = attrs.evolve(serial, group=group)(models), serial(models)
        assert result[0] == pytest.approx(misfit, rel=1e-12)
        assert np.abs(result[1][0] - gradient).max() < 1e-12 * np.abs(gradient).max()
        assert same(result, attrs.evolve(serial, group=LocalTasks())(models))
        ordered = attrs.evolve(serial, reduction="ordered")
        assert same(attrs.evolve(ordered, group=group)(models), ordered(models))


def test_the_laws_of_a_distributor_hold(group):
    assert all(result.status == "held" for result in distributes(group))


def inversion(group, **options):
    """Return the result of some steps of L-BFGS."""
    serial, start = objective(5)
    solver, shots = Solver(serial.executor, serial.problem), serial.shots
    arguments = shots.wavelet, shots.sources, shots.receivers, serial.observed, start, Stage(3)
    return invert(solver, *arguments, optimiser=LBFGS(), group=group, progress=False, **options)


def test_an_inversion_continues_on_a_cluster_from_a_serial_run_and_back(group, tmp_path):
    """Ordered sums have the same bits with and without a cluster, so the run in a folder is the same run."""
    expected = inversion(None, reduction="ordered")
    for number, (first, second) in enumerate([(None, group), (group, None)]):
        folder = tmp_path / str(number)
        inversion(first, reduction="ordered", folder=folder, observers=[stop_after_one])
        continued = inversion(second, reduction="ordered", folder=folder)
        assert np.array_equal(continued.models[0], expected.models[0])


def stop_after_one(observation):
    from sweep_core.inversion import StopInversion

    raise StopInversion


def kill_a_worker(group):
    os.kill(pids(group)[0], signal.SIGKILL)


@pytest.mark.parametrize("reduction", ["fast", "ordered"])
def test_a_worker_killed_within_a_shot_changes_no_bit(group, tmp_path, reduction):
    serial, models = objective(5, reduction=reduction)
    expected = attrs.evolve(serial, group=LocalTasks())(models)
    assert same(attrs.evolve(serial, group=group, misfit=Deadly(tmp_path))(models), expected)
    assert (tmp_path / "killed").exists()


def test_a_worker_killed_between_steps_changes_no_bit(group):
    """The data of its shots are sent again to another worker."""
    serial, models = objective(5)
    tasks = attrs.evolve(serial, group=group)
    expected = tasks(models)
    kill_a_worker(group)
    assert same(tasks(models), expected)


@pytest.mark.parametrize("delay", np.random.default_rng(0).uniform(0, 0.4, 3).round(3).tolist())
def test_a_worker_killed_at_a_random_moment_changes_no_bit(group, tmp_path, delay):
    serial, models = objective(7, reduction="ordered", misfit=Slow(tmp_path, 0.1))
    expected = serial(models)
    timer = threading.Timer(delay, os.kill, (pids(group)[0], signal.SIGKILL))
    timer.start()
    assert same(attrs.evolve(serial, group=group)(models), expected)
    timer.join()


def test_workers_import_the_modules_of_tasks_as_they_join(client):
    """Two threads of a worker that import a package and a module of it at the same time would raise an error."""
    on_workers(client, 1)
    client.cluster.scale(2)
    client.wait_for_workers(2, timeout=30)
    imported = client.run(lambda: "sweep_core.inversion.tasks" in sys.modules)
    assert list(imported.values()) == [True, True]


def test_a_shot_that_ends_every_worker_is_named(group):
    tasks, models = objective(1, group=group, misfit=Deadly())
    with pytest.raises(DistributedError, match="shot 0 was lost with each of 2 workers, the last of which was tcp"):
        tasks(models)


def test_a_worker_that_joins_takes_tasks(client, tmp_path):
    group = on_workers(client, 1)
    tasks, models = objective(7, group=group, misfit=Slow(tmp_path, 1.0))
    timer = threading.Timer(0.5, client.cluster.scale, (2,))
    timer.start()
    tasks(models)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        (ZeroDivisionError("no trace"), DistributedError, "^shot 3 failed with ZeroDivisionError: no trace"),
        (StorageError("a full disk"), StorageError, "^shot 3: a full disk"),
    ],
)
def test_the_error_of_a_shot_is_raised_here_with_its_number(group, error, expected, message):
    serial, models = objective(5, group=group)
    tasks = attrs.evolve(serial, misfit=Failing(serial.target(np.array([3]))[0], error))
    with pytest.raises(expected, match=message):
        tasks(models)


def test_the_errors_of_all_shots_are_raised_as_one(group):
    serial, models = objective(5, group=group)
    with pytest.raises(ShapeError, match="^shot [0-4]: model vp has shape"):
        serial([models[0][1:]])


def test_a_worker_gets_the_data_of_its_shots_once(group):
    """Steps after the first send models and tasks alone."""
    sent = []

    class Counted(DaskDistributor):
        def place(self, value):
            sent.append(value)
            return super().place(value)

    tasks, models = objective(5, group=Counted(group.client))
    for _ in range(3):
        tasks(models)
    assert sum(type(value) is type(tasks) for value in sent) == 5 and len(sent) == 5 + 3 * 2
    assert part_of(tasks, np.array([2])).observed.nbytes == tasks.observed.nbytes // 5


def test_the_scheduler_unpickles_no_value(group, tmp_path):
    """The scheduler, which is in this process, may lack torch and the user's modules."""
    handle = group.place(Traced(tmp_path))
    assert group.fetch([group.call("names", class_name, handle)]) == ["Traced"]
    assert {file.name for file in tmp_path.iterdir()} <= set(map(str, pids(group)))


@pytest.fixture(scope="module")
def executor(client):
    pytest.importorskip("torch")
    on_workers(client, 1)
    return DaskExecutor("torch", client, impl="c")


def test_the_backend_equals_that_of_its_workers(executor):
    setup, own = case(nshots=3), sweep_core.backend("torch", impl="c")
    call = setup.problem, setup.shots, setup.models
    assert isinstance(executor, sweep_core.Executor)
    assert "1 Dask workers of backend 'torch': libsweep_cpu" in executor.supports(setup.problem).reason
    record = executor.forward(*call)
    assert np.array_equal(record, own.forward(*call))
    assert np.array_equal(executor.born(*call, setup.direction()), own.born(*call, setup.direction()))
    misfit, (gradient,) = executor.misfit_and_gradient(*call, record - setup.noise())
    expected, (slope,) = own.misfit_and_gradient(*call, record - setup.noise())
    assert misfit == pytest.approx(float(expected), rel=1e-13)
    pulled = executor.pullback(*call)[1](setup.noise())[0]
    slope = slope.numpy()
    assert all(np.abs(x - slope).max() < 1e-12 * np.abs(slope).max() for x in (gradient, pulled))
    with pytest.raises(ShapeError, match="the cotangent has shape"):
        executor.pullback(*call)[1](record[:1])
    none = attrs.evolve(setup.shots, wavelet=setup.shots.wavelet[:0], sources=setup.shots.sources[:0])
    assert executor.forward(setup.problem, none, setup.models).shape[0] == 0


def test_a_script_inverts_on_a_cluster_by_its_options(executor, cluster, tmp_path):
    options = f"cluster={cluster.scheduler_address}, backend=torch, impl=c"
    arguments = ["--backend", "dask", "--backend-options", options, "--max-shots", "3", "--epochs", "1"]
    settings = Settings.read("a script", [*arguments, "--freq", "3", "--out", str(tmp_path / "run")])
    solver, group = make_solver(settings, "torch", partial), sweep_core.SerialDistributor()
    assert solver.executor.name == "dask" and "workers of backend 'torch'" in solver.explain()
    observed = observe(settings, solver, group)
    values = arguments_of(settings, solver, observed) | {"observers": [], "progress": False}
    inverted = invert(solver, **values, optimiser=LBFGS(), group=group)
    assert "misfit from" in conclude(settings, solver, observed, inverted, group)
    assert inverted.history[-1]["misfit"] < inverted.history[0]["misfit"]
    solver.executor.group.client.close()
    with pytest.raises(DistributedError, match="the client of the Dask scheduler is closed"):
        solver.executor.forward(solver.problem, settings.experiment.shots, inverted.models)


def test_several_ranks_with_clusters_of_their_own_are_refused(executor):
    two = SimpleNamespace(rank=0, size=2)
    with pytest.raises(
        OptionError, match="group is SimpleNamespace of 2 ranks, and backend 'dask' has a group of its own"
    ):
        observe(Settings(max_shots=1), Solver(executor, case().problem), two)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cluster": 5}, "cluster is 5; expected a cluster of Dask, a distributed.Client, or the address"),
        ({"workers": 0}, "workers is 0; expected a whole number from 1 on"),
        ({"cluster": "tcp://127.0.0.1:9", "workers": 2}, "workers is 2, which counts those of the default cluster"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(OptionError, match=message):
        DaskDistributor(**arguments)


def test_a_scheduler_that_does_not_answer_is_named():
    with pytest.raises(DistributedError, match="no Dask scheduler answers at tcp://127.0.0.1:9 .*; start one"):
        DaskDistributor("tcp://127.0.0.1:9", timeout=0.2)


def test_a_scheduler_without_workers_is_named():
    with (
        LocalCluster(n_workers=0, dashboard_address=None, processes=False) as empty,
        pytest.raises(DistributedError, match="no worker has joined .* within 0.2 s; start workers"),
    ):
        DaskDistributor(empty, timeout=0.2)


MISSING = """
import sys
sys.modules["distributed"] = None
import sweep_core
assert "dask" not in sys.modules
for make in (sweep_core.distributor, sweep_core.backend):
    try:
        make("dask")
    except sweep_core.PluginError as error:
        print(error)
"""


def test_a_missing_dask_is_reported_by_name():
    printed = subprocess.run([sys.executable, "-c", MISSING], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == [
        f"{kind} 'dask' cannot be used: requires distributed, which is not installed"
        for kind in ("distributor", "backend")
    ]
