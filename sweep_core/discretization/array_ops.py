"""The array operations that an equation's step may use: NumPy, torch and JAX run the same text through them."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from ..numerics.stencils import Stencil
from .node_averages import NodeAverages
from .operators import axis_of, damped_field, damping_of, profile_of, stencil_of, surface_rows

Array = Any


def extend(problem, model: Array, xp, hold=None) -> Array:
    """Return a model (..., *grid) continued under the PML by its edge cells; `xp` is numpy, torch or jax.numpy.

    An edge cell thereby answers for the cells that copy it, and the framework differentiates that by itself; `hold`,
    which lets no derivative through, takes the cells under the PML as given instead.
    """
    for axis, widths in enumerate(problem.pml, start=len(model.shape) - problem.grid.ndim):
        edges = [model[(*(slice(None),) * axis, cell)] for cell in (slice(0, 1), slice(-1, None))]
        if hold is not None:
            edges = [hold(edge) for edge in edges]
        sizes = [(*model.shape[:axis], width, *model.shape[axis + 1 :]) for width in widths]
        first, last = map(xp.broadcast_to, edges, sizes)
        if any(widths):
            model = xp.concatenate([first, model, last], axis)
    return model


def _held_above(row: int, model: Array, ndim: int, xp, hold) -> Array:
    """Return a model (..., *grid) whose rows above `row` have no derivative."""
    before = (slice(None),) * (model.ndim - ndim)
    return xp.concatenate([hold(model[(*before, slice(0, row))]), model[(*before, slice(row, None))]], len(before))


def coefficients_of(problem, models, earths: int, xp, hold, array=np.asarray) -> tuple[Array, ...]:
    """Return coefficients (earths, *padded grid) of models.

    `xp` and `hold` are as for :func:`extend`; `array` makes constants.

    In multi-axial layers those that change lasting fields are smaller by the damping of half a step, as a rate acts
    midway between two values. A coefficient that the equation gives as a number is the same everywhere, in the layers
    too.
    """
    if known := problem.memory.known_above:
        models = [_held_above(known, m, problem.grid.ndim, xp, hold) for m in models]
    hold = hold if problem.edge_gradient == "interior" else None
    extended = [extend(problem, m, xp, hold) for m in models]
    coefficients = problem.equation.coefficients(NodeAverages(problem, xp), *extended)
    # torch broadcasts no numbers
    arrays = [c + xp.zeros_like(extended[0]) if isinstance(c, int | float) else c for c in coefficients]
    if problem.cpml.damps_any_field:
        arrays = [
            c if isinstance(number, int | float) else _damped(problem, array, name, c)
            for name, c, number in zip(problem.coefficient_names, arrays, coefficients, strict=True)
        ]
    return tuple(xp.broadcast_to(c, (earths, *problem.padded_shape)) for c in arrays)


def _damped(problem, array, name: str, coefficient: Array) -> Array:
    field = damped_field(problem, name)
    for factor in [] if field is None else damping_of(problem, field):
        coefficient = coefficient * array(np.sqrt(factor))
    return coefficient


def solid_of(problem, models, xp, hold) -> Array | None:
    """Return True in solid cells (1 or nshots, *padded grid); None if the equation has no fluids beside solids."""
    solid = problem.equation.solid(*(hold(m) for m in models))
    return None if solid is None else extend(problem, solid, xp).reshape(-1, *problem.padded_shape)


class Ops:
    """Derivatives and PML profiles of one problem, on arrays of shape (shots, *padded grid).

    Axes are numbered as the grid's, from 0. Derivatives are scaled by dt / dh each, so a step holds no dt or dh.
    A backend supplies the methods that raise here; the rest is slices and arithmetic, which all libraries share.
    """

    def __init__(self, problem, dtype):
        self.problem, self.constants = problem, problem.constants
        self.ndim = problem.grid.ndim
        self.axes = range(self.ndim)
        self.half = problem.equation.spatial_order // 2
        numbers = [axis_of(problem, axis) for axis in self.axes]
        self.d1_weights = [n.d1.tolist() for n in numbers]
        self.d2_weights = [n.d2.tolist() for n in numbers]
        self.root_weights = [n.root.tolist() for n in numbers]
        self.decay = [self._profile(n.whole.decay, axis, dtype) for axis, n in enumerate(numbers)]
        self.gain = [self._profile(n.whole.gain, axis, dtype) for axis, n in enumerate(numbers)]
        self.between = [
            (self._profile(n.half.decay, axis, dtype), self._profile(n.half.gain, axis, dtype))
            for axis, n in enumerate(numbers)
        ]
        damped = problem.fields if problem.cpml.damps_any_field else ()
        self._damping = {
            field: [self.array(factor, dtype) for factor in damping_of(problem, field)] for field in damped
        }
        self._operators = {
            (rate.operator, axis, field): self._operator(rate.operator, axis, problem.field(field), dtype)
            for rate in problem.equation.rates_in(self.ndim)
            for axis, field in ((problem.grid.axes.index(name), field) for name, field in rate.terms if name)
        }

    dtype: Any
    xp: Any = None
    """The array library: its floor, sin, where, stack, concatenate, broadcast_to, ones_like, minimum, maximum."""
    readable = False
    """True if values can be read at no cost."""

    def pad(self, x: Array, axis: int, count: int) -> Array:
        """Add `count` zeros before and after the cells of an axis: the field is zero outside."""
        raise NotImplementedError

    def typed(self, x: Array) -> Array:
        """Return x in the dtype of the run."""
        raise NotImplementedError

    def hold(self, x: Array) -> Array:
        """Return x without its derivative."""
        raise NotImplementedError

    def array(self, values: np.ndarray, dtype) -> Array:
        """Return a constant on the device and in the dtype of the run."""
        raise NotImplementedError

    def constant(self, values: np.ndarray) -> Array:
        """Return a constant in the dtype of the run."""
        return self.array(values, self.dtype)

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """Return zeros in the dtype of the run."""
        raise NotImplementedError

    def take(self, x: Array, cells: Array) -> Array:
        """Return values of x, (shots or 1, *padded grid), at flat cells (shots, n)."""
        raise NotImplementedError

    def add(self, x: Array, cells: Array, amounts: Array) -> Array:
        """Return x plus amounts (shots, n) at flat cells (shots, n); cells may repeat.

        The array x itself does not change.
        """
        raise NotImplementedError

    def repeated(self, body: Callable[[Any], Any], state: Any, count: int, enough: Callable[[Any], Any]) -> Any:
        """Return `state` after `count` applications of `body`, or fewer if the state is `enough` and can be read."""
        for _ in range(count):
            if self.readable and enough(state):
                break
            state = body(state)
        return state

    def magnitudes(self) -> "Ops":
        """Return the same operations with the magnitudes of all weights that :meth:`apply` uses."""
        magnitudes = copy(self)
        magnitudes._operators = {
            key: (_magnitude(stencil), None if rows is None else abs(rows), profile)
            for key, (stencil, rows, profile) in self._operators.items()
        }
        return magnitudes

    def largest_sum(self, operator: str, axis: int, field: str) -> float:
        """Return the largest sum of the weights of a node that :meth:`apply` uses."""
        stencil, rows, _ = self._operators[operator, axis, field]
        inside = stencil.centre + (1 + stencil.sign) * sum(stencil.weights)
        return inside if rows is None else max(inside, float(rows.sum(-1).max()))

    def d1(self, x: Array, axis: int, parity: int = -1) -> Array:
        """Return the first derivative, central; `parity` is that of x about a free surface."""
        side = self._shifted(x, axis, parity)
        return sum(w * (side(k) - side(-k)) for k, w in enumerate(self.d1_weights[axis], start=1))

    def d2(self, x: Array, axis: int, parity: int = -1) -> Array:
        """Return the second derivative, central; `parity` is that of x about a free surface."""
        side = self._shifted(x, axis, parity)
        w = self.d2_weights[axis]
        return w[0] * x + sum(w[k] * (side(k) + side(-k)) for k in range(1, len(w)))

    def root(self, x: Array, axis: int, transposed: bool = False) -> Array:
        """Return R x, half a cell further, or minus its transpose, which makes d2 of R x."""
        side, weights = self._shifted(x, axis, -1), enumerate(self.root_weights[axis], start=1)
        at = (lambda k: k - 2) if transposed else (lambda k: 1 - k)
        return sum(w * (side(at(k) + 1) - side(at(k))) for k, w in weights)

    def apply(self, operator: str, x: Array, axis: int, field: str) -> Array:
        """Apply an operator of :class:`sweep_core.equations.terms.DerivativeSum` to a field along an axis."""
        (centre, weights, sign, back, ahead), rows, _ = self._operators[operator, axis, field]
        side = self._shifted(x, axis)
        d = sum(w * (side(k - back) + sign * side(ahead - k)) for k, w in enumerate(weights, start=1))
        d = d + centre * x if centre else d
        if rows is None:
            return d
        # Not a product of matrices, which frameworks may make in less precision.
        top = (rows * x[:, None, : rows.shape[1]]).sum(2)
        return self.xp.concatenate([top, d[:, rows.shape[0] :]], 1)

    def profile(self, operator: str, axis: int, field: str) -> tuple[Array, Array]:
        """Return (decay, gain) of the PML at the nodes of the result."""
        return self._operators[operator, axis, field][-1]

    def damped(self, field, x: Array) -> Array:
        """Return a field x after the damping of a step in multi-axial layers."""
        for factor in self._damping.get(field, ()):
            x = factor * x
        return x

    def off_surface(self, field, x: Array) -> Array:
        """Return x, with zeros on a free surface if the field is zero there."""
        if not (self.problem.free_surface and field.on_surface):
            return x
        return self.xp.concatenate([0 * x[:, :1], x[:, 1:]], 1)

    def _operator(self, operator, axis, field, dtype):
        """Return (stencil, rows under a free surface, profile) of an operator."""
        rows = None
        if axis == 0 and self.problem.free_surface:
            rows = surface_rows(self.problem, operator, field)
            rows = self.array(rows.reshape(rows.shape + (1,) * (self.ndim - 1)), dtype)
        profile = tuple(self._profile(p, axis, dtype) for p in profile_of(self.problem, operator, axis, field))
        return stencil_of(self.problem, operator, axis, field), rows, profile

    def _shifted(self, x, axis, parity=None):
        """Return a function of k: x at the nodes k further along an axis.

        With a `parity`, x is mirrored at a free surface.
        """
        padded, n = self.pad(x, axis, self.half), x.shape[axis - self.ndim]
        after = (slice(None),) * (self.ndim - 1 - axis)
        if parity is not None and axis == 0 and self.problem.free_surface:
            images = [parity * x[(..., slice(k, k + 1), *after)] for k in range(self.half, 0, -1)]
            padded = self.xp.concatenate([*images, padded[(..., slice(self.half, None), *after)]], -self.ndim)

        def side(k):
            return padded[(..., slice(self.half + k, self.half + k + n), *after)]

        return side

    def _profile(self, values, axis, dtype):
        return self.array(values.reshape((-1,) + (1,) * (self.ndim - 1 - axis)), dtype)


def _magnitude(stencil: Stencil) -> Stencil:
    return stencil._replace(centre=abs(stencil.centre), weights=tuple(map(abs, stencil.weights)), sign=1)


class NumpyOps(Ops):
    """NumPy, real or complex."""

    xp = np
    readable = True

    def __init__(self, problem, dtype):
        self.dtype = np.dtype(dtype)
        super().__init__(problem, dtype)

    def pad(self, x, axis, count):
        width = [(0, 0)] * x.ndim
        width[axis - self.ndim] = (count, count)
        return np.pad(x, width)

    def typed(self, x):
        return x

    def hold(self, x):
        return x.real  # Born is by complex step

    def array(self, values, dtype):
        return np.asarray(values, dtype=dtype)

    def zeros(self, shape):
        return np.zeros(shape, self.dtype)

    def take(self, x, cells):
        return np.take_along_axis(x.reshape(x.shape[0], -1), cells, axis=1)

    def add(self, x, cells, amounts):
        out = x.copy()
        np.add.at(out.reshape(out.shape[0], -1), (np.arange(len(cells))[:, None], cells), amounts)
        return out
