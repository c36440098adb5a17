"""A compiled run in slices: forward and adjoint along a schedule of checkpoints, as calls of a program of XLA.

Each call hands its flag on to the next, whatever that is, so XLA can put none of them before another, where it would
hold their histories at once; a copy of a state waits for the flag as well, or XLA would make all of them beforehand.
"""

import jax.numpy as jnp

from sweep_core.memory import NONE

KEPT = "history", "checkpoints"
"""Outputs of a call that are not those of the whole run."""


class Tape:
    """What :class:`sweep_core.memory.Schedule` asks for, on values that are traced; `states` are by their slots."""

    def __init__(self, task, call, arrays, states, snapshots=False):
        self.task, self.call, self.arrays, self.states = task, call, arrays, states
        self.snapshots = snapshots
        self.handed: dict[str, dict] = {"forward": {}, "adjoint": {}}
        self.found = {"flag": jnp.zeros(1, jnp.int32)}

    def _make(self, operation, first, last, history):
        call = self.task.slice(first, last, history, self.snapshots)
        handed = self.handed[operation] | {"flag": self.found["flag"]}
        self.found = self.call(operation, call=call, arrays=self.arrays, handed=handed)
        on = [b.name for b in call.outputs(operation) if b.role != "scratch" and b.name not in KEPT and b.nbytes]
        self.handed[operation] = {name: self.found[name] for name in on}

    def advance(self, first, last):
        self._make("forward", first, last, False)

    def record(self, first, last):
        self._make("forward", first, last, True)
        self.arrays = self.arrays | {name: self.found[name] for name in KEPT}

    def reverse(self, first, last):
        self._make("adjoint", first, last, True)

    def save(self, slot):
        self.states[slot] = self.handed["forward"]["state"]

    def restore(self, slot):
        if slot is None:  # a run that begins at step 0 clears what it is given
            self.handed["forward"].pop("state", None)
        else:
            begun = self.found["flag"] >= 0  # always
            self.handed["forward"]["state"] = jnp.where(begun, self.states[slot], jnp.uint8(0))


def forward(task, call, arrays) -> dict:
    """The outputs of a forward run, and what it keeps: the history of the last segment and states."""
    tape = Tape(task, call, arrays, {}, snapshots=True)
    task.history.schedule(task.shape.steps).forward(tape)
    return tape.found | {f"state {slot}": x for slot, x in tape.states.items()}


def adjoint(task, call, arrays) -> dict:
    """The outputs of the adjoint run."""
    schedule = task.history.schedule(task.shape.steps)
    slots = schedule.forward_slots
    states = {slot: arrays[f"state {slot}"] for slot, start in enumerate(slots) if start != NONE}
    tape = Tape(task, call, arrays | {"checkpoints": jnp.zeros(0, jnp.uint8)}, states)
    schedule.backward(tape, slots, schedule.segments - 1)
    return tape.found
