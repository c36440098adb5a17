"""Laws of unusual and of bad input."""

from unittest import SkipTest

import attrs
import numpy as np

from ..._util.arrays import numpy_of
from ...errors import SweepError, UnsupportedError
from .figure import Broken, Figure, within

__all__ = ["bad_input_is_refused", "no_shots"]


def no_shots(entry, case) -> Figure:
    """Check that a call without shots gives an empty record, and a misfit and a gradient of zero, or is refused.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        A case with shots. The law removes the shots.

    Returns
    -------
    Figure
        Largest absolute value of the misfit and of the gradients; the bound is 0.

    Raises
    ------
    Broken
        If a value is not zero, or an array has a wrong shape.
    unittest.SkipTest
        If the executor does not support the problem, computes no gradient, or refuses a call without shots.
    """
    misfit_and_gradient = entry.having(case.problem, "misfit_and_gradient").misfit_and_gradient
    executor, none = entry.executor_for(case.problem), attrs.evolve(case, shots=case.shots.take([]))
    expected = case.noise()[:0]
    try:
        record = numpy_of(executor.forward(none.problem, none.shots, none.models))
        misfit, gradient = misfit_and_gradient(none.problem, none.shots, none.models, expected)
    except UnsupportedError as refusal:
        raise SkipTest(f"{entry.name}: {refusal}") from refusal
    if record.shape != expected.shape:
        raise Broken(f"the record of no shots has shape {record.shape}; expected {expected.shape}")
    if [numpy_of(g).shape for g in gradient] != [m.shape for m in case.models]:
        raise Broken(f"gradients have shapes {[numpy_of(g).shape for g in gradient]}; expected those of the models")
    largest = max(abs(float(misfit)), *(float(np.abs(numpy_of(g)).max()) for g in gradient))
    return within(largest, 0, "misfit or gradient of no shots")


def bad_input_is_refused(entry, case) -> Figure:
    """Check that one of SWEEP's errors refuses each bad input.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        The problem, the shots and the models.

    Returns
    -------
    Figure
        Number of bad inputs that no :class:`sweep_core.SweepError` refused; the bound is 0.

    Raises
    ------
    Broken
        If the law does not hold.
    unittest.SkipTest
        If the executor does not support the problem.
    """
    executor, problem = entry.executor_for(case.problem), case.problem
    shots, models, first = case.shots, case.models, case.models[0]
    n, speed = problem.grid.shape[-1], problem.equation.speed(*models).max()
    dt = 1.02 * problem.dt * problem.largest_speed / speed
    unstable = attrs.evolve(case, arguments=case.arguments | {"dt": dt}).problem
    wrong: dict[str, tuple] = {
        "a source outside": (problem, attrs.evolve(shots, sources=shots.sources + n), models),
        "a receiver outside": (problem, attrs.evolve(shots, receivers=shots.receivers - n), models),
        "an unstable dt": (unstable, shots, models),
        "NaN in a model": (problem, shots, [first * np.nan, *models[1:]]),
        "infinity in a model": (problem, shots, [first + np.inf, *models[1:]]),
        "NaN in the wavelet": (problem, attrs.evolve(shots, wavelet=shots.wavelet * np.nan), models),
        "a bare array of models": (problem, shots, first),
        "a model too few": (problem, shots, models[:-1]),
        "a model of another shape": (problem, shots, [first[1:], *models[1:]]),
    }
    if entry.differentiates:  # the reference converts all input to float64, and has no gradient
        wrong["models and a wavelet of two types"] = problem, shots, [m.astype(np.float32) for m in models]
        wrong["an observed record of another shape"] = problem, shots, models, case.noise()[:, :1]
    for i, p in enumerate(problem.equation.parameters):
        for bound in (p.low - (abs(p.low) + 1) * p.closed, p.high):
            if np.isfinite(bound):
                changed = [*models[:i], np.full_like(first, bound), *models[i + 1 :]]
                wrong[f"{p.name} = {bound:g}"] = problem, shots, changed
    accepted = [name for name, arguments in wrong.items() if not _refuses(executor, *arguments)]
    return within(len(accepted), 0, f"input that was not refused by an error of SWEEP: {', '.join(accepted) or 'none'}")


def _refuses(executor, *arguments) -> bool:
    """Return True if a call, with or without observed data, raises a SweepError."""
    try:
        (executor.forward if len(arguments) == 3 else executor.misfit_and_gradient)(*arguments)
    except SweepError:
        return True
    except Exception:
        return False
    return False
