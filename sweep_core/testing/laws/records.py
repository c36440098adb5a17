"""Laws of records."""

import attrs
import numpy as np

from ...acquisition.shots import Shots
from ...execution.answers import error, record_error
from ..cases import reference_born, reference_record
from .figure import ROUNDING, Broken, Figure, within

__all__ = [
    "born_equals_reference",
    "everything",
    "fades",
    "forward_equals_reference",
    "reciprocity",
    "shots_add_up",
    "single_precision",
    "two_runs_are_identical",
]


def _same_shape(record, expected):
    if record.shape != expected.shape:
        raise Broken(f"the record has shape {record.shape}; expected {expected.shape}")


def forward_equals_reference(entry, case, bound=ROUNDING) -> Figure:
    """Check that the record equals that of the reference, and is zero where receivers are masked.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        The problem, the shots and the models.
    bound : float, default 1e-12
        Largest allowed difference of a field, relative to the maximum of that field in the reference.

    Returns
    -------
    Figure
        Largest difference of a field's record, relative to the maximum of that field in the reference, and the bound.

    Raises
    ------
    Broken
        If the record differs, has another shape, is not float64, or is not zero at a masked receiver.
    unittest.SkipTest
        If the executor does not support the problem.
    """
    record, expected = entry.forward(case), reference_record(case)
    _same_shape(record, expected)
    if record.dtype != np.float64:
        raise Broken(f"the record is {record.dtype} for models of float64")
    if case.shots.mask is not None and record.swapaxes(1, 2)[~case.shots.mask].any():
        raise Broken("masked receivers record values other than zero")
    return within(record_error(record, expected), bound, "largest difference of a field's record, over its maximum")


def born_equals_reference(entry, case, bound=ROUNDING) -> Figure:
    """Check that the Born record is the derivative of the record, by complex step.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        The problem, the shots and the models.
    bound : float, default 1e-12
        Largest allowed difference of a field, relative to the maximum of that field in the reference.

    Returns
    -------
    Figure
        Largest difference of a field's Born record, relative to the maximum of that field in the reference, and the
        bound.

    Raises
    ------
    Broken
        If the law does not hold.
    unittest.SkipTest
        If the executor does not support the problem, or computes no Born record.
    """
    return within(
        record_error(entry.born(case), reference_born(case)), bound, "difference of a field, over its maximum"
    )


def single_precision(entry, case) -> Figure:
    """Check that the error of a float32 record is within the bound of the equation.

    The bound holds for 2000 steps of at least half the largest stable dt.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        A case in float64, with dt at least half the largest stable one. The law converts the case to float32.

    Returns
    -------
    Figure
        Largest difference from the float64 record of the reference, relative to its maximum; the bound is
        :attr:`Equation.float32_error`.

    Raises
    ------
    Broken
        If the error is too large, the record is not float32, or dt is too small for the bound to hold.
    unittest.SkipTest
        If the executor does not support the problem.
    """
    problem, single = case.problem, case.typed(np.float32)
    if np.max(problem.equation.speed(*case.models)) < 0.5 * problem.largest_speed:
        raise Broken("dt is less than half the largest stable one, for which the bound does not hold")
    record = entry.forward(single)
    if record.dtype != np.float32 and entry.name != "reference":
        raise Broken(f"the record is {record.dtype} for models of float32")
    bound = problem.equation.float32_error
    return within(error(record, reference_record(case)), bound, "error over the record's maximum")


def everything(entry, case) -> list:
    """Return the record, and the gradients if the executor computes them.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        The problem, the shots and the models.

    Returns
    -------
    list of numpy.ndarray
        The record, (nshots, nt, nrec, nfield), and then a gradient in the shape of each model. The residual of the
        gradients is :meth:`Case.noise`.

    Raises
    ------
    unittest.SkipTest
        If the executor does not support the problem.
    """
    record = entry.forward(case)
    return [record, *entry.jacobian_transposed(case, case.noise())] if entry.differentiates else [record]


