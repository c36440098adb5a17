"""An objective whose shots are tasks equals the serial one: misfit, gradient, record, image and bad shots."""

import os

import attrs
import numpy as np
import pytest
from shot_tasks import LocalTasks, objective

from sweep_core import OptionError, SerialDistributor, native
from sweep_core.distribution import ElasticDistributor, is_elastic, tree_sum
from sweep_core.equations import Acoustic
from sweep_core.inversion import illumination
from sweep_core.inversion.bad_shots import NOT_FINITE, find_bad_shots
from sweep_core.inversion.coarse import on_coarser_grid
from sweep_core.inversion.objective import make_objective
from sweep_core.inversion.tasks import group_of, part_of
from sweep_core.testing.cases import case

pytestmark = pytest.mark.skipif(
    not native.supports(Acoustic(), 2, "cpu") and not os.environ.get("SWEEP_REQUIRE_NATIVE"),
    reason="needs the compiled library",
)
CHOICES = {
    "least squares": {},
    "a misfit and a filter": {"misfit": "envelope", "low": 2.0, "high": 30.0},
    "two shots at once": {"batch": 2},
}


def pair(nshots=5, **options):
    """Return the serial objective, that of tasks, and models."""
    serial, models = objective(nshots, **options)
    return serial, attrs.evolve(serial, group=LocalTasks()), models


def error(x, expected):
    return np.abs(x - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize("nshots", [1, 2, 5, 7])
@pytest.mark.parametrize("options", CHOICES.values(), ids=CHOICES)
def test_the_gradient_of_tasks_equals_the_serial_one(nshots, options):
    serial, tasks, models = pair(nshots, **options)
    (misfit, gradients), (expected, slopes) = tasks(models), serial(models)
    assert misfit == pytest.approx(expected, rel=1e-13)
    assert all(error(g, s) < 1e-12 for g, s in zip(gradients, slopes, strict=True))


@pytest.mark.parametrize("nshots", [1, 2, 5, 7])
def test_an_ordered_sum_of_tasks_has_the_serial_bits(nshots):
    serial, tasks, models = pair(nshots, reduction="ordered")
    calls = []
    misfit, (gradient,) = tasks(models, after=lambda shots, value: calls.append((*shots, value)))
    expected, (slope,) = serial(models)
    assert misfit == expected and np.array_equal(gradient, slope)
    assert [shot for shot, _ in calls] == list(range(nshots)) and sum(v for _, v in calls) == pytest.approx(misfit)


def test_an_ordered_sum_whose_first_shot_is_small_has_the_serial_bits():
    """The scale of the first shot is too small for the second, so the tasks run with a larger scale."""
    serial, _, models = pair(3, reduction="ordered")
    weights = serial.weights.copy()
    weights[0] *= 1e-6
    serial = attrs.evolve(serial, weights=weights)
    (misfit, (gradient,)), (expected, (slope,)) = attrs.evolve(serial, group=LocalTasks())(models), serial(models)
    assert misfit == expected and np.array_equal(gradient, slope)


@pytest.mark.parametrize("reduction", ["fast", "ordered"])
def test_some_shots_are_summed_and_no_shots_give_zero(reduction):
    serial, tasks, models = pair(reduction=reduction)
    assert error(tasks(models, [3, 1])[1][0], serial(models, [3, 1])[1][0]) < 1e-12
    misfit, (gradient,) = tasks(models, [])
    assert misfit == 0 and gradient.shape == models[0].shape and not gradient.any()


def test_the_record_and_linear_maps_of_tasks_equal_the_serial_ones():
    serial, tasks, models = pair()
    assert np.array_equal(tasks.record(models, [4, 2]), serial.record(models, [4, 2]))
    (lit,), (expected,) = illumination(tasks, models, indices=[1, 3]), illumination(serial, models, indices=[1, 3])
    assert error(lit, expected) < 1e-12
    image, expected = (
        each.transposed(models, lambda part, some: part.born(models, models, some))[0] for each in (tasks, serial)
    )
    assert error(image, expected) < 1e-12


def test_tasks_on_a_coarser_grid_equal_the_serial_ones():
    serial, models = objective(setup=case(shape=(40, 44), pml=16), high=10.0)
    coarse, expected = (
        on_coarser_grid(attrs.evolve(serial, group=group), 2, models, np.arange(3))
        for group in (LocalTasks(), SerialDistributor())
    )
    assert np.array_equal(coarse.observed, expected.observed)


def test_bad_shots_of_tasks_are_named():
    serial, _, models = pair()

    def misfit(p, q):
        value = 0.5 * float(np.sum((p - q) ** 2))
        return (np.nan if np.array_equal(q, target) else value), p - q

    target = serial.target(np.array([2]))
    tasks = attrs.evolve(serial, group=LocalTasks(), misfit=misfit)
    assert find_bad_shots(tasks, models, np.arange(5)) == {2: NOT_FINITE}
    assert find_bad_shots(tasks, models, np.array([0, 4])) == {}
    ordered = attrs.evolve(tasks, reduction="ordered", misfit=lambda p, q: (1.0, np.full_like(p, np.nan)))
    assert np.isnan(ordered(models)[0])


def test_a_part_holds_the_data_of_its_shots_alone():
    """A shot without signal is allowed: only a survey must have some."""
    serial, models = objective()
    serial.observed[3] = 0
    part = part_of(serial, np.array([3]))
    assert part.observed.shape[0] == part.weights.shape[0] == len(part.shots) == 1
    assert part.shot_numbers(np.array([0])).tolist() == [3]
    assert part(models)[0] == pytest.approx(serial(models, [3])[0])


def test_a_tree_adds_neighbours_in_a_fixed_order():
    group = LocalTasks()
    assert tree_sum(group, lambda a, b: f"({a}{b})", list("abcde")) == "(((ab)(cd))e)"
    assert tree_sum(group, None, ["a"]) == "a"


def test_groups_of_tasks_are_recognised():
    assert is_elastic(LocalTasks()) and isinstance(LocalTasks(), ElasticDistributor)
    assert not is_elastic(SerialDistributor())


class Spreading:
    """An executor with a group of its own."""

    name, worker, group = "spreading", "the executor of a worker", LocalTasks()


def test_an_executor_with_a_group_of_its_own_is_unwrapped():
    assert group_of(Spreading(), SerialDistributor()) == ("the executor of a worker", Spreading.group)
    plain = objective()[0].executor
    assert group_of(plain, LocalTasks())[0] is plain
    with pytest.raises(OptionError, match="backend 'spreading' has a group of its own; expected one of them"):
        group_of(Spreading(), LocalTasks())


def test_make_objective_unwraps_an_executor_with_a_group_of_its_own():
    serial, models = objective(2)
    spreading, shots = Spreading(), serial.shots
    spreading.worker = serial.executor
    tasks = make_objective(
        spreading, serial.problem, shots.wavelet, shots.sources, shots.receivers, serial.observed, np.float64,
        serial.weights, group=SerialDistributor(),
    )  # fmt: skip
    assert tasks.group is Spreading.group and tasks.executor is serial.executor
    assert error(tasks(models)[1][0], serial(models)[1][0]) < 1e-12
