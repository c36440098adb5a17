"""Telling observers of plugins how a run goes on; one that fails costs the run nothing but itself."""

import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...plugins import Observation, ObserverRecord, registry


class StopInversion(StopIteration):
    """Raised by an observer to end a whole inversion, where StopIteration ends its stage.

    The run has not come to its end: the same call without it goes on from there where it has a `folder`.
    """


class Observers:
    """The observers of one run, on one rank.

    Parameters
    ----------
    rank : int
        Of the process that calls them.
    records : sequence of ObserverRecord, optional
        Those of the installed plugins by default.
    """

    def __init__(self, rank: int = 0, records: Sequence[ObserverRecord] | None = None):
        self.rank = rank
        self.records = list(registry().observers if records is None else records)
        self.stopped = ""  # or "stage" or "run", by an observer that raised StopIteration or StopInversion

    def after_shots(self, iteration: int, model: Callable[[], Any]) -> Callable[[Any, Any], None] | None:
        """What an engine calls with (shots, misfit) after the few that it models at once; None where nobody asks.

        `model` gives the parameters that they are modelled in.
        """
        if not self._asking("shot"):
            return None
        return lambda shots, misfit: self._tell("shot", iteration, misfit, shots, model())

    def after_iteration(
        self, iteration: int, misfit: float, shots: int, model: Any, gradient: Any,
        history: Sequence[Mapping[str, Any]] = (), event: str = "iteration",
    ) -> None:  # fmt: skip
        """Tell from rank 0 of an iteration over all `shots`, or of the ``"start"`` of a stage."""
        if self.rank == 0 and self._asking(event):
            self._tell(event, iteration, misfit, range(shots), model, gradient, history)

    def _asking(self, event):
        return [record for record in self.records if record.event == event]

    def _tell(self, event, iteration, misfit, shots, model, gradient=None, history=()):
        told = tuple(int(n) for n in shots)
        for record in self._asking(event):
            # Copies for each: what one keeps or spoils is neither the run's nor another's.
            arrays = _sealed(model), None if gradient is None else _sealed(gradient)
            lines = tuple(dict(line) for line in history)
            observation = Observation(event, iteration, float(misfit), told, *arrays, self.rank, lines)
            try:
                record.call(observation)
            except StopInversion:
                self.stopped = "run"
            except StopIteration:
                self.stopped = self.stopped or "stage"
            except (Exception, SystemExit) as error:
                self.records.remove(record)
                reason = " ".join("".join(traceback.format_exception_only(error)).split())  # whatever its __str__ does
                print(f"observer {record.name!r} failed and is not called again: {reason}", file=sys.stderr, flush=True)


def _sealed(x) -> np.ndarray:
    copy = np.array(x)
    copy.setflags(write=False)
    return copy
