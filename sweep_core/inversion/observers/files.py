"""Observers that write the history and the models of an inversion into its folder."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np

from ...io import replacing
from ...plugins import Observation


def epochs_of(history: Sequence[Mapping[str, Any]], steps: int) -> list[dict[str, Any]]:
    """Return a line of history for each epoch of `steps` iterations, and one for the start, epoch 0.

    A line holds ``epoch``; ``misfit``, the mean over the iterations; ``seconds`` of the epoch; and ``model_error``
    after the epoch, if the history has it.

    Parameters
    ----------
    history : sequence of mapping
        The history of an inversion, see :class:`sweep_core.Observation`.
    steps : int
        Iterations of an epoch.

    Returns
    -------
    list of dict
        The lines, in order.
    """
    lines = [history[:1], *_parts([line for line in history if line["iteration"]], steps)]
    ends = [part[-1]["seconds"] for part in lines]
    seconds = np.diff(ends, prepend=ends[0])
    return [
        {"epoch": n, "misfit": float(np.mean([line["misfit"] for line in part]))}
        | {name: part[-1][name] for name in ("model_error",) if name in part[-1]}
        | {"seconds": float(seconds[n])}
        for n, part in enumerate(lines)
    ]


def _parts(lines, steps):
    return [lines[first : first + steps] for first in range(0, len(lines) - steps + 1, steps)]


@attrs.frozen
class HistoryFile:
    """An observer that writes ``history.jsonl``, a line for the start and for each epoch; see :func:`epochs_of`."""

    folder: Path
    steps: int = 1
    events: ClassVar = ("start", "iteration")
    files: ClassVar = re.compile(r"history\.jsonl")

    def __call__(self, observation: Observation) -> None:
        if observation.iteration % self.steps == 0:
            with replacing(self.folder / "history.jsonl") as stream:
                lines = epochs_of(observation.history, self.steps)
                stream.write("".join(json.dumps(line) + "\n" for line in lines).encode())


@attrs.frozen
class ModelFiles:
    """An observer that writes the models after each epoch of `steps` iterations, as ``inverted_<name>.npy``."""

    folder: Path
    names: Sequence[str]
    steps: int = 1

    @property
    def files(self) -> re.Pattern[str]:
        """Pattern of the names of the files."""
        return re.compile(rf"inverted_({'|'.join(map(re.escape, self.names))})\.npy")

    def __call__(self, observation: Observation) -> None:
        if observation.iteration % self.steps == 0:
            models = observation.model if len(self.names) > 1 else [observation.model]
            for name, model in zip(self.names, models, strict=True):
                with replacing(self.folder / f"inverted_{name}.npy") as stream:
                    np.save(stream, model)
