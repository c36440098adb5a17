"""From positions to weighted cells: a field's own node, or its interpolation between nodes."""

from functools import cache, partial
from math import factorial, pi, prod
from typing import Any

import attrs

from .._util.arrays import cast, dtype_name, whole

RADIUS, SHAPE = 4, 6.31
"""Half width, in cells, and shape parameter b of the window: Hicks (2002), table 4, for up to half of Nyquist."""

OFFSETS = range(1 - RADIUS, RADIUS + 1)
# I0(b sqrt(s)) is a polynomial in s, as far as rounding goes, whose derivative is finite where the window ends.
WINDOW = [(SHAPE**2 / 4) ** k / factorial(k) ** 2 for k in range(30)]


@attrs.frozen(eq=False)
class Points:
    """Rows (field, cell, weight) of a quantity at positions: its contributions from one field.

    Attributes
    ----------
    column : int
        Column of the quantity among those of a trace. A derived quantity has points in several fields.
    field : str
        Name of the field.
    cells : (nshots, n, taps) integer array
        Flat cells of the padded grid; -1 if a position is outside.
    weights : (nshots, n, taps) array
        Weights of the interpolation.
    share : float
        Factor of the field in a derived quantity. It multiplies the weights after they have the precision of the run,
        since torch makes float32 of integers.
    """

    column: int
    field: str
    cells: Any
    weights: Any
    share: float = 1


def interpolated(*positions) -> bool:
    """Return True if some of the positions may lie between nodes, by their dtypes."""
    return any("float" in dtype_name(each) for each in positions)


def widen(positions, dtype: str):
    """Return positions between nodes in float64 where that is the `dtype` of the run: weights have their precision."""
    return cast(positions, dtype) if interpolated(positions) and dtype == "float64" else positions


def taps(problem, positions) -> int:
    """Return the number of cells of one position."""
    return len(OFFSETS) ** problem.grid.ndim if interpolated(positions) else 1


def points_of(xp, problem, names, positions, nshots: int) -> list[Points]:
    """Return the points of fields and derived quantities.

    Positions are (nshots or 1, n, ndim) with columns (x, .., z), or (nshots, ndim).

    `xp` is numpy, torch or jax.numpy. Integers name the field's own node. Other positions x are interpolated from the
    nodes k of each axis by the weights of Hicks (2002, Geophysics 67),

        sinc(x - k) I0(b sqrt(1 - ((x - k) / r)^2)) / I0(b).

    They are differentiable; on a node, where the cut of the window leaves a kink of 0.3 %, the derivative is that to
    the right. Taps above a free surface fold back with the field's parity. For a field of parity 0 they take the cubic
    through its first nodes.
    """
    if len(positions.shape) == 2:
        positions = positions[:, None]
    axes = range(problem.grid.ndim)
    line = cache(partial(_line, xp, problem, positions))  # fields share most of them

    def lines(field):
        half = [problem.grid.axes[axis] in field.stagger for axis in axes]
        fold = (field.parity, field.on_surface) if problem.free_surface else None
        return [line(axis, half[axis], fold if axis == 0 else None) for axis in axes]

    points = []
    for column, name in enumerate(names):
        for field, share in problem.parts(name).items():
            cells, weights = _product(xp, problem, lines(problem.field(field)), nshots)
            points.append(Points(column, field, cells, weights, share))
    return points


def _line(xp, problem, positions, axis, half, fold):
    """Nodes of the padded grid and weights (nshots or 1, n, taps) along one axis, and whether a position is amiss.

    `half` is whether a field lies half a cell further there, `fold` its (parity, on_surface) under a free surface.
    """
    low, _ = problem.pml[axis]
    at = positions[..., problem.grid.ndim - 1 - axis]
    if at.dtype.itemsize < 4:  # such integers may not hold the bounds
        at = whole(xp, at)
    outside = ~((at >= 0) & (at <= problem.grid.shape[axis] - 1))
    if interpolated(at):
        shifted = at - 0.5 * half
        base = xp.floor(shifted)
        index, weight = _taps(xp, shifted - base, whole(xp, base))
    else:
        index = whole(xp, at)[..., None]
        weight = xp.ones_like(index) * 1.0
    if fold is not None:
        parity, on_surface = fold
        outside = outside | ((at == 0) & (on_surface or (parity < 0 and interpolated(at))))
        weight = xp.where(index < 0, parity * weight, weight) if parity else _continued(xp, index, weight)
        weight = xp.where((index == 0) & on_surface, 0.0 * weight, weight)
        index = xp.where(index < 0, -index - int(half), index)
    index = index + low
    beyond = (index < 0) | (index >= problem.padded_shape[axis])
    return xp.where(beyond, low, index), weight, (beyond & (weight != 0)).any(-1) | outside


CUBIC = range(4)
"""Nodes through which a field that is neither odd nor even is continued above a free surface."""


def _continued(xp, index, weight):
    """Return the weights (..., taps) of nodes `index`; those above the surface move to the nodes of CUBIC.

    These are among the taps wherever some are above.
    """
    for node in CUBIC:
        others = [other for other in CUBIC if other != node]
        # Lagrange's polynomial of the node, which is whole at whole numbers.
        share = prod(index - other for other in others) // prod(node - other for other in others)
        moved = xp.where(index < 0, share * weight, 0.0 * weight).sum(-1)[..., None]
        weight = xp.where(index == node, weight + moved, weight)
    return xp.where(index < 0, 0.0 * weight, weight)


def _product(xp, problem, lines, nshots):
    """Return the cells on a node of each axis' line, and their weights, (nshots, n, taps) each."""
    (cells, weights, wrong), *others = lines
    for n, (index, weight, amiss) in zip(problem.padded_shape[1:], others, strict=True):
        shape = *wrong.shape, cells.shape[-1] * index.shape[-1]
        cells = (cells[..., :, None] * n + index[..., None, :]).reshape(shape)
        weights = (weights[..., :, None] * weight[..., None, :]).reshape(shape)
        wrong = wrong | amiss
    cells = xp.where(wrong[..., None], -1, cells)
    shape = (nshots, *cells.shape[1:])
    return xp.broadcast_to(cells, shape), xp.broadcast_to(weights, shape)


def _taps(xp, fraction, base):
    """Return nodes and weights of one axis for positions base + fraction; a position on a node has one node."""
    wave = xp.sin(pi * fraction) / pi
    x = xp.stack([fraction - offset for offset in OFFSETS], -1)
    here = x == 0
    sinc = xp.stack([(-1) ** offset * wave for offset in OFFSETS], -1) / xp.where(here, 1.0, x)
    weights = xp.where(here, 1.0, sinc) * _window(1 - (x / RADIUS) ** 2)
    return xp.stack([base + offset for offset in OFFSETS], -1), weights


def _window(s):
    """Return I0(b sqrt(s)) / I0(b), by Horner's scheme."""
    total = WINDOW[-1]
    for coefficient in reversed(WINDOW[:-1]):
        total = total * s + coefficient
    return total / sum(WINDOW)
