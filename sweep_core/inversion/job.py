"""Steps that inversion scripts share: a solver of any backend, observed data, arguments of `invert`, closing lines."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._util.arrays import numpy_of
from .._util.config import named_values
from .._util.validators import check_choice
from ..distribution import Distributor, SerialDistributor, ShotPlan, on_root
from ..errors import CheckpointError, DomainError, OptionError, UnsupportedError
from ..io import ObservedStore
from ..plot.process import FigureProcess
from ..plugins import backend, check_support
from ..problem import make_problem
from .bad_shots import name_shots, without
from .batches import batches, modelled
from .descent import STEP
from .experiment import separate
from .fwi import Inverted
from .journal import STORE
from .observers import DataFigures, EpochFigures, HistoryFile, ModelFiles, epochs_of
from .settings import Settings
from .solver import Solver
from .stage import Stage
from .survey_model import model_survey
from .tasks import group_of

OBSERVED = "slices", "rank0", "store"
"""The ways of :func:`observe` to model observed data."""


def check_out(settings: Settings, group: Distributor | None = None) -> None:
    """Check, on every rank, that the folder of the results fits ``resume`` and ``overwrite``.

    Parameters
    ----------
    settings : Settings
        The options of the script.
    group : Distributor, optional
        The ranks of the run; one process by default.

    Raises
    ------
    CheckpointError
        If the folder holds a run that is neither resumed nor overwritten, or none to resume.
    """
    ranks: Any = group or SerialDistributor()
    on_root(ranks, _check_out, settings.folder, settings.resume, settings.overwrite)


def _check_out(out: Path, resume: bool | str, overwrite: bool) -> None:
    begun = (out / "run.json").exists()
    if resume is True and not begun:
        raise CheckpointError(f"nothing to resume: {out} holds no run; run without --resume, or with --resume auto")
    if begun and not (resume or overwrite):
        raise CheckpointError(
            f"{out} holds an earlier run; give --resume to continue it, --overwrite to remove it, or another --out"
        )


def make_solver(settings: Settings, own: str, make: Callable[..., Any]) -> Any:
    """Return a solver of the script's own backend, or of the backend that the settings name.

    Parameters
    ----------
    settings : Settings
        The options of the script.
    own : str
        Name of the script's backend.
    make : callable
        Makes the solver of that backend from the equation and the arguments of :meth:`Settings.grid`.

    Returns
    -------
    Solver, or an object with the same attributes, such as PropTorch

    Raises
    ------
    PluginError, UnsupportedError, OptionError
        The backend of the settings cannot be loaded, does not run the problem, has no choice of an `impl`, or does not
        take its options.
    """
    name, equation = settings.backend or own, settings.experiment.equation
    options = named_values(settings.backend_options or "", "--backend-options")
    if name == own:
        if options:
            raise OptionError(
                f"--backend-options is {settings.backend_options!r}, but the script makes the solver of {own!r} from "
                "--impl and --device; leave it out, or name another --backend"
            )
        return make(equation, **settings.grid())
    if settings.impl != "auto":
        raise OptionError(
            f"--impl is {settings.impl}, but backend {name!r} chooses its implementation itself in this script; leave "
            "--impl out"
        )
    solver = Solver(backend(name, **options), make_problem(equation, **settings.grid()))
    check_support(name, solver.executor, solver.problem)
    if not hasattr(solver.executor, "misfit_and_gradient"):
        raise UnsupportedError(
            f"backend {name!r} has no misfit_and_gradient, which an inversion needs; see the page "
            "howto/write-backend of the documentation"
        )
    return solver


def observe(settings: Settings, solver: Any, group: Distributor, how: str = "slices") -> np.ndarray | ObservedStore:
    """Return the observed data of all shots, on every rank.

    ``'slices'`` and ``'rank0'`` are for small surveys, since each rank holds the data of all shots. With ``'store'`` no
    rank does. An interrupted modelling into a store is continued.

    Parameters
    ----------
    settings : Settings
        The options of the script, whose true model is modelled.
    solver : Solver
    group : Distributor
        The ranks of the run.
    how : {'slices', 'rank0', 'store'}
        Each rank models its own shots, or the first rank models all of them, or each rank models its own shots into
        ``observed.zarr`` in the folder of the results.

    Returns
    -------
    array, (nshots, nt, nrec, fields), float32, or ObservedStore

    Raises
    ------
    OptionError
        If `how` is none of these, or the backend spreads shots over workers of its own and there are several ranks.
    SweepError
        The data cannot be modelled, or written into the store.
    """
    check_choice(how, "--observed", OBSERVED)
    group_of(solver.executor, group)
    if how == "store":
        shots, models = settings.experiment.shots, separate(settings.experiment.model.true)
        return model_survey(
            settings.folder / STORE, solver, shots.wavelet, shots.sources, shots.receivers, models,
            batch=settings.forward_batchsize, group=group, overwrite=settings.overwrite,
        )  # fmt: skip
    count = settings.experiment.nshots
    true, plan = separate(settings.experiment.model.true), ShotPlan(count, group.size)
    if how == "rank0":
        return numpy_of(group.broadcast(_record(settings, solver, true, range(count)) if group.rank == 0 else None))
    return numpy_of(group.all_gather(plan, _record(settings, solver, true, plan.part(group.rank))))


def _record(settings: Settings, solver: Any, models: Sequence[Any], numbers: Any) -> np.ndarray:
    """Return the record of some shots, which may be none."""
    shots, fields = settings.experiment.shots, len(solver.problem.receiver_type)
    none = np.empty((0, shots.wavelet.shape[-1], shots.receivers.shape[-2], fields), np.float32)
    batch, indices = settings.forward_batchsize, np.array(numbers, np.int64)
    parts = modelled(solver.executor, solver.problem, shots, models, indices, batch)
    return np.concatenate([none, *parts], dtype=np.float32)


def arguments_of(settings: Settings, solver: Any, observed: np.ndarray | ObservedStore) -> dict[str, Any]:
    """Return the arguments of :func:`sweep_core.inversion.invert` but the solver, the optimiser and the group.

    One unit of the optimiser's step is ``--lr``, and as much of the range of each further parameter.

    Parameters
    ----------
    settings : Settings
        The options of the script.
    solver : Solver
    observed : array, (nshots, nt, nrec, fields), or ObservedStore
        The result of :func:`observe`.

    Returns
    -------
    dict of str to argument

    Raises
    ------
    OptionError
        If the settings name no folder of results.
    """
    experiment, folder, steps, process = settings.experiment, settings.folder, settings.steps, FigureProcess()
    model, shots, names = experiment.model, experiment.shots, experiment.names
    start, true, problem = separate(model.initial), separate(model.true), solver.problem
    ratios = zip(names, experiment.steps, start, strict=True)
    return {
        "wavelet": shots.wavelet, "sources": shots.sources, "receivers": shots.receivers, "observed": observed,
        "start": start, "true": true, "fixed": model.water, "bounds": experiment.bounds(),
        "stages": Stage(settings.epochs * steps), "precondition": False, "batch": settings.forward_batchsize,
        "steps": {name: settings.lr * ratio / (STEP * float(np.abs(part).mean())) for name, ratio, part in ratios},
        "folder": folder, "overwrite": settings.overwrite, "seed": settings.seed, "reduction": settings.reduction,
        "skip_bad_shots": settings.skip_bad_shots, "checkpoint_every": settings.checkpoint_every,
        "profile": settings.profile,
        "observers": [
            DataFigures(folder, problem, shots, observed, experiment.freq, process),
            HistoryFile(folder, steps),
            ModelFiles(folder, names, steps),
            EpochFigures(
                folder, problem, start, shots, settings.epochs, settings.show_every, steps, true, model.water, process
            ),
        ],
    }  # fmt: skip


def conclude(
    settings: Settings, solver: Any, observed: np.ndarray | ObservedStore, inverted: Inverted,
    group: Distributor | None = None,
) -> str:  # fmt: skip
    """Return the closing lines of a run; the misfit is that of all shots in the inverted models.

    If shots were left out, it is estimated from the others.

    Parameters
    ----------
    settings : Settings
        The options of the script.
    solver : Solver
    observed : array, (nshots, nt, nrec, fields), or ObservedStore
    inverted : Inverted
        The result of :func:`sweep_core.inversion.invert`.
    group : Distributor, optional
        The ranks of the run; one process by default.

    Returns
    -------
    str

    Raises
    ------
    DomainError
        If the misfit of the start is zero.
    """
    ranks: Any = group or SerialDistributor()
    experiment = settings.experiment
    history = epochs_of(inverted.history, settings.steps)
    begin, end = history[0], history[-1]
    if not begin["misfit"]:
        raise DomainError("the misfit at the start is 0.0: the start fits the data already; nothing to invert for")
    used = without(np.arange(experiment.nshots), inverted.bad_shots)
    mine = used[list(ShotPlan(len(used), ranks.size).part(ranks.rank))]
    part = np.zeros(1)
    for some in batches(mine, settings.forward_batchsize):
        residual = _record(settings, solver, inverted.models, some) - observed[some]
        part += 0.5 * np.square(residual, dtype=np.float64).sum()
    misfit = float(numpy_of(ranks.all_reduce(part))[0]) * experiment.nshots / len(used)
    seconds = float(np.median([line["seconds"] for line in history[1:]]))
    left_out = f"\n{name_shots(list(inverted.bad_shots))} left out" if inverted.bad_shots else ""
    last = f"{seconds:.2f} s/epoch{left_out}" + ("" if inverted.profile is None else f"\n{inverted.profile}")
    if len(experiment.names) == 1:
        return (
            f"misfit from {begin['misfit']:.6g} to {misfit:.6g}, model error from "
            f"{begin['model_error']:.2f} to {end['model_error']:.2f}, {last}"
        )
    labels = [f"{parameter.name} ({parameter.unit})" for parameter in experiment.equation.parameters]
    changes = [
        ("misfit", begin["misfit"], misfit),
        *zip(labels, begin["model_error"], end["model_error"], strict=True),
    ]
    lines = [
        f"{name} from {a:.6g} to {b:.6g}" + (f", {100 * (b / a - 1):+.1f} %" if a else "") for name, a, b in changes
    ]
    return "\n".join((*lines, last))
