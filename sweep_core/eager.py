"""The body of every eager time loop: what one step does with sources, receivers and the equation."""

from .call import CallShape
from .ops import Array, Ops, coefficients_of
from .positions import Points, points_of
from .problem import Problem
from .snapshots import crop


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
        self.sources = [points_of(ops.xp, problem, f, sources, shape.shots) for f in problem.source_type]
        self.receivers = [points_of(ops.xp, problem, f, receivers, shape.shots) for f in problem.receiver_type]
        self.coefficients = coefficients_of(problem, models, shape.earths, ops.xp, ops.hold)
        self.factors = [self._factor(f, p) for f, p in zip(problem.source_type, self.sources, strict=True)]

    def _factor(self, field: str, points: Points) -> Array:
        """What a sample is multiplied with before it is added to each cell, (nshots, nsrc, taps)."""
        problem, equation = self.problem, self.problem.equation
        weights = self.ops.typed(points.weights)
        if problem.source_scaling == "increment":
            return weights
        cells = points.cells.reshape(points.cells.shape[0], -1)
        factor = self.ops.take(equation.source_factor(field, self.coefficients), cells).reshape(weights.shape)
        return weights * factor * equation.source_weight(field, problem.dt, problem.grid.cell_volume)

    def start(self) -> dict[str, Array]:
        """The state at rest."""
        shape = (self.shape.shots, *self.problem.padded_shape)
        return {name: self.ops.zeros(shape) for name in self.problem.equation.state_names(self.ops.ndim)}

    def record(self, state) -> list[Array]:
        """What the receivers see of this state: (nshots, nrec) for each field of receiver_type."""
        seen = []
        for field, points in zip(self.problem.receiver_type, self.receivers, strict=True):
            cells = points.cells.reshape(points.cells.shape[0], -1)
            values = self.ops.take(state[field], cells).reshape(points.cells.shape)
            seen.append((self.ops.typed(points.weights) * values).sum(-1))
        return seen

    def snapshot(self, state) -> list[Array]:
        """The fields of the snapshots, (nshots, *region) each; without a derivative."""
        asked = self.shape.snapshots
        return [self.ops.hold(crop(self.problem, asked, state[f])) for f in asked.fields] if asked else []

    def advance(self, state, samples) -> dict[str, Array]:
        """The state one step later; `samples` of the wavelet are (nshots or 1, nsrc or 1) for each source field."""
        new = self.problem.equation.step(self.ops, state, self.coefficients)
        pairs = zip(self.problem.source_type, self.sources, self.factors, samples, strict=True)
        for field, points, factor, sample in pairs:
            amounts = (factor * sample[..., None]).reshape(factor.shape[0], -1)
            new[field] = self.ops.add(new[field], points.cells.reshape(amounts.shape), amounts)
        return new
