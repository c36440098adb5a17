"""Full-waveform inversion with any backend: stages, optimiser, bounds, history and observers."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from typing import Any

import attrs
import numpy as np

from .._util.arrays import numpy_of
from .._util.validators import check_flag, check_whole, is_whole
from ..distribution import Distributor, Profile, SerialDistributor, check_same
from ..errors import OptionError, SweepError
from ..memory import MemoryOptions
from ..misfit import Misfit, by_name, least_squares
from ..plugins import Observation, ObserverRecord, check_support, registry
from .bad_shots import BadShots, check_skippable, name_shots, zero_bad_data
from .chunks import DEFAULT, choose_batch
from .coarse import Coarse, on_coarser_grid
from .descent import Descent, spread
from .encoding import Encoding, check_encodable
from .identity import environment, identity
from .journal import Journal
from .lbfgs import LBFGS
from .objective import Objective, make_objective
from .observed_data import check_in_memory, check_used
from .observers import Observers
from .profiling import Profiler
from .regularisers import check_regularisers
from .reporter import Reporter, StagePosition
from .signals import checkpoint_on_signals
from .solver import problem_of
from .stage import Stage
from .stepwise import Stepwise
from .unknowns import check_steps, make_unknowns, one_earth


@attrs.frozen(eq=False)
class Inverted:
    """The result of an inversion.

    Attributes
    ----------
    models : list of arrays
        Models in the order of the equation's parameters, of the dtype of the start.
    history : list of dict
        One line per iteration with these keys: ``stage``, counted from 1; ``about``, the frequencies of the stage;
        ``iteration``, where 0 is the start of the stage; ``misfit``, without regularisers; ``gradients`` of all shots
        computed so far; ``seconds``.
    profile : Profile or None
        With `profile`, the time of each step, on rank 0.
    bad_shots : dict of int to str
        With `skip_bad_shots`, the shots that were left out, and why.
    """

    models: list[np.ndarray]
    history: list[dict[str, Any]] = attrs.field(repr=False)
    profile: Profile | None = attrs.field(default=None, repr=False)
    bad_shots: dict[int, str] = attrs.field(factory=dict)

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
        rows += [f"{name_shots(list(self.bad_shots))} left out"] if self.bad_shots else []
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
    batch: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    checkpoint_every: int | timedelta = 1,
    seed: int = 0,
    true: Sequence[Any] | None = None,
    group: Distributor | None = None,
    costs: Any = None,
    reduction: str = "fast",
    skip_bad_shots: bool = False,
    observers: Sequence[Callable[[Observation], Any]] = (),
    progress: bool = True,
    profile: bool = False,
) -> Inverted:
    """Invert records for models, stage by stage (full-waveform inversion).

    Each stage minimises :class:`Objective` plus the regularisers over x in m = start + scale x. With `precondition`,
    scale is one over the root of the illumination, so that deep cells move as well as shallow ones. The first step of
    each parameter is 1 % of its mean times `steps`. If the parameters of a cell would not be admissible together, such
    as vs above vp, the cell is mirrored at the limit that the equation states.

    Parameters
    ----------
    solver : PropTorch or PropJax
        The solver.
    wavelet, sources, receivers, receiver_mask
        Arguments of a call of the solver; of any array library.
    observed : (nshots, nt, nrec, nfield) array, or ObservedStore
        Observed record. Samples of masked receivers do not count and may be NaN. Each rank reads only its shots of a
        :class:`sweep_core.io.ObservedStore`, when it models them.
    start : list of (nz, nx) or (nz, ny, nx) arrays
        Initial models in the order of ``equation.parameters``.
    stages : Stage or sequence of Stage
        The stages, in their order.
    bounds : dict, optional
        (low, high) by the name of a parameter, numbers or arrays. By default 0.7 times the minimum and 1.3 times the
        maximum of the start.
    fixed : bool array, or dict, optional
        True in cells that keep the start, such as water. A dict holds such an array, or True, by the name of a
        parameter.
    steps : dict, optional
        Relative lengths of steps by the name of a parameter. By default 0.3 for a density, to which waves are least
        sensitive, and 1 for other parameters.
    misfit : function or str
        A misfit of :mod:`sweep_core.misfit`, its name, or a user's function.
    weights : array, optional
        Masks and mutes, of a shape that broadcasts to that of `observed`.
    regularise : TotalVariation, Tikhonov, or a list of them
        The regularisers.
    optimiser : optional
        The optimiser, :class:`LBFGS` by default. ``sweep_torch.Torch(torch.optim.Adam, lr=0.5)`` and
        ``sweep_jax.Optax(optax.adam(0.5))`` use a subset of the shots in each step.
    precondition : bool
        Scale cells by the illumination, at the cost of one gradient per stage.
    batch : int, optional
        Number of shots that are modelled at once. If the solver has ``MemoryOptions(budget=...)``, the default is the
        largest number that fits and is as fast as a single shot, by ``solver.estimate``; otherwise it is 4.
    folder : path-like, optional
        Folder of the run. The same call continues a run that was interrupted, and comes to the same bits. An optimiser
        that draws shots stores its state after each step, in a file of constant size. For other optimisers the folder
        stores each gradient of the stage; the optimiser repeats its steps from them, and observers are called again.
        The last stage that has begun may then have another number of iterations, and other stages may follow it.
    overwrite : bool
        Start again if the folder holds a run. The files of that run are removed after all arguments are checked.
    checkpoint_every : int or timedelta
        Steps, or the time, between two checkpoints of an optimiser that draws shots. Others store each gradient. The
        last complete step is also stored at the end of a run that an error, Ctrl-C or SIGTERM stops, and after SIGUSR1.
    seed : int
        Seed of the order in which an optimiser draws shots.
    true : list of arrays, optional
        True models, if they are known. Each line of the history then holds the RMS ``model_error``: a number, or one
        for each of several parameters.
    group : Distributor, optional
        The ranks that share the shots. All ranks come to the same models.
    costs : (nshots,) array, optional
        Cost of each shot in any unit, such as :func:`sweep_core.distribution.shot_costs`. The ranks share the shots so
        that their costs are equal; by default each rank has as many shots.
    reduction : {'fast', 'ordered'}
        ``'ordered'`` models one shot at a time and sums by :func:`sweep_core.distribution.ordered_sum`: the run has the
        same bits on any number of ranks, and continues to them on another number. ``'fast'`` models `batch` shots at
        once, and the bits depend on the number of ranks.
    skip_bad_shots : bool
        Leave out a shot whose data cannot be read or are not finite, or whose record, misfit or gradient is not finite,
        from this step on. Each is reported by a warning on every rank, and `folder` stores it. The misfit and its
        gradient are those of the remaining shots, scaled to all shots. By default a shot that fails ends the run.
    observers : sequence of callable
        Observers, called on rank 0 with an :class:`sweep_core.Observation` after each iteration, or after the events in
        their attribute `events`. StopIteration of an observer ends the stage, :class:`StopInversion` the whole run.
        Observers of plugins are called too. A method `close` of an observer is called at the end of the run, also after
        an error. ``overwrite`` also removes files whose names match the pattern `files` of
        an observer, such as those of :mod:`sweep_core.inversion.observers`.
    progress : bool
        Show a bar with the misfit, on rank 0.
    profile : bool
        Record the time of each step by rank: forward, backward, communication, data, host and idle. Rank 0 writes
        ``profile.txt``, ``profile.png`` and ``trace.json`` to `folder`. The models keep their bits.

    Returns
    -------
    Inverted
        The models and the history of the misfit.

    Raises
    ------
    SweepError
        The error names the argument.
    """
    problem, misfit = problem_of(solver), by_name(misfit)
    for name, flag in (("precondition", precondition), ("progress", progress), ("overwrite", overwrite),
                       ("profile", profile), ("skip_bad_shots", skip_bad_shots)):  # fmt: skip
        check_flag(flag, name)
    profiler = Profiler(profile, solver.executor, group or SerialDistributor(), folder)
    ranks = profiler.group
    stage_list = _stage_list(stages)
    unknowns = make_unknowns(problem, start, bounds, fixed)
    check_steps(problem, steps)
    seed = check_whole(seed, "seed", 0)
    true_models = None if true is None else one_earth(problem, true, "true")
    observed, bad_data = zero_bad_data(observed, receiver_mask) if skip_bad_shots else (observed, {})
    data = make_objective(
        profiler.executor, problem, wavelet, sources, receivers, observed, unknowns.start[0].dtype,
        weights, receiver_mask, misfit=misfit, batch=DEFAULT if batch is None else batch, group=ranks,
        costs=None if costs is None else numpy_of(costs), reduction=reduction,
    )  # fmt: skip
    if batch is None:
        batch = choose_batch(solver, data, stage_list)
        data = data if batch == data.batch else attrs.evolve(data, batch=batch)
    shots = data.shots
    for stage in stage_list:
        if skip_bad_shots:
            check_skippable(stage)
        if stage.encoded:
            check_encodable(shots, stage.misfit or misfit, data.weights if stage.weights is None else stage.weights)
    about = {} if folder is None and ranks.size == 1 else identity(
        problem=attrs.evolve(problem, memory=MemoryOptions(), check_finite=None), equation=type(problem.equation),
        wavelet=numpy_of(wavelet), sources=shots.sources,
        receivers=shots.receivers, receiver_mask=shots.mask, observed=data.observed, weights=data.weights,
        start=unknowns.start, low=unknowns.low, high=unknowns.high, free=unknowns.free, misfit=misfit,
        optimiser=optimiser, regularise=regularise, precondition=precondition, batch=batch, steps=steps, seed=seed,
        reduction=reduction, **environment(solver),
    ) | {"stages": [identity(**stage.settings()) for stage in stage_list]}  # fmt: skip
    check_same(ranks, about | identity(costs=data.costs) | {"folder": folder and str(folder), "overwrite": overwrite,
                       "skip_bad_shots": skip_bad_shots})  # fmt: skip
    _check_stages(stage_list, data, optimiser, regularise)
    _check_interval(checkpoint_every, [stage.optimiser or optimiser for stage in stage_list], folder)
    records = [*registry().observers, *_records(observers)]
    files = [profiler.files, *(each.files for each in observers if hasattr(each, "files"))]
    journal = Journal(folder, about, unknowns.start, ranks, overwrite, files, checkpoint_every)
    bad = BadShots(skip_bad_shots, journal.bad_shots(), bad_data, journal.store_bad_shots)
    reporter = Reporter(Observers(ranks.rank, records), ranks, journal, true_models)
    with (
        closing(journal),
        closing(reporter.observers),  # may wait for figures, so the checkpoint comes first
        checkpoint_on_signals(journal),
        reporter.bar(sum(stage.iterations for stage in stage_list), progress),
        profiler,
    ):
        for stage in stage_list:
            if stage_result := journal.begin():
                history, models = stage_result
                reporter.skip(stage, history)
                unknowns = attrs.evolve(unknowns, start=models)
                continue
            stage_optimiser = stage.optimiser or optimiser or LBFGS()
            objective = _stage_objective(data, stage)
            if (factor := stage.coarsen or 1) > 1:
                indices = spread(len(shots), stage.shots)
                objective = on_coarser_grid(objective, factor, list(unknowns.start), indices)
            descent = Descent(
                objective, unknowns,
                check_regularisers(regularise if stage.regularise is None else stage.regularise),
                stage.shots, stage_optimiser.shots, precondition, reporter.shots, journal,
                Encoding(stage.encoded, len(shots), journal.stage) if stage.encoded else None, steps, seed, bad,
            )  # fmt: skip
            position = (
                [StagePosition(journal, descent, reporter, stage)] if isinstance(stage_optimiser, Stepwise) else []
            )
            if not (position and position[0].step):
                reporter.begin(stage, descent)
            if descent.first:
                limits = descent.unknowns.limits()
                x = profiler.minimise(stage_optimiser, descent, limits, stage.iterations, reporter.iteration, *position)
                unknowns = attrs.evolve(descent.unknowns, start=descent.unknowns.models(x))
            if reporter.stopped:
                break
            journal.end(reporter.history, list(unknowns.start))
    return Inverted(list(unknowns.start), reporter.history, profiler.result(), bad.reasons)


def _check_interval(every: Any, optimisers: Sequence[Any], folder: Any) -> None:
    """Check the steps or the time between checkpoints. Only a folder and an optimiser that draws shots need them."""
    if not isinstance(every, timedelta) and not is_whole(every, 1):
        raise OptionError(
            f"checkpoint_every is {every!r}; expected a whole number of steps from 1 on, or a timedelta, such as "
            "datetime.timedelta(minutes=10)"
        )
    if every != 1 and not (folder and any(isinstance(each, Stepwise) for each in optimisers)):
        raise OptionError(
            f"checkpoint_every is {every!r}, but {'no stage draws shots' if folder else 'the run has no folder'}; "
            "leave it out"
        )


def _stage_list(stages: Any) -> list[Stage]:
    """Return the stages as a list of one or more."""
    stage_list: list[Any] = list(stages) if isinstance(stages, list | tuple) else [stages]
    if not stage_list or not all(isinstance(stage, Stage) for stage in stage_list):
        raise OptionError(f"stages are {stage_list!r}; expected one or more Stage(iterations)")
    return stage_list


def _check_stages(stage_list: list[Stage], data: Objective, optimiser: Any, regularise: Any) -> None:
    """Check all stages before the first one runs. Errors name the number of the stage."""
    for number, stage in enumerate(stage_list, start=1):
        try:
            _check_optimiser(stage.optimiser or optimiser or LBFGS())
            _check_shots_of_steps(stage.optimiser or optimiser, len(spread(len(data.shots), stage.shots)))
            check_regularisers(regularise if stage.regularise is None else stage.regularise)
            check_used(_stage_objective(data, stage).observed, spread(len(data.shots), stage.shots))
        except SweepError as error:
            raise type(error)(f"stage {number}: {error}") from error


def _check_shots_of_steps(optimiser: Any, nshots: int) -> None:
    """Check that a stage has the shots by which an optimiser scales its steps."""
    if getattr(optimiser, "scaling", None) and optimiser.shots > nshots:
        raise OptionError(
            f"shots is {optimiser.shots} in {optimiser!r}, but the stage has {nshots}; expected at most these, because "
            "scaling counts the shots of a step"
        )


def _stage_objective(data: Objective, stage: Stage) -> Objective:
    """Return the objective of a stage."""
    changes = {name: value for name in ("low", "high", "misfit", "weights")
               if (value := getattr(stage, name)) is not None}  # fmt: skip
    if (factor := stage.coarsen or 1) > 1:
        check_in_memory(data.observed)
        coarse = Coarse(data.executor, factor)
        check_support(data.executor.name, coarse, data.problem)
        coarse.check_survey(data.problem, data.shots)
    return attrs.evolve(data, **changes)


def _check_optimiser(optimiser: Any) -> Any:
    """Return the optimiser, or raise an OptionError unless it can minimise."""
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
