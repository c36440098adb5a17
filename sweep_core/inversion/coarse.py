"""An executor that computes on a coarser grid, which low frequencies do not need finer."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from .._util.arrays import numpy_of
from ..acquisition.call_shape import wavelet_layout
from ..acquisition.shots import Shots
from ..distribution import ShotPlan
from ..errors import DomainError, UnsupportedError
from ..execution.call_checks import check_survey
from ..misfit import least_squares
from ..numerics.grid import make_grid
from ..numerics.resampling import sampled
from ..plugins import Support
from ..problem import Problem
from ..problem.make import check_cells
from .objective import Objective, modelled

TAPS = 12
"""Coarse samples on either side of a fine one that it is interpolated from."""


def coarser(problem: Problem, factor: int) -> Problem:
    """The problem on every factor-th node and time step, in a PML of the same thickness."""
    shape = tuple(-(-(n - 1) // factor) + 1 for n in problem.grid.shape)
    width = tuple((-(-low // factor), -(-high // factor)) for low, high in problem.pml)
    grid = make_grid(shape, tuple(factor * h for h in problem.grid.spacing))
    check_cells(problem.equation, grid, width, problem.free_surface)
    memory = attrs.evolve(problem.memory, known_above=problem.memory.known_above // factor)  # below, no mean has it
    cpml = attrs.evolve(problem.cpml, width=width)
    return attrs.evolve(problem, grid=grid, dt=factor * problem.dt, cpml=cpml, memory=memory)


@lru_cache(maxsize=16)
def averages(cells: int, factor: int) -> np.ndarray:
    """(coarse, cells): means of cells around each factor-th node, by a hat two coarse cells wide, edges continued."""
    rows = np.zeros((-(-(cells - 1) // factor) + 1, cells))
    for node, row in enumerate(rows):
        for away in range(1 - factor, factor):
            row[min(max(node * factor + away, 0), cells - 1)] += (factor - abs(away)) / factor**2
    return rows


def interpolation(times: np.ndarray, count: int) -> Any:
    """Sparse (len(times), count): values at `times` of samples at 0, 1, ..., by a sinc in a Kaiser window."""
    from scipy.sparse import csr_array

    first = np.floor(times).astype(np.int64) - TAPS + 1
    taps = first[:, None] + np.arange(2 * TAPS)
    away = times[:, None] - taps
    weights = np.sinc(away) * np.i0(8.0 * np.sqrt(np.maximum(1 - (away / TAPS) ** 2, 0))) / np.i0(8.0)
    rows = np.broadcast_to(np.arange(len(times))[:, None], taps.shape)
    there = (taps >= 0) & (taps < count)
    return csr_array((weights[there], (rows[there], taps[there])), shape=(len(times), count))


@lru_cache(maxsize=4)
def made_coarser(problem: Problem, factor: int, nt: int) -> tuple[Problem, int, list[Any]]:
    """The coarser problem, its samples, and the interpolation of each recorded field to the finer times."""
    coarse, count = coarser(problem, factor), -(-nt // factor) + TAPS
    times = [(problem.time(f, nt) - coarse.time(f, 1)[0]) / coarse.dt for f in problem.receiver_type]
    return coarse, count, [interpolation(at, count) for at in times]


def along(matrix: Any, array: np.ndarray, axis: int) -> np.ndarray:
    """A matrix times an array along an axis, in the array's dtype."""
    moved = np.moveaxis(array, axis, 0)
    product = matrix @ moved.reshape(len(moved), -1)
    return np.ascontiguousarray(np.moveaxis(product.reshape(-1, *moved.shape[1:]), 0, axis).astype(array.dtype))


