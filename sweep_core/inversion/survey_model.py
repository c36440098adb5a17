"""Modelling of a survey by many ranks, each of which writes its shots into one store of observed data."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from .._util.arrays import numpy_of
from .._util.validators import check_flag, check_whole
from ..acquisition.call_shape import wavelet_layout
from ..acquisition.shots import Shots, check_mask, check_positions
from ..distribution import Distributor, SerialDistributor, ShotPlan, check_same, on_root, raise_on_all
from ..errors import CheckpointError, NotFiniteError, SweepError
from ..io import ObservedStore
from ..memory import MemoryOptions
from .batches import batches
from .identity import environment, identity
from .journal import differences
from .solver import problem_of
from .unknowns import one_earth

SURVEY = "survey"
"""Name of the description of a modelled survey in the metadata of its store."""


def model_survey(
    path: str | os.PathLike[str],
    solver: Any,
    wavelet: Any,
    sources: Any,
    receivers: Any,
    models: Sequence[Any],
    *,
    receiver_mask: Any = None,
    batch: int = 4,
    group: Distributor | None = None,
    costs: Any = None,
    overwrite: bool = False,
) -> ObservedStore:
    """Model the shots of a survey into a store. Each rank writes its own shots, and holds `batch` of them at most.

    The same call continues an interrupted one: only shots that are not in the store are modelled. The number of ranks
    may be another one.

    Parameters
    ----------
    path : path-like
        Folder of the store, which all ranks share.
    solver : PropTorch, PropJax or Solver
        The solver.
    wavelet, sources, receivers, receiver_mask
        Arguments of a call of the solver; of any array library.
    models : list of (nz, nx) or (nz, ny, nx) arrays
        Models in the order of ``equation.parameters``; their dtype is that of the store.
    batch : int
        Number of shots that are modelled at once.
    group : Distributor, optional
        The ranks that share the shots.
    costs : (nshots,) array, optional
        Cost of each shot, by which the ranks share the shots; equal by default.
    overwrite : bool
        Remove a store of another survey at `path`. A store of this survey is continued.

    Returns
    -------
    ObservedStore
        The store with all shots, on every rank.

    Raises
    ------
    CheckpointError
        `path` holds something else, or another survey.
    NotFiniteError
        The record of a shot, which the error names, is not finite.
    StorageError
        The disk is full, or the system refuses to write.
    DistributedError
        Another rank failed, or does not see the store.
    SweepError
        Another argument has a wrong value; the error names it.
    """
    check_flag(overwrite, "overwrite")
    problem, ranks = problem_of(solver), group or SerialDistributor()
    batch = check_whole(batch, "batch", 1, "shots")
    earth = one_earth(problem, models, "model")
    shots = Shots(*(None if x is None else numpy_of(x) for x in (wavelet, sources, receivers, receiver_mask)))
    for name in ("sources", "receivers"):
        check_positions(name, getattr(shots, name), problem.grid.ndim)
    shots = attrs.evolve(shots, wavelet=shots.wavelet.astype(earth[0].dtype))
    nrec, nt = int(shots.receivers.shape[-2]), wavelet_layout(problem, shots.wavelet, shots.sources)[0]
    if shots.mask is not None:
        check_mask(shots.mask, len(shots), nrec)
    about = identity(
        problem=attrs.evolve(problem, memory=MemoryOptions(), check_finite=None), equation=type(problem.equation),
        wavelet=shots.wavelet, sources=shots.sources, receivers=shots.receivers, receiver_mask=shots.mask,
        models=earth, **{key: value for key, value in environment(solver).items() if key == "version"},
        backend=solver.executor.name,
    )  # fmt: skip
    check_same(ranks, about | {"path": str(path), "batch": batch})
    shape = len(shots), nt, nrec, len(problem.receiver_type)
    on_root(ranks, _claim, path, shape, problem.dt, earth[0].dtype, about, overwrite)
    store = _together(ranks, lambda: ObservedStore.open(path))
    is_missing = np.zeros(len(shots))
    if ranks.rank == 0:
        is_missing[store.missing()] = 1
    missing = np.flatnonzero(numpy_of(ranks.broadcast(is_missing if ranks.rank == 0 else None)))
    plan = ShotPlan(len(missing), ranks.size, None if costs is None else numpy_of(costs)[missing])
    mine = missing[list(plan.part(ranks.rank))]
    _together(ranks, lambda: _model(store, solver.executor, problem, shots, earth, mine, batch))
    return store


def _claim(path, shape, dt, dtype, about, overwrite) -> None:
    """Create the store, or check that it is one of this survey."""
    if not os.path.exists(path):
        ObservedStore.create(path, shape, dt, dtype, {SURVEY: about})
        return
    saved = ObservedStore.open(path).metadata.get(SURVEY)
    if saved == about:
        return
    if overwrite and saved is not None:
        ObservedStore.create(path, shape, dt, dtype, {SURVEY: about}, overwrite=True)
        return
    differing = "it was not modelled by model_survey" if saved is None else differences(saved, about)
    raise CheckpointError(
        f"{path} holds the data of another survey: {differing}; name another folder, or remove it by "
        "overwrite=True (--overwrite) if it was modelled"
    )


def _model(store: ObservedStore, executor, problem, shots: Shots, models, numbers: np.ndarray, size: int) -> None:
    for some in batches(numbers, size):
        record = numpy_of(executor.forward(problem, shots.take(some), models))
        for shot, gather in zip(some, record, strict=True):
            if not np.isfinite(gather).all():
                raise NotFiniteError(f"the record of shot {shot} is not finite; check wavelet, models and dt")
        store.write(some, record.astype(store.dtype, copy=False))


def _together(ranks: Any, action: Callable[[], Any]) -> Any:
    """Return the result of an action of every rank. If it fails on one of them, every rank raises an error."""
    result, refusal = None, None
    try:
        result = action()
    except SweepError as error:
        refusal = error
    raise_on_all(ranks, refusal)
    return result
