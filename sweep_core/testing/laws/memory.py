"""Laws of memory strategies and of known rows."""

import attrs
import numpy as np

from ...execution.answers import error, record_error, relative
from ...execution.reference import ReferenceExecutor
from ..cases import INEXACT, STRATEGIES
from .figure import ROUNDING, Figure, within

__all__ = ["known_rows_have_no_gradient", "known_rows_scatter_nothing", "strategies_agree"]


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
