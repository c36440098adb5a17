"""A sampler of shots: each shot once an epoch on any number of ranks, and a position that a checkpoint can hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweep_core import OptionError, ShapeError
from sweep_core.distribution import ShotSampler


@given(st.integers(1, 40), st.integers(1, 50), st.integers(1, 5), st.booleans())
def test_an_epoch_has_each_shot_once_and_ranks_have_the_steps_of_one(count, shots, size, unequal):
    costs = np.arange(1.0, count + 1) if unequal else None
    alone = ShotSampler(count, shots)
    ranks = [ShotSampler(count, shots, rank, size, costs=costs) for rank in range(size)]
    for epoch in range(2):
        steps = list(alone)
        assert sorted(shot for step in steps for shot in step) == list(range(count))
        assert len(steps) == len(alone) == -(-count // shots)
        parts = [list(rank) for rank in ranks]
        joined = [sorted(shot for part in step for shot in part) for step in zip(*parts, strict=True)]
        assert joined == [sorted(step) for step in steps]
        assert {rank.epoch for rank in ranks} == {epoch + 1}


def test_the_order_changes_with_the_epoch_and_the_seed():
    sampler = ShotSampler(20, 20)
    first, second = next(iter(sampler)), None
    sampler.set_epoch(1)
    second = next(iter(sampler))
    sampler.set_epoch(0)
    assert first == next(iter(sampler)) != second != next(iter(ShotSampler(20, 20, seed=1)))


@pytest.mark.parametrize("steps", range(6))
def test_a_position_continues_with_the_same_shots(steps):
    sampler, other = ShotSampler(7, 3), ShotSampler(7, 3)
    sequence = [step for _ in range(3) for step in sampler]
    running = (step for _ in range(3) for step in other)
    assert [next(running) for _ in range(steps)] == sequence[:steps]
    later = ShotSampler(7, 3)
    later.load_state_dict(other.state_dict())
    assert [step for _ in range(3) for step in later][: 9 - steps] == sequence[steps:]


def test_a_data_loader_takes_it_as_its_batch_sampler():
    data = pytest.importorskip("torch").utils.data
    loader = data.DataLoader([10 * shot for shot in range(5)], batch_sampler=ShotSampler(5, 2))
    epochs = [sorted(int(x) for step in loader for x in step) for _ in range(2)]
    assert epochs == [[0, 10, 20, 30, 40]] * 2


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: ShotSampler(0, 1), OptionError, "count is 0; expected a whole number from 1 on"),
        (lambda: ShotSampler(3, 1.5), OptionError, "shots is 1.5"),
        (lambda: ShotSampler(3, 1, rank=2, size=2), OptionError, "rank is 2; expected 0..1"),
        (lambda: ShotSampler(3, 1, costs=[1, 2]), ShapeError, "costs has 2 entries; expected 3"),
        (lambda: ShotSampler(3, 1).set_epoch(-1), OptionError, "epoch is -1"),
        (lambda: ShotSampler(3, 1).load_state_dict({"seed": 1}), OptionError, "seed is 0; expected 1"),
    ],
)
def test_bad_arguments_are_refused(make, kind, message):
    with pytest.raises(kind, match=message):
        make()
