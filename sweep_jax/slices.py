"""A compiled run in slices: forward and adjoint along a schedule of checkpoints, as calls of a program of XLA.

Each call passes its flag to the next, so XLA cannot reorder the calls and hold several histories at once. A copy of a
state waits for the flag as well, or XLA would make all copies beforehand.
"""

import jax.numpy as jnp

from sweep_core.memory import NONE

KEPT = "history", "checkpoints"
"""Outputs of one call that are not outputs of the whole run."""


class Tape:
    """The operations of :class:`sweep_core.memory.Schedule` on traced values; `states` are by slot."""

    def __init__(self, task, call, arrays, states, snapshots=False):
        self.task, self.call, self.arrays, self.states = task, call, arrays, states
        self.snapshots = snapshots
        self.in_place: dict[str, dict] = {"forward": {}, "adjoint": {}}
        self.outputs = {"flag": jnp.zeros(1, jnp.int32)}

    def _make(self, operation, first, last, history):
        call = self.task.slice(first, last, history, self.snapshots)
        in_place = self.in_place[operation] | {"flag": self.outputs["flag"]}
        self.outputs = self.call(operation, call=call, arrays=self.arrays, in_place=in_place)
        on = [b.name for b in call.outputs(operation) if b.role != "scratch" and b.name not in KEPT and b.nbytes]
        self.in_place[operation] = {name: self.outputs[name] for name in on}

    def advance(self, first, last):
        self._make("forward", first, last, False)

    def record(self, first, last):
        self._make("forward", first, last, True)
        self.arrays = self.arrays | {name: self.outputs[name] for name in KEPT}

    def reverse(self, first, last):
        self._make("adjoint", first, last, True)

    def save(self, slot):
        self.states[slot] = self.in_place["forward"]["state"]

    def restore(self, slot):
        if slot is None:  # a run that begins at step 0 clears its state itself
            self.in_place["forward"].pop("state", None)
        else:
            begun = self.outputs["flag"] >= 0  # always
            self.in_place["forward"]["state"] = jnp.where(begun, self.states[slot], jnp.uint8(0))


def forward(task, call, arrays) -> dict:
    """Return the outputs of a forward run, with the history of its last segment and the states it saved."""
    tape = Tape(task, call, arrays, {}, snapshots=True)
    task.history.schedule(task.shape.steps).forward(tape)
    return tape.outputs | {f"state {slot}": x for slot, x in tape.states.items()}


def adjoint(task, call, arrays) -> dict:
    """Return the outputs of the adjoint run."""
    schedule = task.history.schedule(task.shape.steps)
    starts = schedule.forward_slots
    states = {slot: arrays[f"state {slot}"] for slot, start in enumerate(starts) if start != NONE}
    tape = Tape(task, call, arrays | {"checkpoints": jnp.zeros(0, jnp.uint8)}, states)
    schedule.backward(tape, starts, schedule.segments - 1)
    return tape.outputs
