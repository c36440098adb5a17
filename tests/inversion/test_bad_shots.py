"""A shot that fails ends the run on every rank with its number, or is left out on all ranks alike."""

import warnings

import attrs
import numpy as np
import pytest
from inverting import DT, NT, SHAPE, SOURCES, call, earth, observed, on_ranks, solver, survey
from shot_tasks import LocalTasks

from sweep_core import DataError, NotFiniteError, SerialDistributor, SweepWarning, UnsupportedError
from sweep_core.distribution import share_texts
from sweep_core.inversion import LBFGS, Objective, Solver, Stage, StopInversion, invert
from sweep_core.inversion.bad_shots import NOT_FINITE
from sweep_core.misfit import least_squares

torch = pytest.importorskip("torch")
pytest.importorskip("zarr")
pytest.importorskip("tqdm")
from sweep_core.io import ObservedStore  # noqa: E402
from sweep_torch import Torch  # noqa: E402

OPTIMISERS = {"L-BFGS": LBFGS(), "Adam": Torch(torch.optim.Adam, shots=2, lr=0.3)}


@pytest.fixture(scope="module")
def data():
    return observed(solver(), [torch.from_numpy(earth()[0])])


def store_of(path, data):
    store = ObservedStore.create(path, data.shape, DT, data.dtype)
    store.write(range(len(data)), data)
    return store


def damaged(path, data):
    """Return a store whose shot 1 is damaged."""
    store = store_of(path, data)
    store.record[1] = 2 * data[1]
    return store


def with_nan(data):
    bad = data.copy()
    bad[1, 5, 4] = np.nan
    return bad


SOURCES_OF_FAILURE = {
    "damaged": damaged,
    "NaN in a store": lambda path, data: store_of(path, with_nan(data)),
    "NaN in an array": lambda path, data: with_nan(data),
}


