"""The run of a stage: its objective, and the minimisation of its misfit."""

from collections.abc import Mapping

import attrs

from .._util.arrays import evenly_spaced
from ..plugins import check_support
from .bad_shots import BadShots
from .coarse import Coarse, on_coarser_grid
from .descent import Descent
from .encoding import Encoding
from .journal import Journal
from .objective import Objective
from .observed_data import check_in_memory
from .profiling import Profiler
from .regularisers import check_regularisers
from .reporter import Reporter, StagePosition
from .stage import Stage
from .stepwise import Stepwise
from .unknowns import Unknowns


def stage_objective(data: Objective, stage: Stage) -> Objective:
    """Return the objective of a stage."""
    changes = {name: value for name in ("low", "high", "misfit", "weights")
               if (value := getattr(stage, name)) is not None}  # fmt: skip
    if (factor := stage.coarsen or 1) > 1:
        check_in_memory(data.observed)
        coarse = Coarse(data.executor, factor)
        check_support(data.executor.name, coarse, data.problem)
        coarse.check_survey(data.problem, data.shots)
    return attrs.evolve(data, **changes)


@attrs.frozen(eq=False)
class StageRunner:
    """The parts of an inversion with which each of its stages runs.

    Parameters
    ----------
    data : Objective
        The misfit of all stages, without their changes.
    journal, reporter, profiler, bad
        The parts of the inversion that store, report and time its steps, and leave out shots.
    precondition, steps, seed
        Arguments of the inversion.
    """

    data: Objective
    journal: Journal
    reporter: Reporter
    profiler: Profiler
    bad: BadShots
    precondition: bool
    steps: Mapping[str, float] | None
    seed: int

    def minimise(self, stage: Stage, unknowns: Unknowns) -> Unknowns:
        """Return the unknowns that start at the models to which a stage comes."""
        descent, optimiser = self._descent(stage, unknowns), stage.optimiser
        position = (
            [StagePosition(self.journal, descent, self.reporter, stage)] if isinstance(optimiser, Stepwise) else []
        )
        if not (position and position[0].step):
            self.reporter.begin(stage, descent)
        if not descent.first:  # the start fits the data exactly
            return unknowns
        limits = descent.unknowns.limits()
        x = self.profiler.minimise(optimiser, descent, limits, stage.iterations, self.reporter.iteration, *position)
        return attrs.evolve(descent.unknowns, start=descent.unknowns.models(x))

    def _descent(self, stage: Stage, unknowns: Unknowns) -> Descent:
        objective, shots = stage_objective(self.data, stage), self.data.shots
        if (factor := stage.coarsen or 1) > 1:
            indices = evenly_spaced(len(shots), stage.shots)
            objective = on_coarser_grid(objective, factor, list(unknowns.start), indices)
        return Descent(
            objective, unknowns, check_regularisers(stage.regularise), stage.shots, stage.optimiser.shots,
            self.precondition, self.reporter.shots, self.journal,
            Encoding(stage.encoded, len(shots), self.journal.stage) if stage.encoded else None,
            self.steps, self.seed, self.bad,
        )  # fmt: skip
