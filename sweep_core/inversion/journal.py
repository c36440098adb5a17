"""The journal of an inversion: stored results from which an interrupted run continues to the same bits."""

import hashlib
import io
import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from .._util.arrays import numpy_of
from .._util.validators import as_path
from ..distribution import Distributor, on_root
from ..errors import CheckpointError, DistributedError
from ..io import part_of, replacing, storing
from ..io.arrays import read_archive
from .batches import is_finite
from .lock import Lock

Answer = tuple[float, list[np.ndarray]]
STORE = "observed.zarr"
"""Store of modelled data that a script keeps in the folder of its run; see :func:`sweep_core.inversion.observe`."""
OWN = re.compile(r"run\.json|checkpoint(?:_previous)?\.npz|bad_shots\.npz|stage_(\d{4,})(_\d{6,})?\.npz")
"""Files of a run: results of stages, gradients, the state of the current stage, and the shots that are left out. Files
of users do not match."""
CHECKPOINTS = ("checkpoint.npz", "checkpoint_previous.npz")
"""The last two states of the current stage, the last one first."""
BAD_SHOTS = "bad_shots.npz"
"""The shots that the run leaves out."""


class Journal:
    """The results of the stages of a run in a folder, and the state of the current stage.

    An optimiser that stores its state (:class:`Stepwise`) continues from ``checkpoint.npz``, whose size does not grow
    with the steps, or from the checkpoint before it, ``checkpoint_previous.npz``. Any other optimiser depends only on
    the misfits and gradients of its stage: with the stored ones in their order it repeats its steps. Values that are
    not finite are not stored.

    Parameters
    ----------
    folder : path-like, optional
        Folder of the run. Without it nothing is stored.
    about : dict
        Description of the run, which must equal that of the stored run; see
        :func:`sweep_core.inversion.identity.identity`. Its ``stages``, a list of dict, are compared up to the last
        stage that has begun in the folder, the last one without its number of iterations.
    like : sequence of array
        The parameters.
    group : Distributor
        The ranks. Rank 0 reads and writes.
    overwrite : bool
        Remove the files of a run in the folder, and no others.
    others : sequence of re.Pattern
        Names of other files of the run, which its observers write.
    every : int or timedelta
        Steps, or the time, between two checkpoints. The last state is written at the end in any case.

    Attributes
    ----------
    is_requested : bool
        True if the next state is to be written, whatever `every` says.

    Raises
    ------
    CheckpointError
        The folder holds another run, other files or damaged files, or another process uses it.
    StorageError
        The disk is full, or the system refuses to write.
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None, about: dict[str, Any], like: Sequence[np.ndarray],
        group: Distributor, overwrite: bool = False, others: Sequence[re.Pattern[str]] = (),
        every: int | timedelta = 1,
    ):  # fmt: skip
        self.folder = Path(os.path.abspath(as_path(folder, "folder"))) if folder else None
        self.like, self.group, self._own = like, group, (OWN, *others)
        self.stage, self._count, self._begin = 0, 0, time.perf_counter()
        self._lock: Lock | None = None
        self.is_requested, self._every = False, every
        self._waiting: tuple[dict[str, Any], list[np.ndarray]] | None = None  # the last state, if it is not written
        self._last, self._steps = self._begin, 0  # time of the last checkpoint, and steps since then
        self._new: dict[str, Any] | None = None
        self._run = hashlib.sha256(json.dumps({**about, "stages": None}).encode()).hexdigest()
        if self.folder:
            on_root(group, self._claim, self.folder, about, overwrite)

    def _claim(self, folder: Path, about: dict[str, Any], overwrite: bool) -> None:
        path = folder / "run.json"
        with storing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            names = {entry.name for entry in folder.iterdir() if not part_of(entry.name)}
        others = sorted(names - {"run.lock", STORE})
        if others and not path.exists():
            raise CheckpointError(f"{folder} holds {others[0]} but no run; name another folder")
        self._lock = Lock(folder / "run.lock")
        with storing(folder):
            for entry in list(folder.iterdir()):
                part = part_of(entry.name)  # a kill leaves parts behind
                if (overwrite or part) and any(own.fullmatch(part or entry.name) for own in self._own):
                    entry.unlink(missing_ok=True)
        if not path.exists():
            self._new = about
            return
        matches = (OWN.fullmatch(entry.name) for entry in folder.iterdir())
        begun = max((int(match[1]) for match in matches if match and match[1]), default=0)
        try:
            saved = json.loads(path.read_text())
            differing = differences(_first_stages(saved, begun), _first_stages(about, begun))
        except Exception as error:
            self.close()
            raise _damaged(path, error, "name another folder") from error
        if differing:
            self.close()
            raise CheckpointError(
                f"{folder} holds another run: {differing}. A run continues with the same arguments; only the "
                "iterations of the last stage that it began, and later stages, may differ. Name another folder, or "
                "start again with overwrite=True (--overwrite)"
            )
        if saved != about:
            with storing(folder):
                if saved["stages"][:begun] != about["stages"][:begun]:  # other iterations: its result is not valid
                    (folder / f"stage_{begun:04d}.npz").unlink(missing_ok=True)
            self._state(about)

    def _state(self, about: dict[str, Any]) -> None:
        """Write the description of the run."""
        with replacing(Path(self.folder or "") / "run.json") as stream:
            stream.write(json.dumps(about, indent=1).encode())

    def close(self) -> None:
        """Write the last state, and release the folder for other processes."""
        try:
            self.write_last()
        finally:
            if self._lock:
                self._lock.release()

    @property
    def seconds(self) -> float:
        """Duration of the run in all its processes (s)."""
        return time.perf_counter() - self._begin

    def begin(self) -> tuple[list[dict[str, Any]], list[np.ndarray]] | None:
        """Begin the next stage. Return its history and models if it is complete, otherwise None."""
        self.stage, self._count = self.stage + 1, 0
        return self._load(self._path(), self.like)

    def end(self, history: list[dict[str, Any]], models: list[np.ndarray]) -> None:
        """Store the result of the stage. Its gradients stay, so that a last stage can have more iterations."""
        self._store(self._path(), history, models)
        self._waiting = None

    def __call__(self, compute: Callable[[], Answer]) -> Answer:
        """Return the next misfit and its gradients, from the folder or from ``compute()``."""
        self._count += 1
        path = self._path(f"_{self._count:06d}")
        if stored := self._load(path, self.like):
            (misfit, seconds), gradients = stored
            self._begin = time.perf_counter() - seconds
        else:
            misfit, gradients = compute()
            if is_finite(misfit, gradients):
                self._store(path, [misfit, self.seconds], gradients)
        if self._count == 1 and self.folder and not self.group.rank:
            self._remove_earlier(self.folder)
        return misfit, gradients

    def bad_shots(self) -> dict[int, str]:
        """Return the reasons of the shots that the run leaves out."""
        stored = self._load(self.folder and self.folder / BAD_SHOTS, [])
        return {int(shot): reason for shot, reason in stored[0].items()} if stored else {}

    def store_bad_shots(self, reasons: dict[int, str]) -> None:
        """Store the reasons of the shots that the run leaves out."""
        self._store(self.folder and self.folder / BAD_SHOTS, reasons, [])

    def checkpoint(self, values: dict[str, Any], arrays: list[np.ndarray]) -> None:
        """Store the state of the stage: at once if a checkpoint is due, otherwise with a later one or at the end.

        Parameters
        ----------
        values : dict
            Values for JSON.
        arrays : list of array
            Arrays, which nobody changes later.
        """
        if self.folder:
            on_root(self.group, self._add, {**values, "stage": self.stage, "seconds": self.seconds}, arrays)

    def _add(self, values: dict[str, Any], arrays: list[np.ndarray]) -> None:
        self._waiting = values, arrays
        self._steps += 1
        every, now = self._every, time.perf_counter()
        is_due = self._steps >= every if isinstance(every, int) else now - self._last >= every.total_seconds()
        if is_due or self.is_requested:
            self.write_last()

    def write_last(self) -> None:
        """Write the last state, if it is not written; the last checkpoint becomes the previous one.

        Only rank 0 has a state, and it needs no other rank.
        """
        if self._waiting and self.folder:
            path = self.folder / CHECKPOINTS[0]
            with storing(path):
                if path.exists():
                    os.replace(path, self.folder / CHECKPOINTS[1])
            self._write(path, self._entries(*self._waiting))
        self._waiting = None
        self.is_requested, self._steps, self._last = False, 0, time.perf_counter()

    def position(self) -> tuple[dict[str, Any], list[np.ndarray]] | None:
        """Return the values and arrays of the last :meth:`checkpoint` of this stage, or None."""
        for name in CHECKPOINTS:
            if self.folder and (stored := self._load(self.folder / name, None)):
                values, arrays = stored
                if values["stage"] != self.stage:
                    return None
                self._begin = time.perf_counter() - values["seconds"]
                return values, arrays
        return None

    def _remove_earlier(self, folder: Path) -> None:
        """Remove the gradients of earlier stages, which can have no more iterations."""
        for entry in list(folder.iterdir()):
            match = OWN.fullmatch(entry.name)
            if match and match[2] and int(match[1]) < self.stage:
                entry.unlink()

    def _path(self, suffix=""):
        return self.folder and self.folder / f"stage_{self.stage:04d}{suffix}.npz"

    def _store(self, path, values, arrays):
        if self.folder:
            on_root(self.group, self._write, path, self._entries(values, arrays))

    def _entries(self, values, arrays):
        """Return the entries of a file by name."""
        text = np.frombuffer(json.dumps(values).encode(), np.uint8)
        return {"told": text, "run": self._run, **{str(number): array for number, array in enumerate(arrays)}}

    def _write(self, path, entries):
        """Write arrays and texts by name to one file, completely or not at all."""
        if self._new is not None:  # only now, so that a run whose first gradient fails leaves nothing behind
            self._state(self._new)
            self._new = None
        packed = io.BytesIO()
        np.savez(packed, **entries)
        with replacing(path) as stream:
            stream.write(packed.getbuffer())

    def _load(self, path, like):
        """Return the values and arrays of a file, which every rank reads, or None if there is no file.

        The arrays must have the shapes of those of `like`, unless `like` is None.
        """
        if not self.folder:
            return None
        count = float(numpy_of(self.group.all_reduce(np.array([float(path.exists())])))[0])
        if not count:
            return None
        if count < self.group.size:
            raise DistributedError(
                f"{path} exists for {count:.0f} of {self.group.size} ranks; name a folder that all ranks share"
            )
        try:
            entries = read_archive(path, None)
            values = json.loads(bytes(entries.pop("told")))
            if str(entries.pop("run")) != self._run:
                raise ValueError("it belongs to another run")
            arrays = [entries[str(number)] for number in range(len(entries))]
            if like is not None and [array.shape for array in arrays] != [model.shape for model in like]:
                raise ValueError("its arrays are not of this run")
            if not all(np.isfinite(array).all() for array in arrays):
                raise ValueError("its arrays are not finite")
        except Exception as error:
            raise _damaged(path, error, "remove it to compute it again") from error
        return values, arrays


def differences(saved: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return the values in which two descriptions of a run differ; empty if they are equal."""
    names = (name for name in {**now, **saved} if saved.get(name) != now.get(name))
    return ", ".join(f"{name} was {saved.get(name)!r} and is now {now.get(name)!r}" for name in names)


def _first_stages(about: dict[str, Any], count: int) -> dict[str, Any]:
    """Return the description of a run with its first `count` stages only, the last of them without its iterations."""
    stages = [dict(stage) for stage in about.get("stages", [])[:count]]
    if len(stages) == count > 0:
        stages[-1].pop("iterations")
    return {**about, "stages": stages}


def _damaged(path, error, remedy):
    reason = error if isinstance(error, CheckpointError) else f"{path} cannot be read ({type(error).__name__}: {error})"
    return CheckpointError(f"{reason}; {remedy}")
