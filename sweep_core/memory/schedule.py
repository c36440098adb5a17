"""The order in which the segments of a run are computed forward and reversed, as calls of a tape."""

from typing import Protocol

import attrs

from .revolve import saves

NONE = -1
"""The entry of an empty slot."""


class Tape(Protocol):
    """The operations of a framework for a :class:`Schedule`, on the current wave state and on slots of saved ones."""

    def advance(self, first: int, last: int) -> None:
        """Compute steps [first, last) forward."""

    def record(self, first: int, last: int) -> None:
        """Compute steps [first, last) forward and replace the history by theirs."""

    def reverse(self, first: int, last: int) -> None:
        """Compute the adjoint of the steps that were recorded last."""

    def save(self, slot: int) -> None:
        """Save a copy of the current state."""

    def restore(self, slot: int | None) -> None:
        """Make a copy of a saved state the current one; without a slot, the state of rest before step 0."""


@attrs.frozen
class Schedule:
    """The binomial schedule over segments. It records and reverses each segment once, with the history of all steps.

    Parameters
    ----------
    steps, length : int
        Steps of the run, and of a segment; the last segment may be shorter.
    states : int
        Number of slots. The current state and the state of rest need none.
    """

    steps: int
    length: int
    states: int

    @property
    def segments(self) -> int:
        """The number of segments."""
        return -(-self.steps // self.length)

    @property
    def forward_slots(self) -> list[int]:
        """For each slot, the segment before which a forward run saves the state, or NONE."""
        starts = saves(0, self.segments, self.states)
        return starts + [NONE] * (self.states - len(starts))

    def _bounds(self, first: int, last: int) -> tuple[int, int]:
        return first * self.length, min(last * self.length, self.steps)

    def forward(self, tape: Tape) -> list[int]:
        """Compute the run, record its last segment, and return the slots: the segments of their states."""
        slots, last = [NONE] * self.states, self.segments - 1
        self._reach(tape, slots, last)
        tape.record(*self._bounds(last, last + 1))
        return slots

    def backward(self, tape: Tape, slots: list[int], recorded: int = NONE) -> None:
        """Reverse the run from the saved states, and update `slots`.

        Parameters
        ----------
        slots : list of int
            For each slot the segment before which its state was saved, or NONE. Any states will do, even none.
        recorded : int
            The segment whose history is in memory, or NONE.
        """
        for segment in reversed(range(self.segments)):
            bounds = self._bounds(segment, segment + 1)
            if recorded != segment:
                self._reach(tape, slots, segment)
                tape.record(*bounds)
            tape.reverse(*bounds)
            recorded = NONE
            slots[:] = [start if start < segment else NONE for start in slots]

    def _reach(self, tape: Tape, slots: list[int], segment: int) -> None:
        """Make the state before a segment the current one, and save others on the way."""
        at = max(slots, default=NONE)
        tape.restore(None if at == NONE else slots.index(at))
        at = max(at, 0)
        starts = saves(at, segment + 1, slots.count(NONE))
        for stop in (*starts, segment):
            if at < stop:
                tape.advance(*self._bounds(at, stop))
            if stop in starts:
                slot = slots.index(NONE)
                tape.save(slot)
                slots[slot] = stop
            at = stop