def skipping(*arguments, **options):
    """Return the result of a call that leaves shots out, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call(*arguments, skip_bad_shots=True, **options)
    return result, [str(each.message) for each in caught if each.category is SweepWarning]


class NanLater:
    """Least squares, but NaN for one shot as soon as the model has changed."""

    version = 1

    def __init__(self, data, shot=1):
        self.data = data[shot]
        self.start = observed(solver(), [torch.tensor(earth()[1])])[shot]

    def __call__(self, synthetic, aim):
        value, slope = least_squares(synthetic, aim)
        is_bad = any(
            np.array_equal(d, self.data) and not np.array_equal(s, self.start)
            for s, d in zip(synthetic, aim, strict=True)
        )
        return (np.nan if is_bad else value), slope


@pytest.mark.parametrize("reduction", ["fast", "ordered"])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_damaged_data_end_every_rank_with_the_number_of_the_shot(ranks, reduction, data, tmp_path):
    store, errors = damaged(tmp_path / "observed.zarr", data), []

    def work(group):
        with pytest.raises(DataError, match=r"shot 1 of .*observed\.zarr is damaged") as error:
            call(store, Stage(1), group=group, reduction=reduction, batch=1)
        errors.append(error)

    on_ranks(ranks, work)
    assert len(errors) == ranks


@pytest.mark.parametrize("reduction", ["fast", "ordered"])
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_all_ranks_leave_the_same_shot_out(optimiser, ranks, reduction, data, tmp_path):
    store = damaged(tmp_path / "observed.zarr", data)
    options = {"optimiser": OPTIMISERS[optimiser], "batch": 1, "skip_bad_shots": True, "reduction": reduction}
    with pytest.warns(SweepWarning, match="shot 1 is left out from now on: shot 1 of .* is damaged"):
        results = on_ranks(ranks, lambda group: call(store, Stage(3), group=group, **options))
        alone = call(with_nan(data), Stage(3), **options)
    for result in results:
        assert list(result.bad_shots) == [1] and "is damaged" in result.bad_shots[1]
        np.testing.assert_array_equal(result.models[0], results[0].models[0])
        np.testing.assert_allclose(result.models[0], alone.models[0], rtol=2e-6)
    if reduction == "ordered":
        np.testing.assert_array_equal(results[0].models[0], alone.models[0])


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("failure", SOURCES_OF_FAILURE)
def test_a_run_leaves_a_bad_shot_out_and_reports_it_once(failure, optimiser, data, tmp_path):
    source = SOURCES_OF_FAILURE[failure](tmp_path / "observed.zarr", data)
    result, texts = skipping(source, Stage(4), optimiser=OPTIMISERS[optimiser])
    assert len(texts) == 1 and texts[0].startswith("shot 1 is left out from now on: ")
    assert list(result.bad_shots) == [1] and "shot 1 left out" in str(result)


def test_a_run_without_a_shot_equals_that_of_the_survey_without_it(data):
    """The misfit is scaled to all shots, so that it compares with steps before a shot failed."""
    shots, good = survey(), [0, 2]
    result, _ = skipping(with_nan(data), Stage(3), precondition=False)
    alone = invert(
        solver(), shots.wavelet, SOURCES[good], shots.receivers, data[good], [earth()[1]], Stage(3), fixed=earth()[2],
        progress=False, precondition=False,
    )  # fmt: skip
    np.testing.assert_allclose(result.models[0], alone.models[0], rtol=1e-5)
    for line, expected in zip(result.history, alone.history, strict=True):
        assert line["misfit"] == pytest.approx(1.5 * expected["misfit"], rel=1e-4)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_a_shot_that_fails_later_is_left_out_from_then_on(optimiser, ranks, data):
    misfit = NanLater(data)
    options = {"optimiser": OPTIMISERS[optimiser], "misfit": misfit, "batch": 1, "skip_bad_shots": True}
    with pytest.warns(SweepWarning, match=f"shot 1 is left out from now on: {NOT_FINITE}"):
        results = on_ranks(ranks, lambda group: call(data, Stage(4), group=group, **options))
    whole = call(data, Stage(4), optimiser=OPTIMISERS[optimiser])
    for result in results:
        assert result.bad_shots == {1: NOT_FINITE}
        assert result.history[0]["misfit"] == pytest.approx(whole.history[0]["misfit"])
        assert result.history[-1]["misfit"] < result.history[0]["misfit"]
        np.testing.assert_array_equal(result.models[0], results[0].models[0])


@pytest.mark.parametrize("stopped", [2, 3])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_a_run_that_continues_leaves_the_shot_out_without_the_option(optimiser, stopped, data, tmp_path):
    """The folder stores the shot. The run comes to the bits of the run that was not interrupted."""

    def stop(state):
        if state.iteration == stopped:
            raise StopInversion

    options = {"optimiser": OPTIMISERS[optimiser], "misfit": NanLater(data), "batch": 1}
    whole, _ = skipping(data, [Stage(4), Stage(1)], **options)
    run = {**options, "folder": tmp_path / "run"}
    first, texts = skipping(data, [Stage(4), Stage(1)], observers=[stop], **run)
    assert list(first.bad_shots) == [1] and len(texts) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", SweepWarning)
        again = call(data, [Stage(4), Stage(1)], **run)
    assert again.bad_shots == whole.bad_shots == {1: NOT_FINITE}
    np.testing.assert_array_equal(again.models[0], whole.models[0])
    assert [line["misfit"] for line in again.history] == [line["misfit"] for line in whole.history]


def test_a_run_that_ended_by_a_bad_shot_continues_with_the_option(data, tmp_path):
    options = {"optimiser": LBFGS(), "misfit": NanLater(data), "folder": tmp_path / "run"}
    with pytest.raises(NotFiniteError, match="gradient is not finite in shot 1, although"):
        call(data, Stage(3), **options)
    result, _ = skipping(data, Stage(3), **options)
    whole, _ = skipping(data, Stage(3), optimiser=LBFGS(), misfit=options["misfit"])
    np.testing.assert_array_equal(result.models[0], whole.models[0])


def test_a_step_whose_only_shot_fails_draws_another_one(data):
    one = Torch(torch.optim.Adam, shots=1, lr=0.3)
    result, texts = skipping(data, Stage(6), optimiser=one, misfit=NanLater(data))
    assert list(result.bad_shots) == [1] and len(texts) == 1
    assert all(np.isfinite(line["misfit"]) for line in result.history)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_a_model_in_which_all_shots_fail_ends_the_run_and_keeps_its_shots(optimiser, data, tmp_path):
    start = observed(solver(), [torch.tensor(earth()[1])])

    def misfit(synthetic, aim):
        value, slope = least_squares(synthetic, aim)
        return (value if all(any(np.array_equal(s, t) for t in start) for s in synthetic) else np.inf), slope

    with pytest.raises(NotFiniteError, match="all 3 shots of the stage fail, so none is left"):
        call(
            data, Stage(2), optimiser=OPTIMISERS[optimiser], misfit=misfit, skip_bad_shots=True, folder=tmp_path / "run"
        )
    assert not (tmp_path / "run/bad_shots.npz").exists()


def test_a_record_that_the_solver_refuses_is_named(data):
    """A solver with check_finite raises an error that knows no number of the shot in the survey."""

    class Refusing(type(solver().executor)):
        def misfit_and_gradient(self, problem, shots, models, observed):
            if (shots.sources == SOURCES[2]).all(axis=-1).any():
                raise NotFiniteError("the record is not finite")
            return super().misfit_and_gradient(problem, shots, models, observed)

    def refusing():
        return Solver(Refusing(), solver().problem)

    with pytest.raises(NotFiniteError, match="^shot 2: the record is not finite"):
        call(data, Stage(1), make=refusing)
    result, _ = skipping(data, Stage(1), make=refusing)
    assert result.bad_shots == {2: "the record is not finite"}


@pytest.mark.parametrize("stage", [Stage(1, encoded=1), Stage(1, coarsen=2, high=8.0)])
def test_stages_that_cannot_leave_a_shot_out_refuse_the_option(stage, data):
    with pytest.raises(UnsupportedError, match="skip_bad_shots is True, but a stage with (encoded|coarsen)"):
        call(data, stage, skip_bad_shots=True)


def test_tasks_leave_a_shot_out(data, tmp_path):
    store = damaged(tmp_path / "observed.zarr", data)
    with pytest.raises(DataError, match="shot 1 of .* is damaged"):
        call(store, Stage(1), group=LocalTasks())
    (tasks, _), (serial, _) = (skipping(store, Stage(2), group=group) for group in (LocalTasks(), None))
    assert tasks.bad_shots == serial.bad_shots
    np.testing.assert_allclose(tasks.models[0], serial.models[0], rtol=1e-5)


def test_devices_of_jax_leave_a_shot_out(data, tmp_path):
    pytest.importorskip("jax")
    from sweep_jax.distribution import DevicesExecutor, local_devices

    def devices():
        return Solver(DevicesExecutor("auto", local_devices(1)), solver().problem)

    store = damaged(tmp_path / "observed.zarr", data)
    with pytest.raises(DataError, match="shot 1 of .* is damaged"):
        call(store, Stage(1), make=devices)
    result, _ = skipping(store, Stage(2), make=devices)
    expected, _ = skipping(store, Stage(2))
    assert result.bad_shots == expected.bad_shots
    np.testing.assert_allclose(result.models[0], expected.models[0], rtol=1e-5)


def test_an_objective_names_damaged_shots_and_sums_the_others(data, tmp_path):
    store = damaged(tmp_path / "observed.zarr", data)
    objective = Objective(solver().executor, solver().problem, survey(), store, group=SerialDistributor())
    with pytest.raises(DataError, match="shot 1 of .* is damaged"):
        objective([earth()[1]])
    whole = attrs.evolve(objective, observed=data)
    assert objective([earth()[1]], [0, 2])[0] == whole([earth()[1]], [0, 2])[0]
    assert data.shape[1] == NT and earth()[1].shape == SHAPE


def test_texts_of_single_ranks_reach_every_rank():
    own = [{4: "four", 0: ""}, {1: "éins"}, {}]
    for texts in on_ranks(3, lambda group: share_texts(group, own[group.rank], 5)):
        assert texts == {1: "éins", 4: "four"}
    assert share_texts(SerialDistributor(), {}, 0) == {}
