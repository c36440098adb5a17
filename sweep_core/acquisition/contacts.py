"""Interpolation on one side of a contact of fluid and solid, where fields or their slopes jump."""

from itertools import product

import attrs

from .._util.arrays import whole
from ..discretization.node_averages import NodeAverages
from .positions import OFFSETS, RADIUS, Points, interpolated, points_of

DEGREE = 2
"""Degree of the polynomials that the nodes of one side reproduce."""
RTOL = 1e-6
"""Polynomials that the nodes of one side tell apart no better are not asked for, such as slopes across a single row."""


def has_contacts(solid) -> bool:
    """Return True if some cells of a readable array are solid and others fluid; False without an array."""
    return solid is not None and bool(solid.any()) and not bool(solid.all())


def points_beside(xp, problem, names, positions, nshots: int, solid) -> list[Points]:
    """Return the points of :func:`points_of`, each on one side of the contacts of `solid` cells with fluid ones."""
    points = points_of(xp, problem, names, positions, nshots)
    if solid is None or not interpolated(positions):
        return points
    positions = positions if len(positions.shape) == 3 else positions[:, None]
    one_sided = []
    for p in points:
        weights = _one_sided(xp, problem, problem.field(p.field), positions, p.cells, p.weights, solid)
        one_sided.append(attrs.evolve(p, weights=weights))
    return one_sided


def _one_sided(xp, problem, field, positions, cells, weights, solid):
    """Return weights (nshots, n, taps) of the nodes alone that lie on the position's side of a contact.

    They are the nearest to the given ones of all weights that reproduce polynomials from these nodes. Weights stay
    where no node is on the other side. A node on the contact itself is on both.

    Parameters
    ----------
    positions : (nshots or 1, n, ndim) array
        Positions of a float dtype.
    cells, weights : (nshots, n, taps) array
        Flat cells of the padded grid, and weights across the contact.
    solid : (1 or nshots, *padded grid) bool array
    """
    shape, node_averages, share = weights.shape, NodeAverages(problem, xp), 1.0 * solid
    if positions.shape[0] == solid.shape[0] == 1:  # shots share positions and earth
        cells, weights = cells[:1], weights[:1]
    in_solid = _at(xp, share, _cell_of(xp, problem, positions, weights.shape[:2]))[..., None] > 0
    for axis in set(field.stagger) & set(node_averages.axes):
        share = node_averages.mean(share, axis)
    shares = _at(xp, share, cells)
    own = xp.where(in_solid, shares > 0, shares < 1)
    powers = _powers(xp, problem, field, positions)
    near, weight = xp.where(own[..., None], powers, 0 * powers), xp.where(own, weights, 0 * weights)
    moments = (near * weight[..., None]).sum(-2)
    lack = xp.concatenate([1 - moments[..., :1], -moments[..., 1:]], -1)
    inverse = xp.linalg.pinv(xp.swapaxes(near, -1, -2) @ near, RTOL, True)
    shift = (near @ (inverse @ lack[..., None]))[..., 0]
    return xp.broadcast_to(xp.where(own.all(-1)[..., None], weights, weight + shift), shape)


def _cell_of(xp, problem, positions, shape):
    """Return the flat cell (nshots, n) of a position; on a border, the one after it."""
    cell = 0
    for axis, ((low, _), n) in enumerate(zip(problem.pml, problem.padded_shape, strict=True)):
        at = whole(xp, xp.floor(positions[..., problem.grid.ndim - 1 - axis] + 0.5))
        cell = cell * n + xp.clip(at, 0, problem.grid.shape[axis] - 1) + low
    return xp.broadcast_to(cell, shape)


def _at(xp, values, cells):
    """Return values (1 or nshots, *padded grid) at flat cells (nshots, ...), or the first value for no cell."""
    flat, cells = values.reshape(values.shape[0], -1), xp.clip(cells, 0, None)
    if flat.shape[0] == 1:
        return flat[0][cells]
    return xp.stack([values[at] for values, at in zip(flat, cells, strict=True)])


def _powers(xp, problem, field, positions):
    """Return monomials at the nodes, (nshots or 1, n, taps, monomials).

    They are of the distance to the position in window widths.

    With the sign of a field's image above a free surface; zero where a node has no value of its own there.
    """
    grid, lines = problem.grid, []
    for axis, name in enumerate(grid.axes):
        at = positions[..., grid.ndim - 1 - axis] - 0.5 * (name in field.stagger)
        node = xp.stack([xp.floor(at) + offset for offset in OFFSETS], -1)
        x = (node - at[..., None]) / RADIUS
        sign = xp.ones_like(x)
        if axis == 0 and problem.free_surface:
            sign = xp.where(node < 0, field.parity * sign, sign)
            sign = xp.where((node == 0) & field.on_surface, 0 * sign, sign)
        lines.append([sign * x**power for power in range(DEGREE + 1)])
    columns = []
    for powers in product(range(DEGREE + 1), repeat=grid.ndim):
        if sum(powers) <= DEGREE:
            column = lines[0][powers[0]]
            for line, power in zip(lines[1:], powers[1:], strict=True):
                column = (column[..., :, None] * line[power][..., None, :]).reshape(*column.shape[:-1], -1)
            columns.append(column)
    return xp.stack(columns, -1)
