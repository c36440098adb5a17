"""A survey is modelled by all ranks into one store, and continued where it stopped."""

import attrs
import numpy as np
import pytest
from inverting import DT, NT, SHAPE, call, earth, on_ranks, survey

from sweep_core import (
    Acoustic,
    CheckpointError,
    DomainError,
    NotFiniteError,
    SerialDistributor,
    StorageError,
    backend,
    make_problem,
)
from sweep_core.inversion import (
    Settings,
    Solver,
    Stage,
    arguments_of,
    conclude,
    invert,
    make_solver,
    model_survey,
    observe,
)

pytest.importorskip("zarr")
from sweep_core.io import ObservedStore, faulted_model, write_prepared

TRUE, SHOTS = earth()[0], survey()


@attrs.frozen(slots=False)
class Counting:
    """The executor of a backend, which counts the shots that it models, and fails at one of them."""

    calls: list
    fails: int = -1
    error: BaseException | None = None
    name: str = "reference"

    def forward(self, problem, shots, models):
        for x in shots.sources[:, 0]:
            number = SHOTS.sources[:, 0].tolist().index(x)
            if number == self.fails:
                raise self.error
            self.calls.append(number)
        return backend("reference").forward(problem, shots, models)


def solver(**options):
    return Solver(Counting([], **options), make_problem(Acoustic(), SHAPE, 20.0, DT, pml_width=8))


def model(path, own=None, models=(TRUE,), **options):
    own = own or solver()
    return model_survey(path, own, SHOTS.wavelet, SHOTS.sources, SHOTS.receivers, list(models), **options)


@pytest.fixture(scope="module")
def expected():
    plain = solver()
    return backend("reference").forward(plain.problem, SHOTS, [TRUE]).astype(np.float32)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_every_rank_models_its_own_shots(ranks, expected, tmp_path):
    solvers = [solver() for _ in range(ranks)]
    stores = on_ranks(ranks, lambda g: model(tmp_path / "survey.zarr", solvers[g.rank], group=g, batch=1))
    for store in stores:
        np.testing.assert_array_equal(store[:], expected)
        assert (store.dtype, store.dt, store.shape) == (np.float32, DT, (3, NT, 18, 1))
    assert [each.executor.calls for each in solvers] == {
        1: [[0, 1, 2]], 2: [[0], [1, 2]], 3: [[0], [1], [2]], 4: [[], [0], [1], [2]]
    }[ranks]  # fmt: skip


def test_costs_share_the_shots(tmp_path):
    solvers = [solver() for _ in range(2)]
    on_ranks(2, lambda g: model(tmp_path / "survey.zarr", solvers[g.rank], group=g, costs=[1.0, 1.0, 3.0]))
    assert [each.executor.calls for each in solvers] == [[2], [0, 1]]


def test_masked_receivers_record_zero(expected, tmp_path):
    mask = np.random.default_rng(2).random((3, 18)) > 0.3
    store = model(tmp_path / "survey.zarr", receiver_mask=mask)
    np.testing.assert_array_equal(store[:], np.where(mask[:, None, :, None], expected, 0))


