"""Staggered differences along z next to a free surface that conserve energy (summation by parts)."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .stencils import Stencil, check_order, staggered_derivative


class Closure(NamedTuple):
    """Differences next to a free surface, and the lengths (in cells) that their nodes stand for.

    `whole` are the lengths at z = 0, 1, ..; `half` at 1/2, 3/2, ..; rows of `forward` give derivatives at the latter of
    values at the former, `backward` the reverse, for values that are zero at z = 0.
    """

    whole: np.ndarray
    half: np.ndarray
    forward: np.ndarray
    backward: np.ndarray


def one_sided_rows(order: int) -> int:
    """Return the number of rows below a free surface whose differences of solids have weights of their own."""
    return 1 if order == 2 else max(order // 2, 4)


@lru_cache
def closure(order: int) -> Closure:
    """Return differences with whole_j backward_jm = -half_m forward_mj at all nodes; interior rows are as usual.

    With them, and values that vanish at z = 0 (tractions), sum whole f D g + sum half g D f = 0, and leapfrog conserves
    energy in any medium. The unknowns are the lengths and the first rows of Q = whole backward. They must be exact for
    polynomials of degree 2 (degree 1 for order 2), which is linear in the unknowns. Up to order 8, the remaining
    freedom minimises the squared errors for degree 3; beyond order 8 that would reduce the time step. Closures of this
    kind: Strand 1994; O'Reilly et al. 2017.
    """
    n = check_order(order) // 2
    rows, degree = one_sided_rows(order), 1 if order == 2 else 2
    wide = rows + n
    weights = np.concatenate([-staggered_derivative(order)[::-1], staggered_derivative(order)])

    def interior(j, m):
        return weights[m - j + n] if -n <= m - j < n else 0.0

    known = np.array([[interior(j, m) for m in range(wide)] for j in range(wide)])
    exact = [_conditions(known, rows, p) for p in range(degree + 1)]
    matrix, value = (np.concatenate(part) for part in zip(*exact, strict=True))
    start = np.concatenate([[0.5], np.ones(2 * rows - 1), known[:rows, :rows].ravel()])
    x = start + np.linalg.lstsq(matrix, value - matrix @ start, rcond=1e-12)[0]
    if 2 < order <= 8:
        free = np.linalg.svd(matrix)[2][np.linalg.matrix_rank(matrix) :].T
        matrix, value = _conditions(known, rows, degree + 1)
        x = x + free @ np.linalg.lstsq(matrix @ free, value - matrix @ x, rcond=1e-12)[0]
    whole, half = x[:rows], x[rows : 2 * rows]
    known[:rows, :rows] = x[2 * rows :].reshape(rows, rows)
    return Closure(whole, half, -known.T[:rows] / half[:, None], known[:rows] / whole[:, None])


def closed_rows(equation) -> int:
    """Return the number of rows below a free surface in which operators or their transposes have special weights."""
    order, half = equation.spatial_order, equation.spatial_order // 2
    return half if equation.levels == 2 else one_sided_rows(order) + half


def rows_under_surface(stencil: Stencil, field, rows: int) -> np.ndarray:
    """Return the first rows of a stencil along z under a free surface, which act on as many rows of a mirrored field.

    Row 0 of the field or of the result, whichever lies at whole nodes, is the surface. Above it the field is continued
    as its image of parity 1 or -1, zero on the surface where it is odd.
    """
    staggered = "z" in field.stagger
    matrix = np.zeros((rows, rows))
    for i in range(rows):
        entries = [(i, stencil.centre)]
        for k, w in enumerate(stencil.weights, start=1):
            entries += [(i + k - stencil.back, w), (i + stencil.ahead - k, stencil.sign * w)]
        for node, weight in entries:
            image = field.parity if node < 0 else 1
            at = node if node >= 0 else -1 - node if staggered else -node
            if at < rows and not (at == 0 and field.on_surface):
                matrix[i, at] += image * weight
    return matrix


def closure_rows(order: int, field) -> np.ndarray:
    """Return the first rows of the difference along z of a field that is not mirrored, for unit spacing.

    The rows leave out the known values at the surface: the value of a field that is zero there, and the derivative
    of a field that is not.
    """
    forward, odd = "z" not in field.stagger, field.parity < 0
    rows = (closure(order).forward if forward else closure(order).backward).copy()
    if forward and odd:
        rows[:, 0] = 0
    if not forward and not odd:
        rows[0] = 0
    return rows


def node_heights(order: int, field) -> np.ndarray:
    """Return the heights (cells) that the first rows of nodes of a field that is not mirrored stand for.

    All further rows stand for one cell.
    """
    near = closure(order)
    return near.half if "z" in field.stagger else near.whole


def mean_rows(stencil: Stencil, order: int, field) -> np.ndarray:
    """Return the first rows of the mean along z of a field that is not mirrored, and is odd about the surface.

    The nodes of the field count by their heights, so that means between whole and half nodes are transposes of each
    other in the energy: whole_j M_jm = half_m M'_mj.
    """
    heights, half = node_heights(order, field), order // 2
    rows = len(heights) + half
    matrix = rows_under_surface(stencil, field, rows + half)[:rows]
    matrix[:, : len(heights)] *= heights
    return matrix


def _conditions(known, rows, degree):
    """Return (matrix, value): differences exact for z^degree, as equations for (whole, half, Q row by row)."""
    wide, matrix, value = len(known), [], []
    at, between = np.arange(wide) ** float(degree), (np.arange(wide) + 0.5) ** degree
    slopes = [degree * z ** max(degree - 1, 0) for z in (np.arange(rows), np.arange(rows) + 0.5)]
    for node in range(rows):
        if node or degree:  # at z = 0 values that vanish there are differentiated
            row = np.zeros((rows + 2, rows))
            row[2 + node], row[0, node] = between[:rows], -slopes[0][node]
            matrix.append(row.ravel())
            value.append(-known[node, rows:] @ between[rows:])
        row = np.zeros((rows + 2, rows))
        row[2:, node], row[1, node] = -at[:rows], -slopes[1][node]
        matrix.append(row.ravel())
        value.append(known[rows:, node] @ at[rows:])
    return np.array(matrix), np.array(value)
