"""The operators of an equation on the grid of a problem: stencils, PML profiles, rows under a free surface."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..equations.equation import Field
from ..equations.terms import BETWEEN, OPERATORS
from ..errors import OptionError, UnsupportedError
from ..numerics.cpml import Profiles
from ..numerics.free_surface import closed_rows, closure_rows, mean_rows, node_heights, rows_under_surface
from ..numerics.stencils import (
    Stencil,
    first_derivative,
    midpoint_mean,
    root_shift,
    second_derivative,
    second_derivative_root,
    staggered_derivative,
)


class Axis(NamedTuple):
    """Weights along one padded axis, of differences scaled by dt / dh each, and its PML profiles; float64.

    `d` is the staggered difference, `d1` and `d2` the central ones, `mean` that of the nodes around half a cell
    further, `root` the R of `second_derivative_root`; `whole` are the profiles at nodes, `half` those half a cell
    further, or where R takes the derivative if the equation is of second order. They feed every implementation.
    """

    d: np.ndarray
    d1: np.ndarray
    d2: np.ndarray
    mean: np.ndarray
    root: np.ndarray
    whole: Profiles
    half: Profiles


@lru_cache(maxsize=64)
def axis_of(problem, axis: int) -> Axis:
    """Return weights and profiles of one axis of the grid, counted from 0."""
    cells, spacing, dt = problem.padded_shape[axis], problem.grid.spacing[axis], problem.dt
    order, scale = problem.equation.spatial_order, dt / spacing
    further = root_shift(order) if problem.equation.levels == 2 else 0.5
    return Axis(
        staggered_derivative(order) * scale,
        first_derivative(order) * scale,
        second_derivative(order) * scale**2,
        midpoint_mean(order),
        second_derivative_root(order) * scale,
        *(problem.cpml.profiles(axis, cells, spacing, dt, shift) for shift in (0.0, further)),
    )


def _between(problem, axis, field):
    """Return True if the nodes of a field lie half a cell further along an axis."""
    return problem.grid.axes[axis] in field.stagger


def stencil_of(problem, operator: str, axis: int, field: Field) -> Stencil:
    """Return the stencil of an operator of `DerivativeSum` on a field along an axis, far from a surface."""
    weights = getattr(axis_of(problem, axis), operator.lower()).tolist()
    centre = weights.pop(0) if operator == "D2" else 0.0
    between = _between(problem, axis, field)
    back, ahead = (int(between), int(not between)) if operator in BETWEEN else (0, 0)
    return Stencil(centre, tuple(weights), 1 if operator in ("D2", "mean") else -1, back, ahead)


def profile_of(problem, operator: str, axis: int, field: Field) -> tuple[np.ndarray, np.ndarray]:
    """Return (decay, gain) of the PML at the nodes of an operator's result along an axis."""
    decay, gain, _ = _profiles(problem, axis, _between(problem, axis, field) != (operator in BETWEEN))
    return decay, gain


def _profiles(problem, axis, further):
    numbers = axis_of(problem, axis)
    return numbers.half if further else numbers.whole


def damping_of(problem, field: Field) -> list[np.ndarray]:
    """Return the factors of a field in a step in multi-axial layers: one for each axis with such layers."""
    ndim, factors = problem.grid.ndim, []
    for axis in range(ndim):
        if problem.cpml.damps_fields(axis):
            profile = _profiles(problem, axis, _between(problem, axis, field)).damping
            factors.append(profile.reshape(-1, *(1,) * (ndim - 1 - axis)))
    return factors


@lru_cache(maxsize=1024)
def damped_field(problem, name: str) -> Field | None:
    """Return a field at the nodes of a coefficient whose changes of lasting fields multi-axial layers damp.

    A coefficient of a field within a step, of order 0, changes a lasting field if the latter takes the former without
    another coefficient. None if every change of a lasting field has another coefficient, which is damped.

    Raises
    ------
    OptionError
        If the coefficient changes fields at different nodes.
    """
    equation = problem.equation
    moduli = equation.moduli_in(problem.grid.ndim)
    read = {rate.name: {field for _, field in rate.terms} for rate in equation.rates_in(problem.grid.ndim)}
    lasting, reached = {f.name for f in equation.waves_in(problem.grid.ndim)}, set[str]()
    while len(lasting) > len(reached):
        reached = lasting
        lasting = reached.union(*(read[m.rate] for m in moduli if m.coefficient is None and m.target in reached))
    targets = [problem.field(m.target) for m in moduli if m.coefficient == name and m.target in lasting]
    if len({frozenset(field.stagger) - {"t"} for field in targets}) > 1:
        raise OptionError(
            f"{equation.name}: {name} changes {[field.name for field in targets]}, which lie at different nodes; "
            "pml_type='mpmls' needs a coefficient for each of these nodes"
        )
    return targets[0] if targets else None


def along_z(problem) -> Iterator[tuple[str, Field]]:
    """Return (operator, field) of all operators along z, in the order of fields, then of operators."""
    there = {
        (r.operator, field) for r in problem.equation.rates_in(problem.grid.ndim) for a, field in r.terms if a == "z"
    }
    return ((operator, f) for f in problem.fields for operator in OPERATORS if (operator, f.name) in there)


def surface_rows(problem, operator: str, field: Field) -> np.ndarray:
    """Return the rows of an operator along z under a free surface, which act on the first rows of a field.

    Raises
    ------
    UnsupportedError
        If the field is not mirrored, and the operator is neither the staggered difference nor the mean of an odd field.
    """
    order = problem.equation.spatial_order
    if field.mirrored:
        return rows_under_surface(stencil_of(problem, operator, 0, field), field, order)[: order // 2]
    if operator == "mean" and field.parity < 0:
        # Values below the last cell are zero.
        return mean_rows(stencil_of(problem, operator, 0, field), order, field)[:, : problem.padded_shape[0]]
    if operator != "D":
        raise UnsupportedError(
            f"{problem.equation.name}: {operator} of {field.name} along z has no closure at a free surface; expected "
            "D, or the mean of a field of parity -1"
        )
    return closure_rows(order, field) * (problem.dt / problem.grid.spacing[0])


def closed(problem, operator: str, field: Field) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows under a free surface in which an operator or its transpose has special weights, for both.

    The transpose of D and D1 has its sign changed, since these operators are minus their transposes far from the
    surface.
    """
    half = problem.equation.spatial_order // 2
    near = closed_rows(problem.equation)
    columns = near + half
    whole = rows_under_surface(stencil_of(problem, operator, 0, field), field, columns + half)
    rows = surface_rows(problem, operator, field)
    whole[: len(rows)] = 0
    whole[: len(rows), : rows.shape[1]] = rows
    transposed = -whole.T if operator in ("D", "D1") else whole.T
    return whole[:near, :columns], transposed[:near, :columns]


def heights(problem, field: Field) -> np.ndarray | None:
    """Return the height, in cells, of the medium around each row of nodes, if it is not one."""
    if not problem.free_surface or field.mirrored:
        return None
    high, first = np.ones(problem.padded_shape[0]), node_heights(problem.equation.spatial_order, field)
    high[: len(first)] = first
    return high