def test_only_missing_shots_are_modelled_again(expected, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        model(tmp_path / "survey.zarr", solver(fails=1, error=KeyboardInterrupt()), batch=1)
    assert ObservedStore.open(tmp_path / "survey.zarr").missing().tolist() == [1, 2]
    solvers = [solver() for _ in range(2)]
    store, _ = on_ranks(2, lambda g: model(tmp_path / "survey.zarr", solvers[g.rank], group=g))
    assert [each.executor.calls for each in solvers] == [[1], [2]]
    np.testing.assert_array_equal(store[:], expected)
    complete = solver()
    model(tmp_path / "survey.zarr", complete)
    assert not complete.executor.calls


def test_another_survey_is_refused_with_the_difference_or_overwritten(expected, tmp_path):
    path = tmp_path / "survey.zarr"
    model(path, models=[TRUE + 1])
    with pytest.raises(CheckpointError, match=r"survey\.zarr holds the data of another survey: models was"):
        model(path)
    np.testing.assert_array_equal(model(path, overwrite=True)[:], expected)
    again = solver()
    model(path, again, overwrite=True)
    assert not again.executor.calls, "the data of this survey are used"


def test_a_store_of_field_data_is_never_overwritten(tmp_path):
    field = ObservedStore.create(tmp_path / "field.zarr", (3, NT, 18, 1), DT)
    field.write([0], np.ones((1, NT, 18, 1), np.float32))
    for overwrite in (False, True):
        with pytest.raises(CheckpointError, match="not modelled by model_survey"):
            model(tmp_path / "field.zarr", overwrite=overwrite)
    assert field.missing().tolist() == [1, 2]


@pytest.mark.parametrize("error", [NotFiniteError("a NaN"), StorageError("the disk is full")])
def test_a_failure_of_one_rank_ends_all(error, tmp_path):
    solvers = [solver(), solver(fails=2, error=error)]
    raised = []

    def work(group):
        try:
            model(tmp_path / "survey.zarr", solvers[group.rank], group=group, batch=1)
        except Exception as problem:
            raised.append((group.rank, problem))

    on_ranks(2, work)
    (_, first), (_, second) = sorted(raised, key=lambda each: each[0])
    assert type(first) is type(error) and str(first) == f"rank 1 of 2: {type(error).__name__}: {error}"
    assert second is error
    assert ObservedStore.open(tmp_path / "survey.zarr").missing().tolist() == [2]


def test_a_record_that_is_not_finite_is_named_and_not_stored(tmp_path, monkeypatch):
    plain = solver()
    record = backend("reference").forward(plain.problem, SHOTS, [TRUE])
    record[1, 7] = np.nan
    monkeypatch.setattr(Counting, "forward", lambda self, problem, shots, models: record)
    with pytest.raises(NotFiniteError, match="record of shot 1 is not finite"):
        model(tmp_path / "survey.zarr", plain)
    assert ObservedStore.open(tmp_path / "survey.zarr").missing().tolist() == [0, 1, 2]


def test_wrong_arguments_leave_no_store(tmp_path):
    with pytest.raises(DomainError, match="model vp holds NaN"):
        model(tmp_path / "survey.zarr", models=[TRUE * np.nan])
    assert not (tmp_path / "survey.zarr").exists()


def test_an_inversion_reads_a_modelled_survey(expected, tmp_path):
    pytest.importorskip("torch")
    store = model(tmp_path / "survey.zarr")
    np.testing.assert_array_equal(call(store, Stage(1)).models[0], call(expected, Stage(1)).models[0])


# --- scripts ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return write_prepared(tmp_path_factory.mktemp("model") / "small.npz", faulted_model((24, 40), 40.0, seed=3))


def run_script(prepared, out, how, group=None, **options):
    """Return (closing lines without the time, model) of the steps of an inversion script."""
    torch = pytest.importorskip("torch")
    from sweep_torch import PropTorch, Torch

    settings = Settings(
        model=prepared, out=out, epochs=1, max_shots=5, batchsize=3, freq=3.0, forward_batchsize=2, **options
    )
    ranks, own = group or SerialDistributor(), make_solver(settings, "torch", PropTorch)
    observed = observe(settings, own, ranks, how)
    adam = Torch(torch.optim.Adam, shots=settings.shots_per_step, lr=1.0)
    inverted = invert(own, **arguments_of(settings, own, observed), optimiser=adam, group=ranks, progress=False)
    return conclude(settings, own, observed, inverted, ranks).rpartition(",")[0], inverted.models[0]


def test_a_script_with_a_store_comes_to_the_same_bits(prepared, tmp_path):
    text, vp = run_script(prepared, tmp_path / "array", "slices", reduction="ordered")
    stored_text, stored = run_script(prepared, tmp_path / "store", "store", reduction="ordered")
    two = on_ranks(2, lambda g: run_script(prepared, tmp_path / "two", "store", g, reduction="ordered"))
    for other_text, other in ((stored_text, stored), *two):
        np.testing.assert_array_equal(other, vp)
        assert other_text == text
    assert (tmp_path / "store/observed_data.png").exists() and (tmp_path / "store/observed.zarr").is_dir()


def test_a_script_continues_its_modelling_and_keeps_the_data_of_its_survey(prepared, tmp_path, monkeypatch):
    first = run_script(prepared, tmp_path, "store")
    ObservedStore.open(tmp_path / "observed.zarr").checksum[3] = 0  # as if the writer of this shot had been killed
    written, write = [], ObservedStore.write

    def record_write(self, shots, record):
        written.extend(shots)
        write(self, shots, record)

    monkeypatch.setattr(ObservedStore, "write", record_write)
    again = run_script(prepared, tmp_path, "store", overwrite=True)
    assert written == [3] and again[0] == first[0]
    np.testing.assert_array_equal(again[1], first[1])


def test_a_script_with_another_survey_refuses_the_data_of_the_first(prepared, tmp_path):
    other = Settings(model=prepared, out=tmp_path, max_shots=4, freq=3.0)
    own = make_solver(
        other, "reference", lambda equation, **grid: Solver(backend("reference"), make_problem(equation, **grid))
    )
    observe(attrs.evolve(other, max_shots=5), own, SerialDistributor(), "store")
    with pytest.raises(CheckpointError, match="another survey: sources was"):
        observe(other, own, SerialDistributor(), "store")
    assert len(observe(attrs.evolve(other, overwrite=True), own, SerialDistributor(), "store")) == 4
