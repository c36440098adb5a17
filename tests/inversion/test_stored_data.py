"""An inversion reads its observed data from a store, shot by shot, and comes to the bits of an inversion of an array."""

import threading
import time
import tracemalloc

import numpy as np
import pytest
from inverting import DT, NT, SOURCES, call, earth, observed, on_ranks, solver, survey

from sweep_core import (
    CheckpointError,
    DataError,
    DistributedError,
    DomainError,
    ShapeError,
    UnsupportedError,
    backend,
)
from sweep_core.inversion import LBFGS, Objective, Stage, invert, migrate
from sweep_core.inversion.observed_data import StoredData
from sweep_core.misfit import envelope

torch = pytest.importorskip("torch")
pytest.importorskip("zarr")
pytest.importorskip("tqdm")
from sweep_core.io import ObservedStore  # noqa: E402
from sweep_torch import Torch  # noqa: E402

MASK = np.random.default_rng(2).random((3, 18)) > 0.3
WEIGHTS = np.random.default_rng(1).random((3, NT, 18, 1)).astype(np.float32)


@pytest.fixture(scope="module")
def data():
    return observed(solver(), [torch.from_numpy(earth()[0])])


def store_of(path, data, shots=None, **options):
    store = ObservedStore.create(path, data.shape, options.pop("dt", DT), data.dtype, **options)
    store.write(range(len(data)) if shots is None else shots, data if shots is None else data[shots])
    return store


@pytest.fixture
def store(data, tmp_path):
    return store_of(tmp_path / "observed.zarr", data)


def eager():
    return solver(impl="eager")


OPTIMISERS = {"L-BFGS": LBFGS(), "Adam": Torch(torch.optim.Adam, shots=2, lr=0.3)}
OPTIONS = {
    "plain": {},
    "mask": {"receiver_mask": MASK},
    "weights, filter and misfit": {"weights": WEIGHTS, "misfit": envelope},
    "ordered": {"reduction": "ordered"},
    "costs": {"costs": [3.0, 1.0, 1.0]},
}


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("options", OPTIONS)
def test_a_store_gives_the_bits_of_an_array(options, optimiser, ranks, data, store):
    stage = Stage(2, low=2.0, high=9.0) if "filter" in options else Stage(2)
    arguments = {"optimiser": OPTIMISERS[optimiser], "batch": 1, **OPTIONS[options]}
    whole, parts = (
        on_ranks(ranks, lambda group, source=source: call(source, stage, group=group, **arguments))
        for source in (data, store)
    )
    for array, stored in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(stored.models[0], array.models[0])
        assert [line["misfit"] for line in stored.history] == [line["misfit"] for line in array.history]
    assert not np.array_equal(whole[0].models[0], earth()[1])


def test_other_paths_of_the_backend_give_the_bits_of_an_array(data, store):
    whole, stored = (call(source, Stage(1), make=eager) for source in (data, store))
    np.testing.assert_array_equal(stored.models[0], whole.models[0])


def test_encoded_shots_of_a_store_give_the_model_of_an_array(data, store):
    """The sums of the shots differ by rounding."""
    whole, stored = (call(source, Stage(2, encoded=2)) for source in (data, store))
    np.testing.assert_allclose(stored.models[0], whole.models[0], rtol=0, atol=0.1)
    assert stored.history[0]["misfit"] == pytest.approx(whole.history[0]["misfit"], rel=1e-5)


def test_a_migration_reads_a_store(data, store):
    shots = survey()
    images = [
        migrate(solver(), shots.wavelet, shots.sources, shots.receivers, source, [earth()[1]], batch=2)
        for source in (data, store)
    ]
    np.testing.assert_array_equal(*images)


def test_data_of_another_dtype_are_converted(data, tmp_path):
    store = store_of(tmp_path / "float64.zarr", data.astype(np.float64))
    np.testing.assert_array_equal(call(store, Stage(1)).models[0], call(data, Stage(1)).models[0])


