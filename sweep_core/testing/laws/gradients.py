"""Laws of gradients and of the adjoint."""

from itertools import product

import attrs
import numpy as np

from ..._util.arrays import numpy_of
from ...execution.answers import error, record_error, relative, unequal
from ..cases import born_of_cell, reference_born
from .figure import ROUNDING, Broken, Figure, within, worst

__all__ = [
    "gradient_equals_finite_difference",
    "gradient_in_every_region",
    "gradient_in_single_precision",
    "half_the_sum_of_squares",
    "jacobian_and_adjoint",
    "pullback_is_the_gradient",
    "regions",
    "taylor_remainder",
]


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
