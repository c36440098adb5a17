"""Shot plans are pure integers; the verbs of a group of one are their own adjoints."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweep_core import (
    Acoustic,
    Distributor,
    Elastic,
    OptionError,
    SerialDistributor,
    ShapeError,
    ShotPlan,
    Shots,
    make_problem,
)
from sweep_core.distribution import check_plan, shot_costs

plans = st.builds(ShotPlan, count=st.integers(0, 500), size=st.integers(1, 64))


@given(plans)
def test_parts_hold_all_shots_in_order(plan):
    assert [i for rank in range(plan.size) for i in plan.part(rank)] == list(range(plan.count))


@given(plans)
def test_parts_differ_by_one_at_most(plan):
    sizes = [len(plan.part(rank)) for rank in range(plan.size)]
    assert max(sizes) - min(sizes) <= 1 and max(sizes) == plan.longest


@st.composite
def unequal(draw):
    """Plans of shots whose costs differ by up to ten."""
    costs = draw(st.lists(st.floats(1, 10), max_size=60))
    return ShotPlan(len(costs), draw(st.integers(1, 9)), costs)


@given(unequal())
def test_shots_of_unequal_cost_have_one_rank_each_and_ranks_one_load(plan):
    """The largest load is at most that of a perfect split and one more shot; all know the same plan."""
    parts = [list(plan.part(rank)) for rank in range(plan.size)]
    joined = [shot for part in parts for shot in part]
    assert sorted(joined) == list(range(plan.count)) and all(part == sorted(part) for part in parts)
    assert [joined[place] for place in plan.order] == list(range(plan.count))
    loads = [sum(plan.costs[shot] for shot in part) for part in parts]
    assert max(loads) <= sum(loads) / plan.size + max(plan.costs, default=0) + 1e-9
    assert plan == ShotPlan(plan.count, plan.size, np.array(plan.costs))
    if plan.count:
        assert plan.imbalance == pytest.approx(max(loads) / (sum(loads) / plan.size) - 1)


def test_the_most_expensive_shot_comes_first():
    assert ShotPlan(5, 2, [1, 1, 1, 1, 4]).imbalance == 0


@pytest.mark.parametrize("kind", ["random", "ramp", "a fifth tenfold"])
def test_ten_thousand_shots_are_planned_at_once(kind):
    """10,000 shots on 64 ranks, whose costs differ by ten: planned in less than a second, balanced within 2 %."""
    costs = {
        "random": np.random.default_rng(0).uniform(1, 10, 10_000),
        "ramp": np.linspace(1, 10, 10_000),
        "a fifth tenfold": np.where(np.arange(10_000) % 5 == 0, 10.0, 1.0),
    }[kind]
    began = time.process_time()
    plan = ShotPlan(10_000, 64, costs)
    assert time.process_time() - began < 1
    assert plan.imbalance < 0.02


def test_costs_count_the_cells_that_compiled_code_computes():
    """A shot in the middle of a long line fills the grid, one at its end half of it; 3-D and shared receivers too."""
    problem = make_problem(Acoustic(4), (20, 2000), 10.0, 0.001, pml_width=0)
    line = Shots(np.zeros(100), np.array([[0, 1], [1000, 1]]), np.array([[x, 1] for x in range(0, 2000, 10)]))
    costs = shot_costs(problem, line)
    assert costs[1] / costs[0] == pytest.approx(2, rel=0.02)
    assert costs[1] == pytest.approx(20 * sum(4 * k + 1 for k in range(100)), rel=0.1)
    staggered = make_problem(Elastic(4), (20, 2000), 10.0, 0.001, pml_width=0)
    assert shot_costs(staggered, line)[1] > 1.8 * costs[1]
    cube = make_problem(Acoustic(4), (20, 30, 40), 10.0, 0.001)
    spread = Shots(np.zeros(300), np.array([[[2, 3, 1]], [[20, 15, 10]]]), np.full((2, 5, 3), 4))
    assert shot_costs(cube, spread).max() <= 300 * np.prod(cube.padded_shape)


@given(plans.filter(lambda plan: plan.count))
def test_padding_is_exact(plan):
    positions, weights = plan.padded()
    assert positions.shape == weights.shape == (plan.size, plan.longest)
    assert set(np.unique(weights)) <= {0.0, 1.0} and weights.sum() == plan.count
    assert positions.min() >= 0 and positions.max() < plan.count
    assert sorted(positions[weights == 1]) == list(range(plan.count))


BAD = {
    "count negative": (lambda: ShotPlan(-1, 2), OptionError, "count is -1; expected a whole number from 0 on"),
    "count float": (lambda: ShotPlan(4.0, 2), OptionError, "count is 4.0"),
    "count bool": (lambda: ShotPlan(True, 2), OptionError, "count is True"),
    "size 0": (lambda: ShotPlan(4, 0), OptionError, "size is 0; expected a whole number from 1 on"),
    "rank too large": (lambda: ShotPlan(4, 2).part(2), OptionError, r"rank is 2; expected 0\.\.1"),
    "rank a float": (lambda: ShotPlan(4, 2).part(1.0), OptionError, "rank is 1.0; expected a whole number"),
    "rank negative": (lambda: ShotPlan(4, 2).part(-1), OptionError, "rank is -1"),
    "nothing to pad": (lambda: ShotPlan(0, 2).padded(), ShapeError, "a plan of no shots"),
    "costs too few": (lambda: ShotPlan(4, 2, [1, 2]), ShapeError, "costs has 2 entries; expected 4"),
    "costs zero": (lambda: ShotPlan(2, 2, [1, 0]), OptionError, "costs are .*; expected one positive, finite number"),
    "costs text": (lambda: ShotPlan(2, 2, ["a", "b"]), OptionError, "costs are .*; expected one positive"),
    "another group": (
        lambda: SerialDistributor().scatter(ShotPlan(4, 2), np.ones(4)),
        ShapeError,
        "plan.size is 2; expected 1",
    ),
    "too few shots": (lambda: SerialDistributor().scatter(ShotPlan(4, 1), np.ones(3)), ShapeError, "is 3; expected 4"),
    "too few gathered": (
        lambda: SerialDistributor().gather(ShotPlan(4, 1), np.ones(5)),
        ShapeError,
        "is 5; expected 4",
    ),
}


@pytest.mark.parametrize(("call", "kind", "message"), BAD.values(), ids=BAD)
def test_bad_plans_are_refused(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("count", [2, 5])
def test_a_part_is_checked_against_the_rank(count):
    with pytest.raises(ShapeError, match=f"the number of shots is {count}; expected 7, as in the plan for this rank"):
        check_plan(SerialDistributor(), ShotPlan(7, 1), count, part=True)


def test_the_serial_distributor_is_a_distributor():
    group = SerialDistributor()
    assert isinstance(group, Distributor) and (group.rank, group.size, group.device) == (0, 1, None)
    assert SerialDistributor("cuda:1").device == "cuda:1"
    assert group.barrier() is None
