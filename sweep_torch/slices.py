"""A compiled run in slices: forward and adjoint along a schedule of checkpoints, which lie where they are told."""

import threading
from collections.abc import Callable

import torch

from sweep_core.memory import NONE

IN_USE = -2
"""Of what a graph keeps, while a backward runs on it."""
_claims = threading.Lock()


class Tape:
    """What :class:`sweep_core.memory.Schedule` asks for, on tensors by name."""

    def __init__(self, task, states, arrays, adjoint=None, snapshots=False):
        self.task, self.arrays, self.adjoint = task, arrays, adjoint
        self.states = states.data  # for autograd not to find that what it saved has changed
        self.call = task.plan.segment(snapshots)

    def _forward(self, first, last, history):
        self.task.invoke(self.call.steps(first, last, history), "forward", self.arrays)

    def advance(self, first, last):
        self._forward(first, last, False)

    def record(self, first, last):
        self._forward(first, last, True)

    def reverse(self, first, last):
        self.task.invoke(self.call.steps(first, last, True), "adjoint", self.adjoint)

    def save(self, slot):
        self.states[slot].copy_(self.arrays["state"], non_blocking=True)

    def restore(self, slot):
        if slot is not None:  # a run that begins at step 0 clears the state itself
            self.arrays["state"].copy_(self.states[slot], non_blocking=True)


def forward(task, **given) -> dict[str, torch.Tensor]:
    """The outputs of a forward run. Its ``"checkpoints"`` are states, a row each; ``"held"`` are numbers of segments,
    that of the history and those of the states.
    """
    outputs = task.outputs(task.plan.segment(snapshots=True), "forward", checkpoints=task.slots())
    schedule = task.plan.history.schedule(task.plan.shape.steps)
    held = schedule.forward(Tape(task, outputs["checkpoints"], outputs | given, snapshots=True))
    return outputs | {"held": torch.tensor([schedule.segments - 1, *held])}


def adjoint(task, cotangent, history, checkpoints, held, **given) -> dict[str, torch.Tensor]:
    """The outputs of the adjoint run. It writes into what the forward run has kept, and notes in `held` what becomes of
    that: another backward of the same graph goes on with it, or, at the same time, with memory of its own.
    """
    with _claims:
        recorded, *states = held.tolist()
        if recorded == IN_USE:
            recorded, states = NONE, [NONE] * len(states)
            history, checkpoints, held = torch.empty_like(history), task.slots(), held.clone()
        note = held.data.numpy()
        note[0] = IN_USE
    try:
        replay = task.plan.segment()
        sizes = [b for name in ("forward", "adjoint") for b in replay.buffers[name] if b.name == "workspace"]
        scratch = task.empty(max(sizes, key=lambda b: b.nbytes))
        given |= {"history": history, "checkpoints": checkpoints, "workspace": scratch}
        again = task.outputs(replay, "forward", **given)
        again["flag"].zero_()  # which the call that begins a run does, and none here need be
        outputs = task.outputs(replay, "adjoint", workspace=scratch)
        tape = Tape(task, checkpoints, again, outputs | given | {"cotangent": cotangent})
        task.plan.history.schedule(task.plan.shape.steps).backward(tape, states, recorded)
    finally:
        note[:] = [NONE, *states]
    return outputs


MAKES: dict[str, Callable[..., dict[str, torch.Tensor]]] = {"forward": forward, "adjoint": adjoint}
"""What is made in slices."""