def two_runs_are_identical(entry, case) -> Figure:
    """Check that two runs give the same bits.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        The problem, the shots and the models.

    Returns
    -------
    Figure
        Number of values that differ; the bound is 0.

    Raises
    ------
    Broken
        If the law does not hold.
    unittest.SkipTest
        If the executor does not support the problem.
    """
    pairs = zip(everything(entry, case), everything(entry, case), strict=True)
    return within(sum(int((a != b).sum()) for a, b in pairs), 0, "numbers that differ between two runs")


def shots_add_up(entry, case) -> Figure:
    """Check that records of several shots equal those of single runs, and that their gradients add up.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        The problem, the shots and the models.

    Returns
    -------
    Figure
        Largest error of a record or of a gradient, relative to its maximum, and the bound 1e-13.

    Raises
    ------
    Broken
        If the law does not hold.
    unittest.SkipTest
        If the executor does not support the problem.
    """
    y, (record, *gradients_of_all), errors = case.noise(), everything(entry, case), [0.0]
    sums = [0.0 for _ in gradients_of_all]
    for shot in range(len(case.shots.sources)):
        single = attrs.evolve(case, shots=case.shots.take([shot]))
        errors.append(record_error(entry.forward(single), record[[shot]]))
        gradients = entry.jacobian_transposed(single, y[[shot]]) if gradients_of_all else []
        sums = [s + g for s, g in zip(sums, gradients, strict=True)]
    errors += [error(a, b) for a, b in zip(gradients_of_all, sums, strict=True)]
    return within(np.max(errors), 1e-13, "difference between all shots and the sum of single ones")


def reciprocity(entry, case, field) -> Figure:
    """Check that a trace stays the same when source and receiver of one field change places in a rough earth.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        The problem, the shots and the models.
    field : str
        Name of the field of the source and of the receiver, one of :attr:`Equation.reciprocal`.

    Returns
    -------
    Figure
        Largest difference of the two traces, relative to the maximum of the second, and the bound 1e-12.

    Raises
    ------
    Broken
        If the traces differ, or no wave reaches the receiver.
    unittest.SkipTest
        If the executor does not support the problem.
    """
    shape = case.problem.grid.shape
    here, there = (tuple(n * part // 6 for n in shape) for part in (1, 4))
    one_field = attrs.evolve(case, arguments=case.arguments | {"source_type": [field], "receiver_type": [field]})
    wavelet, traces = case.shots.wavelet[0, 0], []
    for source, receiver in ((here, there), (there, here)):
        shots = Shots(wavelet, *(np.array([cell[::-1]]) for cell in (source, receiver)))
        traces.append(entry.forward(attrs.evolve(one_field, shots=shots)))
    if not traces[0].any():
        raise Broken(f"nothing of {field} arrives")
    return within(error(*traces), ROUNDING, f"traces of {field} that should be equal, difference over maximum")


def fades(entry, case) -> Figure:
    """Check that waves of a long run fade: the energy of each shot's record falls from the second third to the last.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        A long run, in which the waves leave the grid during the first two thirds of the time steps.

    Returns
    -------
    Figure
        Largest ratio, over the shots, of the root mean square of the last third of the record to that of the second
        third; the bound is 1. Each field is first divided by its root mean square in the first third.

    Raises
    ------
    Broken
        If the law does not hold.
    unittest.SkipTest
        If the executor does not support the problem.
    """
    thirds = np.array_split(entry.forward(case), 3, axis=1)
    power = np.array([(part**2).mean((1, 2)) for part in thirds])  # (3, shots, fields)
    _, second, third = np.sqrt((power / power[0]).mean(-1))
    ratio = np.where(third < 1e-9, 0.0, third / second)  # below 1e-9 there is only rounding
    return within(np.max(ratio), 1.0, "the last third of a shot's record over the second")
