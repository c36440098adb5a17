"""The time steps that are stable in a model: a bound of the largest eigenvalue of a leapfrog step."""

from functools import reduce
from math import inf
from typing import Any

import numpy as np

from ..equations.terms import TableEquation
from .array_ops import Ops, coefficients_of

ROUNDS = 6
"""Times that weights are improved; the bound is then within 3 % of the limit of dt in each model that was tried."""
SMALLEST = 1e-30
"""The smallest weight, relative to the largest. Any positive weights give a bound; these fit into float32."""

UNSTABLE = 1e20
"""The limit of a first coefficient that does not tell whether dt is stable: larger than any property of the earth."""


def excess(problem, ops: Ops, models) -> Any:
    """Return the square of dt over the largest stable time step of models, a number of the array library of `ops`.

    Operations whose values can be read stop as soon as the square is known to be 1 at most.
    """
    equation, models = problem.equation, [ops.hold(m) for m in models]
    by_speed = (equation.speed(*models).max() / problem.largest_speed) ** 2
    if not equation.depends_on_contrasts(ops.ndim):
        return by_speed
    earths = max(m.shape[0] if len(m.shape) > ops.ndim else 1 for m in models)
    values = coefficients_of(problem, models, earths, ops.xp, ops.hold, ops.constant)
    coefficients: dict[str | None, Any] = dict(zip(problem.coefficient_names, values, strict=True))
    coefficients |= {name: ops.constant(np.array(value)) for name, value in problem.constants.items()}
    return ops.xp.maximum(by_speed, eigenvalue_bound(equation, ops, coefficients) / 4)


def eigenvalue_bound(equation: TableEquation, ops: Ops, coefficients: dict[str | None, Any]) -> Any:
    """Return a number that no eigenvalue of -G exceeds, where G maps fields at half time steps to what they grow by in
    one step, through the fields that they change. Steps are stable while these eigenvalues are 4 at most.

    |G| is G with the magnitudes of weights and coefficients, so it has no negative entry. For any positive w the
    largest of |G| w / w is a bound of its eigenvalues (Collatz 1942). The bound falls to the largest eigenvalue as
    |G| w replaces w. The weights of staggered differences change sign from node to node, so -G is |G| up to the signs
    of nodes. The bound is therefore sharp, except for negative coefficients and for rows beside a free surface. The
    first w is one everywhere and takes coefficients with their sign, which is exact in a uniform medium of differences
    alone; other operators, such as means, make signs that this does not bound.
    """
    ops, xp = ops.magnitudes(), ops.xp
    names = [f.name for f in equation.waves_in(ops.ndim) if "t" in f.stagger]
    signed = all(rate.operator in ("D", "same") for rate in equation.rates_in(ops.ndim))
    like = next(iter(coefficients.values()))
    rounding = 1 + 64 * xp.finfo(like.dtype).eps
    if ops.readable:
        extremes: dict[str | None, Any] = {name: abs(c).max() for name, c in coefficients.items()}
        step = _step_of(equation, _OnNumbers(ops), extremes, dict.fromkeys(names, 1.0), abs)
        if (bound := max(step.values()) / rounding) <= 4:
            return bound

    def next_round(state):
        """Return (bound, weights) of the next round.

        The bound before the first round, with weights of one, is infinite.
        """
        bound, weights = state
        step = _step_of(equation, ops, coefficients, weights, lambda c: xp.where(xp.isinf(bound) & signed, c, abs(c)))
        ratio = reduce(xp.maximum, ((step[name] / weights[name]).max() for name in names))
        peak = reduce(xp.maximum, (x.max() for x in step.values()))
        following = {name: xp.where(x > SMALLEST * peak, x / peak, SMALLEST) for name, x in step.items()}
        bounded = {name: xp.where(xp.isinf(bound), weights[name], x) for name, x in following.items()}
        return xp.minimum(bound, ratio / rounding), bounded

    start = ops.zeros(()) + inf, dict.fromkeys(names, xp.ones_like(like))
    return ops.repeated(next_round, start, 1 + ROUNDS, lambda state: state[0] <= 4)[0]


def marked(problem, ops: Ops, models, coefficients: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the coefficients of models whose values cannot be read, as compiled code checks them.

    If dt is unstable and the limit of the first coefficient does not say so, that coefficient becomes `UNSTABLE`,
    its limit then, times the square of dt over the largest stable time step.
    """
    first, *others = coefficients
    if coefficient_limit(problem) == UNSTABLE:
        square = excess(problem, ops, models)
        first = ops.xp.where(square > 1, UNSTABLE * square, first)
    return first, *others


def coefficient_limit(problem) -> float:
    """Return the largest stable value of the first coefficient, for compiled code."""
    return min(problem.equation.coefficient_limit(problem.largest_speed), UNSTABLE)


class _OnNumbers:
    """Operations on numbers instead of fields: the largest that they make of fields that are nowhere larger."""

    def __init__(self, ops: Ops):
        self.ops, self.ndim, self.problem = ops, ops.ndim, ops.problem

    def apply(self, operator, x, axis, field):
        return x * self.ops.largest_sum(operator, axis, field)

    def off_surface(self, field, x):
        return x


def _step_of(equation, ops, coefficients, fields, magnitude) -> dict[str, Any]:
    """Return the increments of fields at half time steps, with the `magnitude` of each coefficient.

    All signs of rates are positive. Steps become unstable by fields that change their sign from step to step, u to -u.
    A field that loses c u and grows by s then is -s / (2 - c), instead of -s / 2 without a loss, so its increment
    counts 2 / (2 - c) times. A field that loses k u of another such field grows by k s / (2 - c).
    """
    stages, values = equation.stages(ops.ndim), dict(fields)
    last = next(i for i, stage in enumerate(stages) if stage[0].name in fields)
    rates = {r.name: r for r in equation.rates_in(ops.ndim)}
    for stage in (*stages[last + 1 :], *stages[: last + 1]):
        moduli = [
            (f, m.coefficient, rates[m.rate]) for f in stage for m in equation.moduli_in(ops.ndim) if m.target == f.name
        ]
        growth = [entry for entry in moduli if not _is_loss(ops.problem, entry[0], entry[2])]
        losses = {
            (f.name, source): 1.0 if name is None else magnitude(coefficients[name])
            for f, name, rate in moduli
            if _is_loss(ops.problem, f, rate)
            for _, source in rate.terms
        }
        sums = {rate.name: _sum_of(ops, values, rate) for _, _, rate in growth}
        for field in stage:
            parts = (
                sums[rate.name] if name is None else magnitude(coefficients[name]) * sums[rate.name]
                for target, name, rate in growth
                if target is field
            )
            values[field.name] = ops.off_surface(field, sum(parts))
        for name in (f.name for f in stage if (f.name, f.name) in losses):
            values[name] = values[name] * 2 / abs(2 - losses[name, name])
        for name, source in ((name, source) for name, source in losses if name != source):
            values[name] = values[name] + losses[name, source] * values[source] / 2
    return {name: values[name] for name in fields}


def _is_loss(problem, field, rate) -> bool:
    """Return True if a rate is the value of fields of the same time as the field that it changes."""
    late = "t" in field.stagger
    return field.order > 0 and rate.operator == "same" and all(problem.at_half_step(f) == late for _, f in rate.terms)


def _sum_of(ops, values, rate) -> Any:
    """Return a rate without its sign and without the PML."""
    axes = ops.problem.grid.axes
    return sum(
        values[field] if rate.operator == "same" else ops.apply(rate.operator, values[field], axes.index(axis), field)
        for axis, field in rate.terms
    )
