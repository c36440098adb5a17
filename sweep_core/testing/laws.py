"""The laws of an executor, each on one case: functions that return a figure or raise AssertionError."""

from itertools import product
from unittest import SkipTest

import attrs
import numpy as np

from .._util.arrays import numpy_of
from ..acquisition.shots import Shots
from ..errors import SweepError, UnsupportedError
from ..execution.answers import error, record_error, relative, unequal
from ..execution.reference import ReferenceExecutor
from .cases import INEXACT, STRATEGIES, born_of_cell, reference_born, reference_record

__all__ = [
    "Broken",
    "Figure",
    "bad_input_is_refused",
    "born_equals_reference",
    "everything",
    "fades",
    "forward_equals_reference",
    "gradient_equals_finite_difference",
    "gradient_in_every_region",
    "gradient_in_single_precision",
    "half_the_sum_of_squares",
    "jacobian_and_adjoint",
    "known_rows_have_no_gradient",
    "known_rows_scatter_nothing",
    "no_shots",
    "pullback_is_the_gradient",
    "reciprocity",
    "regions",
    "shots_add_up",
    "single_precision",
    "strategies_agree",
    "taylor_remainder",
    "two_runs_are_identical",
    "within",
    "worst",
]

ROUNDING = 1e-12


@attrs.frozen
class Figure:
    """An error and its bound.

    Parameters
    ----------
    value : float
        The measured error, or a count of faults.
    bound : float
        The largest value for which the law holds.
    """

    value: float
    bound: float


class Broken(AssertionError):
    """A law that does not hold, with the measured and the expected value."""


def within(value: float, bound: float, name: str) -> Figure:
    """Return the figure of a value within its bound, or raise Broken. NaN is out of bounds.

    Parameters
    ----------
    value : float
        The measured value.
    bound : float
        Largest allowed value.
    name : str
        Description of the value, for the error message.

    Returns
    -------
    Figure
        The value and its bound.

    Raises
    ------
    Broken
        If the value is larger than the bound, or NaN.
    """
    if not value <= bound:
        raise Broken(f"{name}: {value:.3g}; expected at most {bound:.3g}")
    return Figure(float(value), bound)


def worst(errors, bound: float) -> Figure:
    """Return the figure of the largest of (value, name). NaN counts as the largest.

    Parameters
    ----------
    errors : iterable of (float, str)
        Each measured value and its description.
    bound : float
        Largest allowed value.

    Returns
    -------
    Figure
        The largest value and the bound.

    Raises
    ------
    Broken
        If the largest value is larger than the bound, or NaN.
    ValueError
        If `errors` is empty.
    """
    value, name = max(errors, key=lambda e: np.nan_to_num(e[0], nan=np.inf))
    return within(value, bound, name)


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


def gradient_in_single_precision(entry, case) -> Figure:
    """Check that the error of a float32 gradient is within the same bound.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        A case in float64. The law converts the case to float32.

    Returns
    -------
    Figure
        Largest difference from the float64 gradient of the same executor, relative to its maximum; the bound is
        :attr:`Equation.float32_error`.

    Raises
    ------
    Broken
        If the error is too large, or a gradient is not float32.
    unittest.SkipTest
        If the executor does not support the problem, or computes no gradient.
    """
    y = case.noise()
    double, single = (entry.jacobian_transposed(c, y) for c in (case, case.typed(np.float32)))
    if any(g.dtype != np.float32 for g in single):
        raise Broken(f"gradients are {[str(g.dtype) for g in single]} for models of float32")
    worst = np.max([error(s, d) for s, d in zip(single, double, strict=True)])
    return within(worst, case.problem.equation.float32_error, "error over the gradient's maximum")


def jacobian_and_adjoint(entry, case) -> Figure:
    """Check <J d, y> = <d, J^T y>.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        The problem, the shots and the models.

    Returns
    -------
    Figure
        Difference of the two products, relative to the larger one, and the bound 1e-12. If the products cancel, the
        difference is relative to the root of the sum of the squared terms of <d, J^T y>.

    Raises
    ------
    Broken
        If the law does not hold.
    unittest.SkipTest
        If the executor does not support the problem, or computes no gradient.
    """
    y, directions = case.noise(), case.direction()
    terms = [d * g for d, g in zip(directions, entry.jacobian_transposed(case, y), strict=True)]
    left, right = float((reference_born(case) * y).sum()), float(sum(t.sum() for t in terms))
    return within(unequal(left, right, terms), ROUNDING, f"<J d, y> = {left:.17g}, <d, J^T y> = {right:.17g}")


