"""The programme: the laws of an equation and an executor, their cases, and their results."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from unittest import SkipTest

import attrs
import numpy as np

from ..errors import UnsupportedError
from . import laws
from .cases import ONE_AXIS, VARIANTS, case, default_shape, ricker_case, variant
from .entries import Entry, runs

__all__ = ["Result", "conforms", "judged", "programme"]

ORDERS = (2, 4, 6, 8)
"""Spatial orders of the laws of records and adjoints."""
LARGE = {1: (2500,), 2: (56, 60), 3: (18, 17, 16)}
"""Shapes of the laws of thousands of cells, by the number of dimensions."""
LONG = {1: (40,), 2: (16, 18), 3: (9, 10, 11)}
"""Shapes of the laws of thousands of steps, by the number of dimensions."""
LATE = "time is up; --minutes gives more"
"""The reason of a law that was skipped for lack of time."""


@attrs.frozen
class Result:
    """The result of one law: executor or rank (`who`), law, `status`, seconds, and figure or reason.

    `status` is ``'held'``, ``'broken'`` or ``'skipped'``.

    Parameters
    ----------
    who : str
        Name of the executor, or the rank.
    law : str
        Name of the law.
    status : str
        ``'held'``, ``'broken'`` or ``'skipped'``.
    seconds : float
        Run time of the law (s).
    figure : Figure, optional
        Error and bound of a law that holds.
    reason : str, default ""
        Error message of a broken law, or the reason of a skipped one.
    """

    who: str
    law: str
    status: str
    seconds: float
    figure: laws.Figure | None = None
    reason: str = ""


def judged(who: str, name: str, law: Callable[[], laws.Figure]) -> Result:
    """Run a law and return its result.

    Parameters
    ----------
    who : str
        Name of the executor, or the rank.
    name : str
        Name of the law.
    law : callable
        A function without arguments that returns a Figure.

    Returns
    -------
    Result
        A law that raises SkipTest or UnsupportedError is skipped. A law that raises another Exception is broken.
    """
    begin = time.perf_counter()

    def result(status, **details):
        return Result(who, name, status, time.perf_counter() - begin, **details)

    try:
        return result("held", figure=law())
    except (SkipTest, UnsupportedError) as reason:
        return result("skipped", reason=str(reason))
    except Exception as failure:
        kind = "" if isinstance(failure, AssertionError) else f"{type(failure).__name__}: "
        return result("broken", reason=f"{kind}{failure}")


def programme(equation: type, entry: Entry, ranges=()) -> Iterator[tuple[str, Callable[[], laws.Figure]]]:
    """Yield (name, law) of an equation and an executor; `ranges` as in :func:`sweep_core.testing.cases.case`.

    Parameters
    ----------
    equation : type
        Class of the equation.
    entry : Entry
        The executor under test.
    ranges : tuple of (str, (float, float)), optional
        Pairs (name, (low, high)) with the range of a parameter. Other parameters have their default range.

    Yields
    ------
    name : str
        Name of the law.
    law : callable
        A function without arguments that returns a Figure. It raises Broken if the law does not hold, and SkipTest if
        the law cannot run.
    """
    small, instance = partial(case, equation, ranges=ranges), equation()
    ndim = len(default_shape(instance))

    def on(law, make, *more):
        return lambda: law(entry, runs(make()), *more)

    yield "bad input", on(laws.bad_input_is_refused, small)
    large = partial(small, shape=LARGE[ndim], nt=120)
    many = partial(small, nshots=11)
    for order in ORDERS:
        yield f"forward, order {order}", on(laws.forward_equals_reference, partial(small, order))
    yield "forward, thousands of cells", on(laws.forward_equals_reference, large)
    yield "forward, 11 shots", on(laws.forward_equals_reference, many)
    yield "two runs", on(laws.two_runs_are_identical, small)
    yield "shots add up", on(laws.shots_add_up, small)
    for field in instance.reciprocal:
        if field in [f.name for f in instance.waves_in(ndim)]:
            yield f"reciprocity of {field}", on(laws.reciprocity, small, field)
    long = partial(ricker_case, equation=equation, nt=2000, shape=LONG[ndim])
    yield "float32, 2000 steps", on(laws.single_precision, partial(long, ranges=ranges))
    with_gradients = entry.name != "reference"
    if with_gradients:
        yield from _derivatives(on, small)
        yield "J and J^T, thousands of cells", on(laws.jacobian_and_adjoint, large)
        yield "J and J^T, 11 shots", on(laws.jacobian_and_adjoint, many)
    for name, options in {**VARIANTS, **(ONE_AXIS if 1 in instance.ndims else {})}.items():
        make_variant = partial(variant, name, equation, ranges=ranges)
        yield f"forward, {name}", on(laws.forward_equals_reference, make_variant)
        # The reference differentiates by complex step, which cannot keep the earth under the PML fixed.
        if with_gradients and "edge_gradient" not in options:
            yield f"J and J^T, {name}", on(laws.jacobian_and_adjoint, make_variant)


def _derivatives(on, small):
    yield "Born", on(laws.born_equals_reference, small)
    yield "misfit", on(laws.half_the_sum_of_squares, small)
    for order in ORDERS:
        yield f"J and J^T, order {order}", on(laws.jacobian_and_adjoint, partial(small, order))
    yield "Taylor", on(laws.taylor_remainder, small)
    yield "gradient, every region", on(laws.gradient_in_every_region, small)
    yield "gradient, finite difference", on(laws.gradient_equals_finite_difference, small)
    yield "gradient in float32", on(laws.gradient_in_single_precision, small)
    yield "pullback", on(laws.pullback_is_the_gradient, small)
    yield "no shots", on(laws.no_shots, small)
    for strategy in ("auto", "ckpt-1", "ckpt-7", "recursive-1", "boundary"):
        yield f"memory {strategy!r}", on(laws.strategies_agree, small, strategy)
    yield "memory, known rows", on(laws.known_rows_have_no_gradient, small)
    yield "Born, known rows", on(laws.known_rows_scatter_nothing, small)


def conforms(equation: type, entries: list[Entry], ranges=(), minutes: float = 5.0) -> Iterator[Result]:
    """Run every law of an equation, one executor after the other, within `minutes`.

    Eager implementations, which take seconds to compile, come last, and skip the laws for which no time is left.

    Parameters
    ----------
    equation : type
        Class of the equation.
    entries : list of Entry
        The executors under test.
    ranges : tuple of (str, (float, float)), optional
        Pairs (name, (low, high)) with the range of a parameter. Other parameters have their default range.
    minutes : float, default 5
        Time limit for all executors (min). A law that runs at the limit still finishes.

    Yields
    ------
    Result
        The result of each law, as soon as it is known. An executor that does not support the equation gives one skipped
        result.

    Raises
    ------
    OptionError
        If the equation has no example in `ranges`.
    """
    end = time.monotonic() + 60 * minutes
    for left, entry in enumerate(sorted(entries, key=lambda e: e.rounding), start=-len(entries)):
        stop = time.monotonic() + (end - time.monotonic()) / -left
        try:
            entry.executor_for(runs(case(equation, ranges=ranges)).problem)
        except SkipTest as reason:
            yield Result(entry.name, "all", "skipped", 0.0, reason=str(reason))
            continue
        with np.errstate(all="ignore"):
            for name, law in programme(equation, entry, ranges):
                if time.monotonic() > stop:
                    yield Result(entry.name, name, "skipped", 0.0, reason=LATE)
                else:
                    yield judged(entry.name, name, law)
