"""An inversion in a few lines, whatever backend computes: stages, optimiser, bounds, and what is told on the way."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

import attrs
import numpy as np

from .._util.arrays import numpy_of
from .._util.validators import check_flag, is_whole
from ..distribution import Distributor, SerialDistributor
from ..errors import OptionError, SweepError
from ..memory import MemoryOptions
from ..misfit import Misfit, by_name, least_squares
from ..plugins import Observation, ObserverRecord, check_support, registry
from .coarse import Coarse, on_coarser_grid
from .descent import Descent, spread
from .encoding import Encoding, check_encodable
from .experiment import model_error
from .identity import environment, identity
from .journal import Journal
from .lbfgs import LBFGS
from .objective import AfterShots, Objective, make_objective, problem_of
from .observers import Observers
from .regularisers import check_regularisers
from .stage import Stage
from .stepwise import Stepwise
from .unknowns import check_steps, make_unknowns, one_earth


@attrs.frozen(eq=False)
class Inverted:
    """What an inversion came to.

    Attributes
    ----------
    models : list of arrays
        In the order of the equation's parameters, of the dtype of the start.
    history : list of dict
        For each iteration ``stage``, from 1; what it is ``about``; ``iteration``, from 0, the start of a stage;
        ``misfit``, of the data alone; ``gradients`` of all shots that were computed so far; ``seconds``.
    """

    models: list[np.ndarray]
    history: list[dict[str, Any]] = attrs.field(repr=False)

    def __str__(self) -> str:
        rows = []
        for number in sorted({line["stage"] for line in self.history}):
            lines = [line for line in self.history if line["stage"] == number]
            first, last = lines[0]["misfit"], lines[-1]["misfit"]
            change = f", {100 * (last / first - 1):+.1f} %" if first else ""
            rows.append(
                f"stage {number}, {lines[0]['about']}: misfit from {first:.4g} to {last:.4g}{change} in "
                f"{lines[-1]['iteration']} iterations"
            )
        return "\n".join([*rows, f"{self.history[-1]['gradients']:.0f} gradients, {self.history[-1]['seconds']:.0f} s"])


def invert(
    solver: Any,
    wavelet: Any,
    sources: Any,
    receivers: Any,
    observed: Any,
    start: Sequence[Any],
    stages: Stage | Sequence[Stage],
    *,
    bounds: Any = None,
    fixed: Any = None,
    steps: Mapping[str, float] | None = None,
    misfit: Misfit | str = least_squares,
    weights: Any = None,
    receiver_mask: Any = None,
    regularise: Any = (),
    optimiser: Any = None,
    precondition: bool = True,
    batch: int = 4,
    folder: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    seed: int = 0,
    true: Sequence[Any] | None = None,
    group: Distributor | None = None,
    observers: Sequence[Callable[[Observation], Any]] = (),
    progress: bool = True,
) -> Inverted:
    """Full-waveform inversion: models whose records fit the observed ones, stage by stage.

    Each stage minimises :class:`Objective` plus the regularisers by its optimiser, over x in m = start + scale x; scale
    is one over the root of the illumination, if it is asked for, so that deep cells move as well as shallow ones, and
    such that the first step of each parameter is 1 % of its mean times `steps`. A cell whose parameters would not fit
    together, such as vs above vp, is mirrored at the limit that the equation states.

    Parameters
    ----------
    solver : PropTorch or PropJax
    wavelet, sources, receivers, receiver_mask
        As in its call; of any array library.
    observed : (nshots, nt, nrec, nfield) array
        What masked receivers hold, be it NaN, says nothing.
    start : list of (nz, nx) or (nz, ny, nx) arrays
        In the order of ``equation.parameters``.
    stages : Stage or sequence of Stage
    bounds : dict, optional
        (low, high) by the name of a parameter, numbers or arrays; by default 30 % beyond what the start has anywhere.
    fixed : bool array, or dict, optional
        True in cells that keep the start, such as water; or the same, or simply True, by the name of a parameter.
    steps : dict, optional
        Lengths of steps by the name of a parameter, over those of others; by default 0.3 for a density, of which waves
        tell least, and 1 for all else.
    misfit : function or str
        One of :mod:`sweep_core.misfit`, or its name.
    weights : array, optional
        Masks and mutes, of a shape that may be broadcast to that of `observed`.
    regularise : TotalVariation, Tikhonov, or a list of them
    optimiser : optional
        :class:`LBFGS` by default; ``sweep_torch.Torch(torch.optim.Adam, lr=0.5)`` and
        ``sweep_jax.Optax(optax.adam(0.5))`` take some shots at a time.
    precondition : bool
        By the illumination, at the cost of one gradient a stage.
    batch : int
        Shots that are modelled at once.
    folder : path-like, optional
        Keeps where a stage stands, then what it came to, so that the same call, typed again after whatever ended it,
        goes on from there, to the same bits: after each step of an optimiser that draws shots, in a file of constant
        size; of any other each gradient of the stage, by which it is led there again, and observers are told again.
        The last stage that was begun may then have another number of iterations, and other stages may follow it.
    overwrite : bool
        Begins anew where the folder holds a run, whose files are removed once all arguments have been checked.
    seed : int
        Seed of the order in which an optimiser draws shots.
    true : list of arrays, optional
        The models where they are known: each line of the history tells the ``model_error``, RMS, a number or one for
        each of several parameters.
    group : Distributor, optional
        Of the ranks that share out the shots; each comes to the same models.
    observers : sequence of callable
        Called with an :class:`sweep_core.Observation` after each iteration, or after the `events` that it has as an
        attribute, on rank 0; one that raises StopIteration ends the stage, and one that raises :class:`StopInversion`
        the whole run. Those of plugins are called too. ``overwrite`` also removes the files whose names match the
        pattern `files` of an observer, such as those of :mod:`sweep_core.inversion.observers`.
    progress : bool
        A bar with the misfit, on rank 0.

    Returns
    -------
    Inverted
        The models and the history of the misfit.

    Raises
    ------
    SweepError
        Naming the argument.
    """
    problem, misfit = problem_of(solver), by_name(misfit)
    for name, flag in (("precondition", precondition), ("progress", progress), ("overwrite", overwrite)):
        check_flag(flag, name)
    ranks: Any = group or SerialDistributor()
    plan = _plan(stages)
    unknowns = make_unknowns(problem, start, bounds, fixed)
    check_steps(problem, steps)
    if not is_whole(seed, 0):
        raise OptionError(f"seed is {seed!r}; expected a whole number from 0 on")
    known = None if true is None else one_earth(problem, true, "true")
    data = make_objective(
        solver.executor, problem, wavelet, sources, receivers, observed, unknowns.start[0].dtype, weights,
        receiver_mask, misfit=misfit, batch=batch, group=ranks,
    )  # fmt: skip
    shots = data.shots
    for stage in plan:
        if stage.encoded:
            check_encodable(shots, stage.misfit or misfit, data.weights if stage.weights is None else stage.weights)
    about = {} if folder is None else identity(
        problem=attrs.evolve(problem, memory=MemoryOptions(), check_finite=None), equation=type(problem.equation),
        wavelet=numpy_of(wavelet), sources=shots.sources,
        receivers=shots.receivers, receiver_mask=shots.mask, observed=data.observed, weights=data.weights,
        start=unknowns.start, low=unknowns.low, high=unknowns.high, free=unknowns.free, misfit=misfit,
        optimiser=optimiser, regularise=regularise, precondition=precondition, batch=batch, steps=steps, seed=int(seed),
        **environment(solver),
    ) | {"stages": [identity(**stage.said()) for stage in plan]}  # fmt: skip
    _check_stages(plan, data, optimiser, regularise)
    records = [*registry().observers, *_records(observers)]
    written = [each.files for each in observers if hasattr(each, "files")]
    journal = Journal(folder, about, unknowns.start, ranks, overwrite, written)
    told = _Told(Observers(ranks.rank, records), ranks, journal, known)
    with closing(journal), told.bar(sum(stage.iterations for stage in plan), progress):
        for stage in plan:
            if ended := journal.begin():
                history, models = ended
                told.ended(stage, history)
                unknowns = attrs.evolve(unknowns, start=models)
                continue
            optimises = stage.optimiser or optimiser or LBFGS()
            objective = _of_stage(data, stage)
            if (factor := stage.coarsen or 1) > 1:
                chosen = spread(len(shots), stage.shots)
                objective = on_coarser_grid(objective, factor, list(unknowns.start), chosen)
            descent = Descent(
                objective, unknowns,
                check_regularisers(regularise if stage.regularise is None else stage.regularise),
                stage.shots, optimises.shots, precondition, told.shots, journal,
                Encoding(stage.encoded, len(shots), journal.stage) if stage.encoded else None, steps, seed,
            )  # fmt: skip
            position = [_Position(journal, descent, told, stage)] if isinstance(optimises, Stepwise) else []
            if not (position and position[0].step):
                told.begin(stage, descent)
            if descent.first:
                limits = descent.unknowns.limits()
                x = optimises.minimise(descent, limits, stage.iterations, told.iteration, *position)
                unknowns = attrs.evolve(descent.unknowns, start=descent.unknowns.models(x))
            if told.stopped:
                break
            journal.end(told.history, list(unknowns.start))
    return Inverted(list(unknowns.start), told.history)


class _Position:
    """The :class:`sweep_core.inversion.stepwise.Position` of a stage, in the journal."""

    def __init__(self, journal: Journal, descent: Descent, told: "_Told", stage: Stage):
        self._journal, self._descent, self._told = journal, descent, told
        self.step, self.x = 0, np.zeros(0)
        self.state: list[np.ndarray] = []
        descent.replay_nothing()
        found = journal.position()
        if found and found[0]["step"] <= stage.iterations:  # one that asks for fewer begins again
            position, (self.x, *self.state) = found
            self.step = position["step"]
            descent.resume(position["descent"])
            told.resume(stage, descent, position["history"])

    def keep(self, step: int, x: np.ndarray, state: list[np.ndarray]) -> None:
        told = {"step": step, "descent": self._descent.position, "history": self._told.history}
        self._journal.checkpoint(told, [x, *state])


def _plan(stages: Any) -> list[Stage]:
    """Return the stages as a list, of one or more."""
    plan: list[Any] = list(stages) if isinstance(stages, list | tuple) else [stages]
    if not plan or not all(isinstance(stage, Stage) for stage in plan):
        raise OptionError(f"stages are {plan!r}; expected one Stage(iterations) or more")
    return plan


def _check_stages(plan: list[Stage], data: Objective, optimiser: Any, regularise: Any) -> None:
    """Refuse what a stage states, by its number, before the first one runs."""
    for number, stage in enumerate(plan, start=1):
        try:
            _checked(stage.optimiser or optimiser or LBFGS())
            check_regularisers(regularise if stage.regularise is None else stage.regularise)
            _of_stage(data, stage)
        except SweepError as error:
            raise type(error)(f"stage {number}: {error}") from error


def _of_stage(data: Objective, stage: Stage) -> Objective:
    """The objective of a stage; refusals name what it states."""
    changes = {name: value for name in ("low", "high", "misfit", "weights")
               if (value := getattr(stage, name)) is not None}  # fmt: skip
    if (factor := stage.coarsen or 1) > 1:
        coarse = Coarse(data.executor, factor)
        check_support(data.executor.name, coarse, data.problem)
        coarse.check_survey(data.problem, data.shots)
    return attrs.evolve(data, **changes)


def _checked(optimiser: Any) -> Any:
    """OptionError unless it can minimise."""
    if isinstance(optimiser, type) or not hasattr(optimiser, "minimise"):
        raise OptionError(
            f"optimiser is {optimiser!r}; expected LBFGS(), sweep_torch.Torch(torch.optim.Adam, lr=0.5) or "
            "sweep_jax.Optax(optax.adam(0.5))"
        )
    return optimiser


def _records(observers):
    if not isinstance(observers, list | tuple):
        raise OptionError(f"observers are {observers!r}; expected a list of functions of one Observation")
    return [
        ObserverRecord(getattr(each, "__name__", type(each).__name__), event, each)
        for each in observers
        for event in getattr(each, "events", ("iteration",))
    ]


def _stacked(arrays):
    """As observers are told: (nz, nx), or (n, nz, nx) of several parameters."""
    return arrays[0] if len(arrays) == 1 else np.stack(arrays)


class _Told:
    """The history, and all who are told of it: the screen, and observers."""

    def __init__(self, observers: Observers, group: Distributor, journal: Journal, true: list[np.ndarray] | None):
        self.observers, self.group, self._journal, self._true = observers, group, journal, true
        self.history: list[dict[str, Any]] = []
        self._descent: Any = None
        self.stages, self.iterations, self.gradients, self.stopped = 0, 0, 0.0, False

    def bar(self, total: int, progress: bool) -> Any:
        """Of all iterations of all stages."""
        from tqdm import tqdm

        self._bar = tqdm(total=total, unit="it", disable=not progress or self.group.rank > 0)
        return self._bar

    def ended(self, stage: Stage, history: list[dict[str, Any]]) -> None:
        """A stage that was run by an earlier process, and the history up to its end."""
        self.stages, self.history, self.gradients = self.stages + 1, history, history[-1]["gradients"]
        self.iterations = sum(line["iteration"] > 0 for line in history)
        self._bar.update(stage.iterations)

    def begin(self, stage: Stage, descent: Descent) -> None:
        """The start of a stage, whose gradient has been computed."""
        self._enter(stage, descent)
        self._tell("start", list(descent.unknowns.start))

    def resume(self, stage: Stage, descent: Descent, history: list[dict[str, Any]]) -> None:
        """A stage whose first iterations were run by an earlier process, and the history up to them."""
        self._enter(stage, descent)
        self.history, self._count = history, history[-1]["iteration"]
        self.iterations += self._count
        self._bar.update(self._count)

    def _enter(self, stage, descent):
        self.gradients += self._descent.computed if self._descent else 0
        self._stage, self._descent, self._count = stage, descent, 0
        self.stages += 1

    def iteration(self, x: np.ndarray) -> bool:
        """An iteration that has come to x; whether an observer wants no more of them in this stage."""
        self._count += 1
        self.iterations += 1
        descent = self._descent
        self._tell("iteration", descent.unknowns.models(x))
        self._bar.set_postfix_str(f"{self._stage}: misfit {100 * descent.misfit / descent.first:.3g} %")
        self._bar.update()
        ends = np.array([self.observers.stopped == "stage", self.observers.stopped == "run"], np.float64)
        if self.group.size > 1:
            ends = numpy_of(self.group.all_reduce(ends))
        self.observers.stopped, self.stopped = "", bool(ends[1])
        return bool(ends.any())

    def shots(self, models: list[np.ndarray]) -> AfterShots:
        """What observers of shots are told by, while some are modelled in the models of a step."""
        return self.observers.after_shots(self.iterations + bool(self._descent), lambda: _stacked(models))

    def _tell(self, event, models):
        descent, nshots = self._descent, len(self._descent.objective.shots)
        error = {} if self._true is None else {"model_error": model_error(_stacked(models), _stacked(self._true))}
        self.history.append({
            "stage": self.stages, "about": str(self._stage), "iteration": self._count,
            "misfit": descent.misfit, **error, "gradients": self.gradients + descent.computed,
            "seconds": self._journal.seconds,
        })  # fmt: skip
        seen = _stacked(models), _stacked(descent.gradients)
        self.observers.after_iteration(self.iterations, descent.misfit, nshots, *seen, self.history, event)