def pullback_is_the_gradient(entry, case) -> Figure:
    """Check that `pullback` gives the J^T y of `misfit_and_gradient`, for the arguments at the time of its call.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        The problem, the shots and the models.

    Returns
    -------
    Figure
        Largest error of a field's record or of a gradient, relative to its maximum, and the bound 1e-12.

    Raises
    ------
    Broken
        If the law does not hold.
    unittest.SkipTest
        If the executor does not support the problem, or lacks `pullback` or `misfit_and_gradient`.
    """
    pullback, y = entry.having(case.problem, "pullback").pullback, case.noise()
    expected = entry.jacobian_transposed(case, y)
    shots = attrs.evolve(case.shots, wavelet=case.shots.wavelet.copy())
    models = [m.copy() for m in case.models]
    record, pull = pullback(case.problem, shots, models)
    at_once = [numpy_of(g).copy() for g in pull(y)]
    for argument in (*models, shots.wavelet):
        argument *= 1.01
    errors = [(record_error(numpy_of(record), entry.forward(case)), "record, error over its maximum")]
    later = [numpy_of(g) for g in pull(y)]
    for when, gradient in (("", at_once), (" after the arguments were written into", later)):
        pairs = zip(case.problem.equation.parameters, gradient, expected, strict=True)
        errors += [(error(g, e), f"gradient in {p.name}{when}, error over its maximum") for p, g, e in pairs]
    return worst(errors, ROUNDING)


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


def half_the_sum_of_squares(entry, case) -> Figure:
    """Check that the misfit is half the sum of the squared residuals.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        The problem, the shots and the models.

    Returns
    -------
    Figure
        Difference of the misfit and half the sum of squares, relative to the larger one, and the bound 1e-12.

    Raises
    ------
    Broken
        If the law does not hold.
    unittest.SkipTest
        If the executor does not support the problem, or computes no gradient.
    """
    y = case.noise()
    misfit, _ = entry.misfit_and_gradient(case, entry.forward(case) - y)
    return within(unequal(misfit, 0.5 * float((y**2).sum())), ROUNDING, f"the misfit is {misfit:.17g}; relative error")


def taylor_remainder(entry, case) -> Figure:
    """Check that the remainder of the misfit after its derivative falls with the square of the step.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        The problem, the shots and the models.

    Returns
    -------
    Figure
        Relative error of the fitted power of the step, which is 2 in theory, and the bound 0.05.

    Raises
    ------
    Broken
        If the law does not hold.
    unittest.SkipTest
        If the executor does not support the problem, or computes no gradient.
    """
    observed = entry.forward(case) - case.noise()
    misfit, gradient = entry.misfit_and_gradient(case, observed)
    slope = sum((d * g).sum() for d, g in zip(case.direction(), gradient, strict=True))
    steps, remainders = 1e-3 * 0.5 ** np.arange(5), []
    for h in steps:
        models = [m + h * d for m, d in zip(case.models, case.direction(), strict=True)]
        perturbed, _ = entry.misfit_and_gradient(attrs.evolve(case, models=models), observed)
        remainders.append(abs(perturbed - misfit - h * slope))
    order = np.polyfit(np.log(steps), np.log(remainders), 1)[0]
    return within(
        abs(order / 2 - 1), 0.05, f"the remainder falls with the power {order:.3f} of the step; error of that"
    )


