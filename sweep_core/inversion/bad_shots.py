"""Shots that fail: their data cannot be read, or their record, misfit or gradient is not finite."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._util.arrays import numpy_of
from ..distribution import is_elastic, share_texts
from ..errors import DataError, NotFiniteError, SweepWarning, UnsupportedError
from .batches import FAILURES, is_finite
from .journal import Answer
from .tasks import values_of_shots

NOT_FINITE = "its record, misfit or gradient is not finite"


def name_shots(shots: Sequence[int] | np.ndarray) -> str:
    """Return a phrase that names some shots."""
    if not len(shots):
        return "no shots"
    rest = ", ..." if len(shots) > 9 else ""
    return f"{'shot' if len(shots) == 1 else 'shots'} {', '.join(str(int(shot)) for shot in shots[:9])}{rest}"


def without(shots: np.ndarray, bad: Mapping[int, str]) -> np.ndarray:
    """Return the shots that are not bad."""
    return shots[~np.isin(shots, list(bad))] if bad else shots


def find_bad_shots(objective: Any, models: Sequence[np.ndarray], indices: np.ndarray) -> dict[int, str]:
    """Return the reasons of the shots that fail, in ascending order, on every rank. Each shot is computed once more."""
    if is_elastic(objective.group):  # the client reads the data of a shot, and the workers compute it
        reasons = {int(shot): _reading_error(objective, shot) for shot in indices}
        read = np.array([shot for shot, reason in reasons.items() if not reason], np.int64)
        reasons |= dict(zip(read.tolist(), values_of_shots(objective, _failure, models, read), strict=True))
    else:
        reasons = {int(shot): _failure(objective, models, np.array([shot])) for shot in objective.own_shots(indices)}
    return share_texts(objective.group, reasons, len(objective.shots))


def _reading_error(objective, shot) -> str:
    try:
        objective.observed[np.array([shot])]
    except DataError as error:
        return str(error)
    return ""


def _failure(objective, models, some) -> str:
    """Return the reason why a shot fails, or an empty text."""
    try:
        value, slopes = objective.misfit_and_gradients(models, some)
    except FAILURES as error:
        return str(error)
    return "" if is_finite(float(value), [numpy_of(slope) for slope in slopes]) else NOT_FINITE


def zero_bad_data(observed: Any, mask: Any) -> tuple[Any, dict[int, str]]:
    """Return an array with zeros in the shots whose data are not finite, and the reasons of these shots.

    Masked receivers do not count. A store is returned unchanged, because its shots are read later.
    """
    if hasattr(observed, "check_written"):
        return observed, {}
    observed = numpy_of(observed)
    if observed.dtype.kind != "f" or observed.ndim != 4:
        return observed, {}
    is_used = True if mask is None else numpy_of(mask).astype(bool)[:, None, :, None]
    is_bad = (~np.isfinite(observed) & is_used).any(axis=(1, 2, 3))
    if is_bad.any():
        observed = observed.copy()
        observed[is_bad] = 0
    return observed, {int(shot): "observed holds NaN or infinite values" for shot in np.flatnonzero(is_bad)}


def check_skippable(stage: Any) -> None:
    """Raise an UnsupportedError for a stage that cannot leave out a shot."""
    if stage.encoded:
        raise UnsupportedError(
            "skip_bad_shots is True, but a stage with encoded computes sums of shots, whose failures name no shot; "
            "leave one of them out"
        )
    if (stage.coarsen or 1) > 1:
        raise UnsupportedError(
            "skip_bad_shots is True, but a stage with coarsen corrects the data of all shots at its start; leave one "
            "of them out"
        )


class BadShots:
    """The shots that a run leaves out, the same on every rank.

    Parameters
    ----------
    is_skipping : bool
        Leave out further shots that fail.
    reasons : mapping of int to str, optional
        Reasons by shot, of earlier processes of the run.
    new : mapping of int to str, optional
        Reasons of shots that are not reported yet.
    store : callable
        ``store(reasons)`` stores the reasons for later processes of the run.

    Attributes
    ----------
    reasons : dict of int to str
        Reasons of the shots that are left out.
    found : list of int
        The shots that failed in the last evaluation, if they are not left out.
    """

    def __init__(
        self, is_skipping: bool = False, reasons: Mapping[int, str] | None = None,
        new: Mapping[int, str] | None = None, store: Callable[[dict[int, str]], None] = lambda reasons: None,
    ):  # fmt: skip
        self.is_skipping, self.reasons, self._store = is_skipping, dict(reasons or {}), store
        self._new = {shot: reason for shot, reason in (new or {}).items() if shot not in self.reasons}
        self.found: list[int] = []

    def without(self, shots: np.ndarray) -> np.ndarray:
        """Return those of some shots that are not left out."""
        return without(shots, self.reasons | self._new)

    def evaluate(self, compute: Callable[[], Answer], find: Callable[[], dict[int, str]]) -> Answer | None:
        """Return the answer of some shots, or None if shots failed that are left out from now on.

        Shots are reported and stored after an evaluation without them has succeeded: if all shots fail, the reason is
        the model, and the stored run keeps its shots.

        Parameters
        ----------
        compute : callable
            ``compute()`` returns the misfit and the gradients.
        find : callable
            ``find()`` returns the reasons of the shots that fail.

        Raises
        ------
        DataError, NotFiniteError
            A shot fails, and shots that fail are not left out.
        """
        error = None
        try:
            misfit, gradients = compute()
        except FAILURES as failure:
            error, misfit, gradients = failure, math.nan, []
        if is_finite(misfit, gradients):
            self._report()
            return misfit, gradients
        reasons = find()
        if self.is_skipping and reasons:
            self._new |= reasons
            return None
        self.found = list(reasons)
        if isinstance(error, NotFiniteError) and reasons:
            raise NotFiniteError(f"{name_shots(self.found)}: {error}") from error
        if error:
            raise error
        return misfit, gradients

    def _report(self) -> None:
        new, self._new = self._new, {}
        if not new:
            return
        self.reasons |= new
        for shot, reason in new.items():
            warnings.warn(
                f"shot {shot} is left out from now on: {reason} ({len(self.reasons)} left out so far)",
                SweepWarning,
                stacklevel=2,
            )
        self._store(self.reasons)
