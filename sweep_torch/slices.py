"""A compiled run in slices: forward and adjoint along a schedule of checkpoints, in any storage."""

import threading
from collections.abc import Callable

import torch

from sweep_core.memory import NONE

IN_USE = -2
"""The mark of a history while a backward runs on it."""
_claims = threading.Lock()


class Tape:
    """The operations of :class:`sweep_core.memory.Schedule` on tensors by name."""

    def __init__(self, task, states, arrays, adjoint=None, snapshots=False):
        self.task, self.arrays, self.adjoint = task, arrays, adjoint
        self.states = states.data  # hides from autograd that a saved tensor changes
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


def forward(task, **arrays) -> dict[str, torch.Tensor]:
    """Return the outputs of a forward run.

    Each row of ``"checkpoints"`` is a state; ``"segments"`` are the segment of the history, then those of the states.
    """
    outputs = task.outputs(task.plan.segment(snapshots=True), "forward", checkpoints=task.slots())
    schedule = task.plan.history.schedule(task.plan.shape.steps)
    segments = schedule.forward(Tape(task, outputs["checkpoints"], outputs | arrays, snapshots=True))
    return outputs | {"segments": torch.tensor([schedule.segments - 1, *segments])}


def adjoint(task, cotangent, history, checkpoints, segments, **arrays) -> dict[str, torch.Tensor]:
    """Return the outputs of the adjoint run.

    The run overwrites the history and the checkpoints of the forward run, and notes their contents in `segments`. A
    later backward of the same graph continues from them; a simultaneous one uses memory of its own.
    """
    with _claims:
        recorded, *states = segments.tolist()
        if recorded == IN_USE:
            recorded, states = NONE, [NONE] * len(states)
            history, checkpoints, segments = torch.empty_like(history), task.slots(), segments.clone()
        note = segments.data.numpy()
        note[0] = IN_USE
    try:
        replay = task.plan.segment()
        sizes = [b for name in ("forward", "adjoint") for b in replay.buffers[name] if b.name == "workspace"]
        scratch = task.empty(max(sizes, key=lambda b: b.nbytes))
        arrays |= {"history": history, "checkpoints": checkpoints, "workspace": scratch}
        replay_arrays = task.outputs(replay, "forward", **arrays)
        replay_arrays["flag"].zero_()  # the first call of a run clears the flag, but a replay may have no such call
        outputs = task.outputs(replay, "adjoint", workspace=scratch)
        tape = Tape(task, checkpoints, replay_arrays, outputs | arrays | {"cotangent": cotangent})
        task.plan.history.schedule(task.plan.shape.steps).backward(tape, states, recorded)
    finally:
        note[:] = [NONE, *states]
    return outputs


MAKES: dict[str, Callable[..., dict[str, torch.Tensor]]] = {"forward": forward, "adjoint": adjoint}
"""Operations that run in slices, by name."""