def test_the_reference_computes_the_record_of_an_objective_from_a_store(data, store):
    problem = solver().problem
    objective = Objective(backend("reference"), problem, survey(), store, batch=2)
    array = Objective(backend("reference"), problem, survey(), data, batch=2)
    record, some = objective.record([earth()[1]], [1]), np.array([1])
    value, slope = objective.compare(record, some)
    expected_value, expected_slope = array.compare(record, some)
    assert value == expected_value > 0
    np.testing.assert_array_equal(slope, expected_slope)


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_a_missing_shot_is_refused_by_its_number_before_anything_is_computed(data, tmp_path, monkeypatch):
    store = store_of(tmp_path / "observed.zarr", data, [0, 2])
    monkeypatch.setattr("sweep_core.inversion.objective.Objective.__call__", lambda *_: pytest.fail("computed"))
    with pytest.raises(DataError, match=r"stage 1: .* lacks shots 1; expected"):
        call(store, Stage(1))


def test_shots_that_no_stage_uses_may_be_missing(data, tmp_path):
    store = store_of(tmp_path / "observed.zarr", data, [0, 2])
    whole = call(data, Stage(1, shots=2))
    np.testing.assert_array_equal(call(store, Stage(1, shots=2)).models[0], whole.models[0])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_refused_with_its_shot(value, data, tmp_path):
    bad = data.copy()
    bad[2, 5, 4] = value
    with pytest.raises(DataError, match=r"NaN or infinite values in shot 2 of .*observed\.zarr"):
        call(store_of(tmp_path / "observed.zarr", bad), Stage(1))


def test_samples_of_masked_receivers_may_be_nan(data, tmp_path):
    bad = np.where(MASK[:, None, :, None], data, np.nan).astype(np.float32)
    store = store_of(tmp_path / "observed.zarr", bad)
    result = call(store, Stage(1), receiver_mask=MASK)
    np.testing.assert_array_equal(result.models[0], call(data, Stage(1), receiver_mask=MASK).models[0])


def test_a_store_of_zeros_is_refused(data, tmp_path):
    with pytest.raises(DataError, match="zero throughout"):
        call(store_of(tmp_path / "observed.zarr", np.zeros_like(data)), Stage(1))


def test_another_shape_or_interval_is_refused(data, tmp_path):
    with pytest.raises(ShapeError, match=r"observed has shape \(3, 260, 17, 1\); expected \(3, 260, 18, 1\)"):
        call(store_of(tmp_path / "short.zarr", np.ascontiguousarray(data[:, :, 1:])), Stage(1))
    with pytest.raises(DomainError, match=r"dt of .*fine\.zarr is 0.001 s; expected 0.002 s"):
        call(store_of(tmp_path / "fine.zarr", data, dt=DT / 2), Stage(1))


def test_a_stage_on_a_coarser_grid_is_refused(store):
    with pytest.raises(UnsupportedError, match="stage 2: observed is the store .*leave coarsen out"):
        call(store, [Stage(1), Stage(1, high=6.0, coarsen=2)])


def test_a_damaged_shot_ends_the_inversion_with_its_number(store):
    chunk = store.path / "record/c/1/0/0/0"
    (store.path / "record/c/0/0/0/0").replace(chunk)
    with pytest.raises(DataError, match="shot [01] of .* is damaged"):
        call(store, Stage(1))


# --- what is read -----------------------------------------------------------------------------------------------------


@pytest.fixture
def reads(monkeypatch):
    """Return the list of (store, shot) of each shot that is read."""
    result, read = [], ObservedStore._read

    def record_read(self, shot):
        result.append((self, shot))
        return read(self, shot)

    monkeypatch.setattr(ObservedStore, "_read", record_read)
    return result


@pytest.mark.parametrize("reduction", ["fast", "ordered"])
def test_a_rank_reads_only_its_shots(reduction, store, reads):
    own = [ObservedStore.open(store.path) for _ in range(2)]
    on_ranks(2, lambda group: call(own[group.rank], Stage(2), group=group, batch=2, reduction=reduction))
    assert [{shot for each, shot in reads if each is one} for one in own] == [{0}, {1, 2}]


def test_a_step_reads_the_shots_that_it_draws(store, reads):
    call(store, Stage(1, shots=2), optimiser=Torch(torch.optim.Adam, shots=1, lr=0.3), precondition=False)
    assert {shot for _, shot in reads} == {0, 2}
    assert len(reads) <= 2 + 1 + 1  # the start, the step, and a read in advance


