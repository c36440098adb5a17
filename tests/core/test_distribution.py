"""Shot plans are pure integers; the verbs of a group of one are their own adjoints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweep_core import Distributor, OptionError, SerialDistributor, ShapeError, ShotPlan
from sweep_core.distribution import check_plan

plans = st.builds(ShotPlan, count=st.integers(0, 500), size=st.integers(1, 64))


@given(plans)
def test_parts_share_out_all_shots_in_order(plan):
    assert [i for rank in range(plan.size) for i in plan.part(rank)] == list(range(plan.count))


@given(plans)
def test_parts_differ_by_one_at_most(plan):
    sizes = [len(plan.part(rank)) for rank in range(plan.size)]
    assert max(sizes) - min(sizes) <= 1 and max(sizes) == plan.longest


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
