"""The body of every eager time loop: what one step does with sources, receivers and the equation."""

from .call import CallShape
from .ops import Array, Ops, extend
from .problem import Problem


class EagerRun:
    """One call in a framework's own operations; the framework supplies the loop over time.

    Parameters
    ----------
    ops : Ops
        The operations, of the call's dtype.
    sources, receivers : integer array
        Flat cells of the padded grid, (nshots, nsrc) and (nshots, nrec).
    models : list
        Parameters of the equation, each of the grid's shape.
    """

    def __init__(self, problem: Problem, ops: Ops, shape: CallShape, sources: Array, receivers: Array, models):
        equation = problem.equation
        self.problem, self.ops, self.shape = problem, ops, shape
        self.sources, self.receivers = sources, receivers
        self.coefficients = tuple(
            c[None] for c in equation.coefficients(*(extend(problem, m, ops.join) for m in models))
        )
        volume = problem.grid.cell_volume
        self.factors = [
            ops.take(equation.source_factor(f, self.coefficients), sources)
            * equation.source_weight(f, problem.dt, volume)
            for f in problem.source_type
        ]

    def start(self) -> dict[str, Array]:
        """The state at rest."""
        shape = (self.shape.shots, *self.problem.padded_shape)
        return {name: self.ops.zeros(shape) for name in self.problem.equation.state_names(self.ops.ndim)}

    def record(self, state) -> list[Array]:
        """What the receivers see of this state: (nshots, nrec) for each field of receiver_type."""
        return [self.ops.take(state[f], self.receivers) for f in self.problem.receiver_type]

    def advance(self, state, samples) -> dict[str, Array]:
        """The state one step later; `samples` of the wavelet are (nshots or 1, nsrc or 1) for each source field."""
        new = self.problem.equation.step(self.ops, state, self.coefficients)
        for field, factor, sample in zip(self.problem.source_type, self.factors, samples, strict=True):
            new[field] = self.ops.add(new[field], self.sources, factor * sample)
        return new
