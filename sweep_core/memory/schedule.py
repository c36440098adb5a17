"""A run that is reversed from states: in which order its segments are made forward and backward, as calls of a tape."""

from typing import Protocol

import attrs

from .revolve import saves

NONE = -1
"""Of a slot in which no state is held."""


class Tape(Protocol):
    """What a framework does for a :class:`Schedule`, on the wave state at hand and on slots for others."""

    def advance(self, first: int, last: int) -> None:
        """Makes steps [first, last) forward."""

    def record(self, first: int, last: int) -> None:
        """The same, leaving their history in place of the last one."""

    def reverse(self, first: int, last: int) -> None:
        """Makes the adjoint of the steps that were recorded last."""

    def save(self, slot: int) -> None:
        """Keeps a copy of the state at hand."""

    def restore(self, slot: int | None) -> None:
        """Takes a copy of what is kept as the state at hand; without a slot the state of rest, before step 0."""


@attrs.frozen
class Schedule:
    """The binomial schedule over segments: each is recorded once, with the history of all its steps, and reversed.

    Parameters
    ----------
    steps, length : int
        Steps of the run, and of a segment; the last one may be shorter.
    states : int
        Slots. The state at hand, and that of rest, take none.
    """

    steps: int
    length: int
    states: int

    @property
    def segments(self) -> int:
        """How many there are."""
        return -(-self.steps // self.length)

    @property
    def held(self) -> list[int]:
        """Of each slot the segment before which a forward run keeps the state, or NONE."""
        kept = saves(0, self.segments, self.states)
        return kept + [NONE] * (self.states - len(kept))

    def _bounds(self, first: int, last: int) -> tuple[int, int]:
        return first * self.length, min(last * self.length, self.steps)

    def forward(self, tape: Tape) -> list[int]:
        """Makes the run; the segment before which the state of each slot was kept. The last segment is recorded."""
        held, last = [NONE] * self.states, self.segments - 1
        self._reach(tape, held, last)
        tape.record(*self._bounds(last, last + 1))
        return held

    def backward(self, tape: Tape, held: list[int], recorded: int = NONE) -> None:
        """Reverses the run from the states that are `held`, which follows what becomes of them.

        Parameters
        ----------
        held : list of int
            Of each slot the segment before which its state was kept, or NONE; any will do, none too.
        recorded : int
            The segment whose history is there.
        """
        for segment in reversed(range(self.segments)):
            bounds = self._bounds(segment, segment + 1)
            if recorded != segment:
                self._reach(tape, held, segment)
                tape.record(*bounds)
            tape.reverse(*bounds)
            recorded = NONE
            held[:] = [start if start < segment else NONE for start in held]

    def _reach(self, tape: Tape, held: list[int], segment: int) -> None:
        """Brings the state before a segment to hand, and keeps others on the way."""
        at = max(held, default=NONE)
        tape.restore(None if at == NONE else held.index(at))
        at = max(at, 0)
        kept = saves(at, segment + 1, held.count(NONE))
        for stop in (*kept, segment):
            if at < stop:
                tape.advance(*self._bounds(at, stop))
            if stop in kept:
                slot = held.index(NONE)
                tape.save(slot)
                held[slot] = stop
            at = stop