@attrs.frozen(eq=False)
class Coarse:
    """An executor that computes on every `factor`-th node and time step: an eighth of the work with 2 in two
    dimensions, a sixteenth in three.

    m -> S F(R m): R takes means of the cells around coarse nodes, F is the run on the coarse grid, S interpolates its
    record to the times of the finer one. All are linear but F, so gradients are R^T F'^T S^T, the derivative of what is
    computed.

    Parameters
    ----------
    executor : DifferentiatingExecutor
        Such as ``solver.executor``.
    factor : int
        From 2 on.
    """

    executor: Any
    factor: int

    @property
    def name(self) -> str:
        return self.executor.name

    def supports(self, problem: Problem) -> Support:
        """Whether the other executor runs the coarser problem."""
        if problem.source_scaling != "physical":
            reason = f"source_scaling={problem.source_scaling!r} ties amplitudes to the grid; expected 'physical'"
            return Support(False, f"a coarser grid is of no use: {reason}")
        return self.executor.supports(coarser(problem, self.factor))

    def check_survey(self, problem: Problem, shots: Shots) -> None:
        """DomainError where a position cannot be one of the coarser grid."""
        try:
            check_survey(coarser(problem, self.factor), self._survey(problem, shots))
        except DomainError as error:
            raise DomainError(f"on a grid coarser by {self.factor}, in its cells, {error}") from error

    def forward(self, problem: Problem, shots: Shots, models: Any) -> np.ndarray:
        """Record (nshots, nt, nrec, nfield), at the times of the finer grid."""
        coarse, few, up = self._prepared(problem, shots)
        return self._interpolated(up, self.executor.forward(coarse, few, self._restricted(models)))

    def misfit_and_gradient(self, problem: Problem, shots: Shots, models: Any, observed: Any) -> tuple[float, list]:
        record, pull = self.pullback(problem, shots, models)
        misfit, residual = least_squares(record, numpy_of(observed))
        return float(misfit), pull(residual)

    def pullback(
        self, problem: Problem, shots: Shots, models: Any
    ) -> tuple[np.ndarray, Callable[[Any], list[np.ndarray]]]:
        """See :class:`sweep_core.plugins.executor.DifferentiatingExecutor`."""
        coarse, few, up = self._prepared(problem, shots)
        record, pull = self.executor.pullback(coarse, few, self._restricted(models))

        def back(cotangent):
            given = numpy_of(cotangent)
            parts = [along(matrix.T, given[..., f], 1) for f, matrix in enumerate(up)]
            slopes = pull(np.stack(parts, axis=-1))
            fine = [self._along(numpy_of(slope), transpose=True, cells=problem.grid.shape) for slope in slopes]
            for slope in fine:
                slope[: problem.memory.known_above] = 0
            return fine

        return self._interpolated(up, record), back

    def _prepared(self, problem, shots):
        """(problem, shots, interpolation of each field's record in time) of the coarser grid."""
        support = self.supports(problem)
        if not support:
            raise UnsupportedError(support.reason)
        nt, own = wavelet_layout(problem, shots.wavelet, shots.sources)
        coarse, count, up = made_coarser(problem, self.factor, nt)
        waves = numpy_of(shots.wavelet)
        waves = waves if own else np.stack([waves] * len(problem.source_type), axis=-1)
        late = [float(problem.source_time(f, 1)[0] - coarse.source_time(f, 1)[0]) for f in problem.source_type]
        waves = np.stack(
            [sampled(waves[..., f], problem.dt, count, coarse.dt, start=start) for f, start in enumerate(late)], axis=-1
        )
        few = attrs.evolve(self._survey(problem, shots), wavelet=waves if len(late) > 1 else waves[..., 0])
        return coarse, few, up

    def _survey(self, problem, shots):
        """The shots in coarse cells, without a wavelet."""
        sources = self._positions(problem, problem.source_type, shots.sources, "sources")
        receivers = self._positions(problem, problem.receiver_type, shots.receivers, "receivers")
        return Shots(None, sources, receivers, shots.mask)

    def _positions(self, problem: Problem, fields: Sequence[str], at: Any, name: str) -> np.ndarray:
        """True positions in coarse cells; whole numbers of fields that lie between nodes are none."""
        at = numpy_of(at)
        between = [f for field in fields for f in problem.parts(field) if set(problem.field(f).stagger) - {"t"}]
        if at.dtype.kind != "f" and between:
            raise UnsupportedError(
                f"{name} are whole numbers, which name nodes of {between[0]}, half a cell from where a coarser grid "
                "has them; give true positions, as floats"
            )
        places = at / self.factor
        # Nodes need no interpolation, of which some hundred receivers would take longer than the waves.
        whole = not between and (places == np.rint(places)).all()
        return places.astype(np.int64) if whole else places

    def _restricted(self, models):
        return [self._along(numpy_of(model)) for model in models]

    def _along(self, array, transpose=False, cells=()):
        for axis, count in enumerate(cells or array.shape):
            rows = averages(count, self.factor)
            array = along(rows.T if transpose else rows, array, axis)
        return array

    @staticmethod
    def _interpolated(up, record):
        record = numpy_of(record)
        return np.stack([along(matrix, record[..., f], 1) for f, matrix in enumerate(up)], axis=-1)


def on_coarser_grid(objective: Objective, factor: int, models: Sequence[np.ndarray], chosen: np.ndarray) -> Objective:
    """The objective, computed by :class:`Coarse` from what is observed in the chosen shots plus the difference that the
    grids make in these models.

    Near a source, at the PML and at high frequencies a coarse grid has other waves. With d + S F(R m0) - F_fine(m0) for
    d the residual in m0 is that of the finer grid, and only what the difference changes with the model is amiss (the
    tau correction of multigrid: Brandt 1977, Math. Comp. 31, section 8).
    """
    coarse, group = Coarse(objective.executor, factor), objective.group
    plan = ShotPlan(len(chosen), group.size)
    mine = chosen[list(plan.part(group.rank))]
    found = modelled(coarse, objective.problem, objective.shots, models, mine, objective.batch)
    difference = np.concatenate([objective.observed[:0], *found]) - objective.record(models, mine)
    observed = objective.observed.copy()
    observed[chosen] += numpy_of(group.all_gather(plan, difference))
    return attrs.evolve(objective, executor=coarse, observed=observed)
