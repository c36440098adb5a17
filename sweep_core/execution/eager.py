"""The body of every eager time loop: what one step does with sources, receivers and the equation."""

import attrs

from ..acquisition.call_shape import CallShape
from ..acquisition.contacts import points_beside
from ..acquisition.positions import Points, interpolated, widen
from ..acquisition.snapshots import crop
from ..acquisition.sources import source_weights
from ..discretization.array_ops import Array, Ops, coefficients_of, solid_of
from ..problem import Problem


class EagerRun:
    """One call in a framework's own operations; the framework supplies the loop over time.

    Parameters
    ----------
    ops : Ops
        The operations, of the call's dtype.
    sources, receivers : array
        Positions, (nshots, nsrc, ndim) or (nshots, ndim), and (nshots or 1, nrec, ndim).
    models : list
        Parameters of the equation, each of the grid's shape or one for each shot.
    """

    def __init__(self, problem: Problem, ops: Ops, shape: CallShape, sources: Array, receivers: Array, models):
        self.problem, self.ops, self.shape = problem, ops, shape
        problem.memory.check_dtype(shape.dtype, packs=False)
        between = interpolated(sources, receivers)
        self.solid = solid_of(problem, models, ops.xp, ops.hold) if between else None
        self.sources = self._points(problem.source_type, sources)
        self.receivers = self._points(problem.receiver_type, receivers)
        self.late = {f.name for f in problem.fields if problem.at_half_step(f.name)}
        self.driven = {points.field: i for i, points in enumerate(self.sources)}
        self.coefficients = coefficients_of(problem, models, shape.earths, ops.xp, ops.hold, ops.constant)
        self.factors = [self._factor(points) for points in self.sources]

    def _points(self, names, positions) -> list[Points]:
        positions = widen(positions, self.shape.dtype)
        quantities = points_beside(self.ops.xp, self.problem, names, positions, self.shape.shots, self.solid)
        return [attrs.evolve(points, weights=points.share * self.ops.typed(points.weights)) for points in quantities]

    def _factor(self, points: Points) -> Array:
        """Return the factor of a sample at each cell that it is added to, (nshots, nsrc, taps)."""
        problem, dtype = self.problem, points.weights.dtype
        weights, name = source_weights(problem, points, lambda values: self.ops.array(values, dtype))
        divides = problem.equation.drives_rates
        if divides:  # a rate is multiplied in the step, so an increment is divided here
            name = None if name else problem.equation.source_coefficient(points.field)
        if name is None:
            return weights
        if name in problem.constants:
            return weights * problem.constants[name]
        cells = points.cells.reshape(points.cells.shape[0], -1)
        factor = self.ops.take(self.coefficients[problem.coefficient_names.index(name)], cells)
        factor = factor.reshape(weights.shape)
        return weights / factor if divides else weights * factor

    def start(self) -> dict[str, Array]:
        """Return the state at rest."""
        shape = (self.shape.shots, *self.problem.padded_shape)
        return {name: self.ops.zeros(shape) for name in self.problem.equation.state_names(self.ops.ndim)}

    @property
    def one_more(self) -> bool:
        """True if the last sample of the record needs one more step, as that of a field at half steps does."""
        fields = (*self.problem.recorded, *(self.shape.snapshots.fields if self.shape.snapshots else ()))
        return not self.late.isdisjoint(fields)

    def record(self, state, new) -> list[Array]:
        """Return (nshots, nrec) for each of receiver_type; fields at half steps are those of the `new` state."""
        columns: dict[int, Array] = {}
        for points in self.receivers:
            cells = points.cells.reshape(points.cells.shape[0], -1)
            values = self.ops.take(self._of(points.field, state, new), cells).reshape(points.cells.shape)
            part, column = (points.weights * values).sum(-1), points.column
            columns[column] = columns[column] + part if column in columns else part
        return list(columns.values())

    def snapshot(self, state, new) -> list[Array]:
        """Return the fields of the snapshots, (nshots, *region) each."""
        asked = self.shape.snapshots
        if not asked:
            return []
        return [crop(self.problem, asked, self._of(f, state, new)) for f in asked.fields]

    def _of(self, field, state, new):
        return (new if field in self.late else state)[field]

    def advance(self, state, samples) -> dict[str, Array]:
        """Return the state one step later; `samples` of the wavelet are (nshots or 1, nsrc or 1, nfield or 1)."""

        def inject(field, x):
            if field not in self.driven:
                return x
            i = self.driven[field]
            factor, cells = self.factors[i], self.sources[i].cells
            amounts = factor * samples[..., i if samples.shape[-1] > 1 else 0][..., None]
            amounts = amounts.reshape(factor.shape[0], -1)
            return self.ops.add(x, cells.reshape(amounts.shape), amounts)

        return self.problem.equation.step(self.ops, state, self.coefficients, inject)
