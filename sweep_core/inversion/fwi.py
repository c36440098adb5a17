"""Full-waveform inversion with any backend: stages, optimiser, bounds, history and observers."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from typing import Any

import attrs
import numpy as np

from .._util.arrays import numpy_of
from .._util.validators import check_flag, check_whole
from ..distribution import Distributor, Profile, SerialDistributor, check_same
from ..errors import OptionError
from ..memory import MemoryOptions
from ..misfit import Misfit, by_name, least_squares
from ..plugins import Observation, ObserverRecord, registry
from .bad_shots import BadShots, name_shots, zero_bad_data
from .chunks import DEFAULT, choose_batch
from .identity import environment, identity
from .journal import Journal
from .objective import make_objective
from .observers import Observers
from .profiling import Profiler
from .reporter import Reporter
from .signals import checkpoint_on_signals
from .solver import problem_of
from .stage import Stage
from .stage_checks import check_features, check_interval, check_stages, list_stages, with_defaults
from .stage_runner import StageRunner
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
    stage_list = list_stages(stages)
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
    check_features(stage_list, data, skip_bad_shots)
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
    stage_list = [with_defaults(stage, optimiser, regularise) for stage in stage_list]
    check_stages(stage_list, data)
    check_interval(checkpoint_every, stage_list, folder)
    records = [*registry().observers, *_records(observers)]
    files = [profiler.files, *(each.files for each in observers if hasattr(each, "files"))]
    journal = Journal(folder, about, unknowns.start, ranks, overwrite, files, checkpoint_every)
    bad = BadShots(skip_bad_shots, journal.bad_shots(), bad_data, journal.store_bad_shots)
    reporter = Reporter(Observers(ranks.rank, records), ranks, journal, true_models)
    runner = StageRunner(data, journal, reporter, profiler, bad, precondition, steps, seed)
    with (
        closing(journal),
        closing(reporter.observers),  # may wait for figures, so the checkpoint comes first
        checkpoint_on_signals(journal),
        reporter.bar(sum(stage.iterations for stage in stage_list), progress),
        profiler,
    ):
        for stage in stage_list:
            if stored := journal.begin():
                history, models = stored
                reporter.skip(stage, history)
                unknowns = attrs.evolve(unknowns, start=models)
                continue
            unknowns = runner.minimise(stage, unknowns)
            if reporter.stopped:
                break
            journal.end(reporter.history, list(unknowns.start))
    return Inverted(list(unknowns.start), reporter.history, profiler.result(), bad.reasons)


def _records(observers):
    if not isinstance(observers, list | tuple):
        raise OptionError(f"observers are {observers!r}; expected a list of functions of one Observation")
    return [
        ObserverRecord(getattr(each, "__name__", type(each).__name__), event, each)
        for each in observers
        for event in getattr(each, "events", ("iteration",))
    ]
