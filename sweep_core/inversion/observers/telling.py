"""Calls to observers. An observer that fails is not called again; the run continues."""

import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...plugins import Observation, ObserverRecord, registry


class StopInversion(StopIteration):
    """The exception by which an observer ends a whole inversion; StopIteration only ends its stage.

    The run is not complete: with a `folder`, the same call without this observer continues it.
    """


class Observers:
    """The observers of one run, on one rank.

    Parameters
    ----------
    rank : int
        Rank of the process that calls them.
    records : sequence of ObserverRecord, optional
        The observers; by default those of the installed plugins.
    """

    def __init__(self, rank: int = 0, records: Sequence[ObserverRecord] | None = None):
        self.rank = rank
        self.records = list(registry().observers if records is None else records)
        self.stopped = ""  # or "stage" or "run", by an observer that raised StopIteration or StopInversion

    def after_shots(self, iteration: int, model: Callable[[], Any]) -> Callable[[Any, Any], None] | None:
        """Return the function that reports batches of shots.

        Parameters
        ----------
        iteration : int
            Number of the iteration.
        model : callable
            ``model()`` returns the parameters in which the shots are modelled.

        Returns
        -------
        callable or None
            A function of (shots, misfit), called after each batch, or None if no observer needs it.
        """
        if not self._observers_of("shot"):
            return None
        return lambda shots, misfit: self._tell("shot", iteration, misfit, shots, model())

    def after_iteration(
        self, iteration: int, misfit: float, shots: int, model: Any, gradient: Any,
        history: Sequence[Mapping[str, Any]] = (), event: str = "iteration",
    ) -> None:  # fmt: skip
        """Report an iteration over all shots, or the start of a stage, on rank 0.

        Parameters
        ----------
        iteration : int
            Number of the iteration.
        misfit : float
            Misfit of all shots.
        shots : int
            Number of shots.
        model, gradient : array
            Model and gradient: (nz, nx), or (n, nz, nx) for several parameters.
        history : sequence of dict, optional
            Lines of the history so far.
        event : {'iteration', 'start'}
            The event.
        """
        if self.rank == 0 and self._observers_of(event):
            self._tell(event, iteration, misfit, range(shots), model, gradient, history)

    def close(self) -> None:
        """Call the methods `close` of observers that have one, such as those that draw while the run computes."""
        for record in list(self.records):
            self._guard(record, getattr(record.call, "close", lambda: None))

    def _observers_of(self, event):
        return [record for record in self.records if record.event == event]

    def _tell(self, event, iteration, misfit, shots, model, gradient=None, history=()):
        numbers = tuple(int(n) for n in shots)
        for record in self._observers_of(event):
            # Each observer gets copies, so that it can change neither the run nor the arrays of other observers.
            arrays = _read_only(model), None if gradient is None else _read_only(gradient)
            lines = tuple(dict(line) for line in history)
            observation = Observation(event, iteration, float(misfit), numbers, *arrays, self.rank, lines)
            self._guard(record, record.call, observation)

    def _guard(self, record, call, *arguments):
        """Call an observer. A failure is printed, and ends its calls; the run continues."""
        try:
            call(*arguments)
        except StopInversion:
            self.stopped = "run"
        except StopIteration:
            self.stopped = self.stopped or "stage"
        except (Exception, SystemExit) as error:
            self.records.remove(record)
            reason = " ".join("".join(traceback.format_exception_only(error)).split())  # also if __str__ fails
            print(f"observer {record.name!r} failed and is not called again: {reason}", file=sys.stderr, flush=True)


def _read_only(x) -> np.ndarray:
    copy = np.array(x)
    copy.setflags(write=False)
    return copy