def regions(case) -> dict[str, tuple[int, ...]]:
    """Return a cell in the interior, on each face, in each corner, at a source and at a receiver.

    Parameters
    ----------
    case : Case
        A case with at least two shots of two sources and four receivers each, at integer positions.

    Returns
    -------
    dict of str to tuple of int
        Index of one cell in the models, (z, x) or (z, y, x), for the name of each region.
    """
    shape = case.problem.grid.shape
    middle = tuple(n // 2 for n in shape)
    cells = {
        "interior": middle,
        "a source": case.shots.sources[0, 1][::-1],
        "a receiver": case.shots.receivers[1, 3][::-1],
    }
    for axis, n in enumerate(shape):
        for end in (0, n - 1):
            cells[f"face {'zyx'[axis - len(shape)]}{end}"] = (*middle[:axis], end, *middle[axis + 1 :])
    for corner in product(*((0, n - 1) for n in shape)):
        cells[f"corner {corner}"] = corner
    return {name: tuple(int(i) for i in cell) for name, cell in cells.items()}


def gradient_in_every_region(entry, case) -> Figure:
    """Check the derivative in single cells by complex step. Edge cells include the PML cells that copy them.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        A case that fits :func:`regions`.

    Returns
    -------
    Figure
        Largest relative error of a derivative, and the bound 1e-11. Derivatives below the mean absolute value of the
        gradient are compared relative to that mean.

    Raises
    ------
    Broken
        If the law does not hold.
    unittest.SkipTest
        If the executor does not support the problem, or computes no gradient.
    """
    y, errors = case.noise(), []
    gradient = entry.jacobian_transposed(case, y)
    for region, cell in regions(case).items():
        for i, (g, parameter) in enumerate(zip(gradient, case.problem.equation.parameters, strict=True)):
            expected = (born_of_cell(case, cell, i) * y).sum()
            difference = relative(g[cell], expected, np.abs(g).mean())
            errors.append((difference, f"derivative in {parameter.name} at {region}, relative error"))
    return worst(errors, 1e-11)


def gradient_equals_finite_difference(entry, case) -> Figure:
    """Check the gradient against finite differences of the executor's own misfit, without the reference.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        A case that fits :func:`regions`.

    Returns
    -------
    Figure
        Largest relative error of a derivative, and the bound 1e-4. Derivatives below the mean absolute value of the
        gradient are compared relative to that mean.

    Raises
    ------
    Broken
        If the law does not hold.
    unittest.SkipTest
        If the executor does not support the problem, or computes no gradient.
    """
    observed, errors = entry.forward(case) - case.noise(), []
    _, gradient = entry.misfit_and_gradient(case, observed)
    for region, cell in regions(case).items():
        for i, (g, parameter) in enumerate(zip(gradient, case.problem.equation.parameters, strict=True)):
            h, values = 1e-4 * abs(case.models[i]).mean(), []
            for step in (h, -h):
                models = [m.copy() for m in case.models]
                models[i][cell] += step
                values.append(entry.misfit_and_gradient(attrs.evolve(case, models=models), observed)[0])
            difference = relative((values[0] - values[1]) / (2 * h), g[cell], np.abs(g).mean())
            errors.append((difference, f"derivative in {parameter.name} at {region}, relative error"))
    return worst(errors, 1e-4)


def strategies_agree(entry, case, strategy) -> Figure:
    """Check that a memory strategy gives the gradient of 'full'.

    A lossless strategy gives the same bits, unless a framework reorders its operations.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        The problem, the shots and the models.
    strategy : str
        Name of a memory strategy, a key of `sweep_core.testing.cases.STRATEGIES`.

    Returns
    -------
    Figure
        Largest difference of a gradient, relative to the maximum of the gradient of 'full'. The bound is the larger of
        `entry.rounding` and the error of an inexact strategy; `sweep_core.testing.cases.INEXACT` has these errors.

    Raises
    ------
    Broken
        If the law does not hold.
    unittest.SkipTest
        If the executor does not support the problem, or computes no gradient.
    KeyError
        If no strategy has this name.
    """
    y, full = case.noise(), case.remembering("full")
    pairs = zip(*(entry.jacobian_transposed(c, y) for c in (case.remembering(strategy), full)), strict=True)
    bound = max(entry.rounding, INEXACT.get(strategy, 0.0))
    return within(np.max([error(a, b) for a, b in pairs]), bound, f"gradients of {strategy!r} and 'full'")


def known_rows_have_no_gradient(entry, case, strategy="full", row=8) -> Figure:
    """Check that the gradient is zero above MemoryOptions(known_above=row), and unchanged in other rows.

    The other rows have the bits of a run without known rows, unless a framework reorders its operations.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        The problem, the shots and the models.
    strategy : str, default "full"
        Name of a memory strategy, a key of `sweep_core.testing.cases.STRATEGIES`.
    row : int, default 8
        Number of known rows, from the top of the models.

    Returns
    -------
    Figure
        Largest difference from the expected gradient, relative to the maximum of the gradient without known rows. The
        bound is that of :func:`strategies_agree`.

    Raises
    ------
    Broken
        If the law does not hold.
    unittest.SkipTest
        If the executor does not support the problem, or computes no gradient.
    KeyError
        If no strategy has this name.
    DomainError
        If `row` is not less than the number of rows of the models.
    """
    y, errors, memory = case.noise(), [], STRATEGIES[strategy]
    known = case.remembering(attrs.evolve(memory, known_above=row))
    for g, whole in zip(*(entry.jacobian_transposed(c, y) for c in (known, case.remembering(memory))), strict=True):
        expected = whole.copy()
        expected[(..., slice(0, row), *(slice(None),) * (case.problem.grid.ndim - 1))] = 0
        errors.append(relative(np.abs(g - expected).max(), 0.0, np.abs(whole).max()))
    return within(np.max(errors), max(entry.rounding, INEXACT.get(strategy, 0.0)), f"gradient known above row {row}")


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


def known_rows_scatter_nothing(entry, case, strategy="full", row=8) -> Figure:
    """Check that the Born record with MemoryOptions(known_above=row) ignores the direction in the known rows.

    Parameters
    ----------
    entry : Entry
        The executor under test.
    case : Case
        The problem, the shots and the models.
    strategy : str, default "full"
        Name of a memory strategy, a key of `sweep_core.testing.cases.STRATEGIES`.
    row : int, default 8
        Number of known rows, from the top of the models.

    Returns
    -------
    Figure
        Largest difference of a field's Born record, relative to the maximum of that field in the reference, and the
        bound 1e-12.

    Raises
    ------
    Broken
        If the law does not hold.
    unittest.SkipTest
        If the executor does not support the problem, or computes no Born record.
    KeyError
        If no strategy has this name.
    DomainError
        If `row` is not less than the number of rows of the models.
    """
    known, direction = case.remembering(attrs.evolve(STRATEGIES[strategy], known_above=row)), case.direction()
    for d in direction:
        d[(..., slice(0, row), *(slice(None),) * (case.problem.grid.ndim - 1))] = 0
    expected = ReferenceExecutor().born(case.problem, case.shots, case.models, direction)
    return within(record_error(entry.born(known), expected), ROUNDING, f"Born known above row {row}, error of a field")


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