class Slow:
    """A store whose reads wait for `gate`."""

    def __init__(self, store):
        self.store, self.gate, self.begun = store, threading.Semaphore(0), []
        self.shape, self.dtype, self.path, self.dt = store.shape, store.dtype, store.path, store.dt

    def __getitem__(self, shots):
        self.begun.append(shots.tolist())
        assert self.gate.acquire(timeout=20)
        return self.store[shots]


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_the_next_batch_is_read_while_the_current_one_computes(data, store):
    slow = Slow(store)
    stored, batches = StoredData(slow, np.float32), [np.array([n]) for n in range(3)]
    stored.expect_step([np.array([2]), np.array([0])])
    stored.expect(batches)
    for n, batch in enumerate(batches):
        wait_for(lambda n=n: len(slow.begun) == n + 1)
        slow.gate.release()
        np.testing.assert_array_equal(stored[batch], data[batch])
    wait_for(lambda: slow.begun == [[0], [1], [2], [2]])  # the first batch of the next step, but no second one
    stored.expect([np.array([2]), np.array([0])])
    slow.gate.release(2)
    np.testing.assert_array_equal(stored[np.array([2])], data[[2]])
    np.testing.assert_array_equal(stored[np.array([0])], data[[0]])
    assert slow.begun == [[0], [1], [2], [2], [0]]


def test_a_batch_that_was_not_announced_is_read_at_once(data, store):
    stored = StoredData(store, np.float32)
    stored.expect([np.array([0]), np.array([1])])
    np.testing.assert_array_equal(stored[np.array([2, 1])], data[[2, 1]])
    np.testing.assert_array_equal(stored[np.array([0])], data[[0]])


def test_an_error_of_the_reading_thread_is_raised_where_the_shot_is_used(data, tmp_path):
    stored = StoredData(store_of(tmp_path / "observed.zarr", data, [0, 2]), np.float32)
    stored.expect([np.array([0]), np.array([1])])
    np.testing.assert_array_equal(stored[np.array([0])], data[[0]])
    with pytest.raises(DataError, match="shot 1 of .* was not written"):
        stored[np.array([1])]


def test_few_shots_are_in_memory_at_once(tmp_path):
    """A survey of 160 shots of 1.3 MB each, of which every step and the start use all."""
    nrec, nshots = 1250, 160
    receivers = np.stack([np.resize(np.arange(36), nrec), np.full(nrec, 3)], axis=1)
    store = ObservedStore.create(tmp_path / "observed.zarr", (nshots, NT, nrec, 1), DT)
    gather = np.zeros((1, NT, nrec, 1), np.float32)
    gather[:, 100] = 1e-3
    for shot in range(nshots):
        store.write([shot], gather)
    sources = np.resize(SOURCES, (nshots, 2))
    shots = survey()
    adam = Torch(torch.optim.Adam, shots=2, lr=0.3)
    tracemalloc.start()
    try:
        invert(
            solver(), shots.wavelet, sources, receivers, store, [earth()[1]], Stage(2), optimiser=adam, batch=1,
            folder=tmp_path / "run", precondition=False, progress=False,
        )  # fmt: skip
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12 * gather.nbytes < store.nbytes / 10


# --- continuing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_a_killed_inversion_continues_from_a_store_to_the_same_bits(optimiser, data, store, tmp_path):
    arguments = {"optimiser": OPTIMISERS[optimiser], "stages": Stage(4)}
    whole = call(data, **arguments)

    def stop(observation):
        if observation.iteration == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call(store, **arguments, folder=tmp_path / "run", observers=[stop])
    again = call(ObservedStore.open(store.path), **arguments, folder=tmp_path / "run")
    np.testing.assert_array_equal(again.models[0], whole.models[0])


def test_a_run_does_not_continue_with_other_data(data, store, tmp_path):
    call(store, Stage(1), folder=tmp_path / "run")
    same = store_of(tmp_path / "copy.zarr", data)
    call(same, Stage(1), folder=tmp_path / "run")
    store.write([1], 2 * data[[1]])
    with pytest.raises(CheckpointError, match="observed was"):
        call(store, Stage(1), folder=tmp_path / "run")


def test_ranks_with_different_stores_are_refused(data, store, tmp_path):
    other = store_of(tmp_path / "other.zarr", 2 * data)
    with pytest.raises(DistributedError, match="observed is"):
        on_ranks(2, lambda group: call([store, other][group.rank], Stage(1), group=group))
