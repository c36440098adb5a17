"""The binomial schedule has the optimal cost, by brute force, and reverses a run."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweep_core.memory import NONE, Schedule
from sweep_core.memory.revolve import fewest_advances, reach, repeats


@cache
def optimum(steps, states):
    """Return the fewest steps forward beside those that record history, by trying every place of the next state."""
    if steps == 1:
        return 0
    if states == 1:
        return steps * (steps - 1) // 2
    return min(m + optimum(steps - m, states - 1) + optimum(m, states) for m in range(1, steps))


class Paper:
    """A tape that records its calls and checks that they are possible."""

    def __init__(self, states):
        self.at, self.recorded, self.advanced, self.reversed = 0, None, 0, []
        self.slots = [None] * states

    def advance(self, first, last):
        assert self.at == first < last
        self.at, self.advanced = last, self.advanced + last - first

    def record(self, first, last):
        assert self.at == first < last
        self.recorded, self.at = (first, last), last

    def reverse(self, first, last):
        assert self.recorded == (first, last)
        self.reversed.append((first, last))

    def save(self, slot):
        assert self.at > 0, "the state of rest needs no slot"
        self.slots[slot] = self.at

    def restore(self, slot):
        self.at = 0 if slot is None else self.slots[slot]


def forward(steps, length, states):
    schedule, tape = Schedule(steps, length, states), Paper(states)
    contents = schedule.forward(tape)
    assert contents == schedule.forward_slots, "the slots are known before the run"
    return schedule, tape, contents


@pytest.mark.parametrize("states", [0, 1, 2, 3, 5, 8])
def test_the_schedule_makes_the_optimal_number_of_steps(states):
    """The state of rest is free and counts as one more state."""
    for steps in range(1, 50):
        schedule, tape, contents = forward(steps, 1, states)
        schedule.backward(tape, contents, schedule.segments - 1)
        assert tape.reversed == [(i, i + 1) for i in reversed(range(steps))]
        assert tape.advanced == fewest_advances(steps, states + 1) == optimum(steps, states + 1)


def test_states_reach_a_binomial_number_of_steps():
    """With c states, beta(c, r) steps and no more can be made at most r times each."""
    for states in range(1, 8):
        for r in range(1, 6):
            assert repeats(reach(states, r), states) == r < repeats(reach(states, r) + 1, states)
    assert reach(3, 2) == 10 and reach(10, 3) == 286


@given(steps=st.integers(1, 200), length=st.integers(1, 30), states=st.integers(0, 9), data=st.data())
def test_the_schedule_reverses_a_run_from_any_set_of_states(steps, length, states, data):
    """An abandoned backward leaves such a set. No segment is lost or reversed twice."""
    schedule, tape, contents = forward(steps, length, states)
    lost = data.draw(st.sets(st.sampled_from(range(states)))) if states else set()
    for slot in lost:
        contents[slot], tape.slots[slot] = NONE, None
    schedule.backward(tape, contents)
    bounds = [(k, min(k + length, steps)) for k in range(0, steps, length)]
    assert tape.reversed == bounds[::-1] and contents == [NONE] * states
    schedule.backward(tape, contents)
    assert tape.reversed == 2 * bounds[::-1], "a second backward starts from rest"


def test_the_list_of_slots_is_true_after_each_segment():
    """An exception leaves a true list of slots."""
    schedule, tape, other_slots = forward(40, 2, 3)
    whole = tape.reverse

    def fail(first, last):
        whole(first, last)
        if first == 20:
            raise KeyboardInterrupt

    tape.reverse = fail
    with pytest.raises(KeyboardInterrupt):
        schedule.backward(tape, other_slots, schedule.segments - 1)
    tape.reverse, tape.reversed = whole, []
    assert all(at == NONE or tape.slots[slot] == 2 * at for slot, at in enumerate(other_slots)) and any(
        h > 0 for h in other_slots
    )
    schedule.backward(tape, other_slots)
    assert len(tape.reversed) == 20


def test_a_long_run_is_planned_quickly():
    """The run has 100 000 steps and few states."""
    schedule, tape, contents = forward(100_000, 100, 12)
    schedule.backward(tape, contents, schedule.segments - 1)
    assert len(tape.reversed) == 1000
