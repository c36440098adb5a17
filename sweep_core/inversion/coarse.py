"""An executor that computes on a coarser grid, which is fine enough for low frequencies."""

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
from .objective import Objective

TAPS = 12
"""Number of coarse samples on each side of a fine sample in its interpolation."""


def coarser(problem: Problem, factor: int) -> Problem:
    """Return the problem on every factor-th node and time step.

    Its PML is as thick, or of as many cells if a target of the echo chose the cells.
    """
    shape = tuple(-(-(n - 1) // factor) + 1 for n in problem.grid.shape)
    shrink = factor if problem.pml_target_db is None else 1
    width = tuple((-(-low // shrink), -(-high // shrink)) for low, high in problem.pml)
    grid = make_grid(shape, tuple(factor * h for h in problem.grid.spacing))
    check_cells(problem.equation, grid, width, problem.free_surface)
    # Coarse rows from this one on average unknown fine rows.
    memory = attrs.evolve(problem.memory, known_above=problem.memory.known_above // factor)
    cpml = attrs.evolve(problem.cpml, width=width)
    return attrs.evolve(problem, grid=grid, dt=factor * problem.dt, cpml=cpml, memory=memory)


@lru_cache(maxsize=16)
def averages(cells: int, factor: int) -> np.ndarray:
    """Return the matrix (coarse, cells) of means around each factor-th node.

    The weights are a hat function two coarse cells wide. Edge cells continue outside.
    """
    rows = np.zeros((-(-(cells - 1) // factor) + 1, cells))
    for node, row in enumerate(rows):
        for away in range(1 - factor, factor):
            row[min(max(node * factor + away, 0), cells - 1)] += (factor - abs(away)) / factor**2
    return rows


def interpolation(times: np.ndarray, count: int) -> Any:
    """Return the sparse matrix (len(times), count) that interpolates samples at 0, 1, ... by a Kaiser-windowed sinc."""
    from scipy.sparse import csr_array

    first = np.floor(times).astype(np.int64) - TAPS + 1
    taps = first[:, None] + np.arange(2 * TAPS)
    away = times[:, None] - taps
    weights = np.sinc(away) * np.i0(8.0 * np.sqrt(np.maximum(1 - (away / TAPS) ** 2, 0))) / np.i0(8.0)
    rows = np.broadcast_to(np.arange(len(times))[:, None], taps.shape)
    exists = (taps >= 0) & (taps < count)
    return csr_array((weights[exists], (rows[exists], taps[exists])), shape=(len(times), count))


@lru_cache(maxsize=4)
def coarse_problem(problem: Problem, factor: int, nt: int) -> tuple[Problem, int, list[Any]]:
    """Return the coarser problem, its number of samples, and the interpolation of each recorded field in time."""
    coarse, count = coarser(problem, factor), -(-nt // factor) + TAPS
    times = [(problem.time(f, nt) - coarse.time(f, 1)[0]) / coarse.dt for f in problem.receiver_type]
    return coarse, count, [interpolation(field_times, count) for field_times in times]


def along(matrix: Any, array: np.ndarray, axis: int) -> np.ndarray:
    """Return a matrix times an array along an axis, in the dtype of the array."""
    moved = np.moveaxis(array, axis, 0)
    product = matrix @ moved.reshape(len(moved), -1)
    return np.ascontiguousarray(np.moveaxis(product.reshape(-1, *moved.shape[1:]), 0, axis).astype(array.dtype))


@attrs.frozen(eq=False)
class Coarse:
    """An executor that computes on every `factor`-th node and time step.

    A factor of 2 takes an eighth of the work in two dimensions, and a sixteenth in three.

    The record is S F(R m). R averages cells around coarse nodes, F is the run on the coarse grid, and S interpolates
    its record to the times of the finer grid. R and S are linear, so the gradient R^T F'^T S^T is the exact derivative
    of this record.

    Parameters
    ----------
    executor : DifferentiatingExecutor
        The executor that runs the coarse problem, such as ``solver.executor``.
    factor : int
        The ratio of both grids, from 2 on.
    """

    executor: Any
    factor: int

    @property
    def name(self) -> str:
        """Name of the executor."""
        return self.executor.name

    def supports(self, problem: Problem) -> Support:
        """Return whether the executor supports the coarser problem.

        Parameters
        ----------
        problem : Problem
            The problem on the fine grid.

        Returns
        -------
        Support
            True, or false with a reason.
        """
        if problem.source_scaling != "physical":
            reason = f"source_scaling={problem.source_scaling!r} ties amplitudes to the grid; expected 'physical'"
            return Support(False, f"a coarser grid cannot be used: {reason}")
        return self.executor.supports(coarser(problem, self.factor))

    def check_survey(self, problem: Problem, shots: Shots) -> None:
        """Check the positions on the coarser grid.

        Parameters
        ----------
        problem : Problem
            The problem on the fine grid.
        shots : Shots
            The shots.

        Raises
        ------
        DomainError
            The coarser grid cannot have a position.
        """
        try:
            check_survey(coarser(problem, self.factor), self._survey(problem, shots))
        except DomainError as error:
            raise DomainError(f"on a grid coarser by {self.factor}, in its cells: {error}") from error

    def forward(self, problem: Problem, shots: Shots, models: Any) -> np.ndarray:
        """Return the record at the times of the fine grid.

        Parameters
        ----------
        problem, shots, models
            The call on the fine grid; see :class:`sweep_core.Executor`.

        Returns
        -------
        (nshots, nt, nrec, nfield) array
            The record.
        """
        coarse, coarse_shots, matrices = self._prepare(problem, shots)
        return self._interpolate(matrices, self.executor.forward(coarse, coarse_shots, self._restrict(models)))

    def misfit_and_gradient(self, problem: Problem, shots: Shots, models: Any, observed: Any) -> tuple[float, list]:
        """Return half the sum of squared residuals, and its derivative in each model.

        Parameters
        ----------
        problem, shots, models, observed
            The call on the fine grid, and its observed record; see :class:`sweep_core.Executor`.

        Returns
        -------
        misfit : float
            The misfit.
        gradient : list of arrays
            Its derivative in each model.
        """
        record, pull = self.pullback(problem, shots, models)
        misfit, residual = least_squares(record, numpy_of(observed))
        return float(misfit), pull(residual)

    def pullback(
        self, problem: Problem, shots: Shots, models: Any
    ) -> tuple[np.ndarray, Callable[[Any], list[np.ndarray]]]:
        """Return the record, and the function that pulls a cotangent back to the models.

        Parameters
        ----------
        problem, shots, models
            The call on the fine grid; see :class:`sweep_core.plugins.executor.DifferentiatingExecutor`.

        Returns
        -------
        record : (nshots, nt, nrec, nfield) array
            The record.
        pullback : callable
            ``pullback(cotangent)`` returns the gradient in each model.
        """
        coarse, coarse_shots, matrices = self._prepare(problem, shots)
        record, pull = self.executor.pullback(coarse, coarse_shots, self._restrict(models))

        def transpose(cotangent):
            residual = numpy_of(cotangent)
            parts = [along(matrix.T, residual[..., f], 1) for f, matrix in enumerate(matrices)]
            slopes = pull(np.stack(parts, axis=-1))
            fine = [self._along(numpy_of(slope), transpose=True, cells=problem.grid.shape) for slope in slopes]
            for slope in fine:
                slope[: problem.memory.known_above] = 0
            return fine

        return self._interpolate(matrices, record), transpose

    def _prepare(self, problem, shots):
        """Return the problem and the shots of the coarser grid, and the interpolation of each field in time."""
        support = self.supports(problem)
        if not support:
            raise UnsupportedError(support.reason)
        nt, by_field = wavelet_layout(problem, shots.wavelet, shots.sources)
        coarse, count, matrices = coarse_problem(problem, self.factor, nt)
        waves = numpy_of(shots.wavelet)
        waves = waves if by_field else np.stack([waves] * len(problem.source_type), axis=-1)
        late = [float(problem.source_time(f, 1)[0] - coarse.source_time(f, 1)[0]) for f in problem.source_type]
        waves = np.stack(
            [sampled(waves[..., f], problem.dt, count, coarse.dt, start=start) for f, start in enumerate(late)], axis=-1
        )
        coarse_shots = attrs.evolve(self._survey(problem, shots), wavelet=waves if len(late) > 1 else waves[..., 0])
        return coarse, coarse_shots, matrices

    def _survey(self, problem, shots):
        """Return the shots in coarse cells, without a wavelet."""
        sources = self._positions(problem, problem.source_type, shots.sources, "sources")
        receivers = self._positions(problem, problem.receiver_type, shots.receivers, "receivers")
        return Shots(None, sources, receivers, shots.mask)

    def _positions(self, problem: Problem, fields: Sequence[str], positions: Any, name: str) -> np.ndarray:
        """Return true positions in coarse cells. Whole numbers are no true positions of fields between nodes."""
        positions = numpy_of(positions)
        between = [f for field in fields for f in problem.parts(field) if set(problem.field(f).stagger) - {"t"}]
        if positions.dtype.kind != "f" and between:
            raise UnsupportedError(
                f"{name} are whole numbers: nodes of {between[0]}, half a cell from those of a coarser grid; expected "
                "true positions, as floats"
            )
        places = positions / self.factor
        # Nodes need no interpolation. Interpolation at several hundred receivers would take longer than the waves.
        are_nodes = not between and (places == np.rint(places)).all()
        return places.astype(np.int64) if are_nodes else places

    def _restrict(self, models):
        return [self._along(numpy_of(model)) for model in models]

    def _along(self, array, transpose=False, cells=()):
        for axis, count in enumerate(cells or array.shape):
            rows = averages(count, self.factor)
            array = along(rows.T if transpose else rows, array, axis)
        return array

    @staticmethod
    def _interpolate(matrices, record):
        record = numpy_of(record)
        return np.stack([along(matrix, record[..., f], 1) for f, matrix in enumerate(matrices)], axis=-1)


def on_coarser_grid(objective: Objective, factor: int, models: Sequence[np.ndarray], indices: np.ndarray) -> Objective:
    """Return the objective on a coarser grid, with observed data that include the difference of both grids.

    Near a source, at the PML and at high frequencies a coarse grid has other waves. So the observed data d of the
    shots `indices` become d + S F(R m0) - F_fine(m0), with m0 = `models`. The residual in m0 is then that of the finer
    grid, and the only error is the change of the difference with the model (the tau correction of multigrid: Brandt
    1977, Math. Comp. 31, section 8).
    """
    coarse, group = Coarse(objective.executor, factor), objective.group
    plan = ShotPlan(len(indices), group.size)
    local = indices[list(plan.part(group.rank))]
    difference = attrs.evolve(objective, executor=coarse).record(models, local) - objective.record(models, local)
    observed = objective.observed.copy()
    observed[indices] += numpy_of(group.all_gather(plan, difference))
    return attrs.evolve(objective, executor=coarse, observed=observed)
