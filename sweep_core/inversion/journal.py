"""What took an inversion long to compute, kept as it goes: read again, the run goes the same way to the same bits."""

import hashlib
import io
import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._util.arrays import numpy_of
from .._util.validators import as_path
from ..distribution import Distributor, on_root
from ..errors import CheckpointError, DistributedError
from ..io import part_of, replacing, storing
from ..io.arrays import read_archive
from .lock import Lock

Answer = tuple[float, list[np.ndarray]]
OWN = re.compile(r"run\.json|checkpoint\.npz|stage_(\d{4,})(_\d{6,})?\.npz")
"""Files of a run, and none of its user: results of stages, gradients, and where the stage under way stands."""


def is_finite(misfit: float, gradients: Sequence[np.ndarray]) -> bool:
    return bool(np.isfinite(misfit)) and all(np.isfinite(part).all() for part in gradients)


class Journal:
    """The results of the stages of a run, in a folder, and the state of the stage under way.

    An optimiser that tells its state (:class:`Stepwise`) goes on from ``checkpoint.npz``, whose size does not grow with
    the steps. Any other is led by the misfits and gradients of its stage alone: given them again in their order, it
    does again what it did. Nothing that is not finite is kept.

    Parameters
    ----------
    folder : path-like, optional
        Nothing is kept without.
    about : dict
        The description that a run shares with one that it goes on from; see
        :func:`sweep_core.inversion.identity.identity`. Its ``stages``, a list of dict, are compared as far as the
        folder has begun them, the last without its number of iterations.
    like : sequence of array
        The parameters.
    group : Distributor
        Its rank 0 reads and writes.
    overwrite : bool
        Removes the files of a run that the folder holds, and nothing else.
    others : sequence of re.Pattern
        Names of further files of the run, which its observers write.

    Raises
    ------
    CheckpointError
        Where the folder holds another run, other files or damaged ones, or another process has it.
    StorageError
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None, about: dict[str, Any], like: Sequence[np.ndarray],
        group: Distributor, overwrite: bool = False, others: Sequence[re.Pattern[str]] = (),
    ):  # fmt: skip
        self.folder = Path(os.path.abspath(as_path(folder, "folder"))) if folder else None
        self.like, self.group, self._own = like, group, (OWN, *others)
        self.stage, self._count, self._begin = 0, 0, time.perf_counter()
        self._lock: Lock | None = None
        self._new: dict[str, Any] | None = None
        self._run = hashlib.sha256(json.dumps({**about, "stages": None}).encode()).hexdigest()
        if self.folder:
            on_root(group, self._claim, self.folder, about, overwrite)

    def _claim(self, folder: Path, about: dict[str, Any], overwrite: bool) -> None:
        path = folder / "run.json"
        with storing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            others = [entry.name for entry in folder.iterdir() if not part_of(entry.name)]
        if others and not path.exists() and others != ["run.lock"]:
            raise CheckpointError(f"{folder} holds {sorted(others)[0]} and no run; name another folder")
        self._lock = Lock(folder / "run.lock")
        with storing(folder):
            for entry in list(folder.iterdir()):
                part = part_of(entry.name)  # that a kill left behind
                if (overwrite or part) and any(own.fullmatch(part or entry.name) for own in self._own):
                    entry.unlink(missing_ok=True)
        if not path.exists():
            self._new = about
            return
        found = (OWN.fullmatch(entry.name) for entry in folder.iterdir())
        begun = max((int(match[1]) for match in found if match and match[1]), default=0)
        try:
            saved = json.loads(path.read_text())
            differing = differences(_begun(saved, begun), _begun(about, begun))
        except Exception as error:
            self.close()
            raise _damaged(path, error, "name another folder") from error
        if differing:
            self.close()
            raise CheckpointError(
                f"{folder} holds another run: {differing}. A run goes on where all is as it was but for the iterations "
                "of the last stage that it began, and the stages after that one; otherwise name another folder, or "
                "begin anew with overwrite=True (--overwrite)"
            )
        if saved != about:
            with storing(folder):
                if saved["stages"][:begun] != about["stages"][:begun]:  # replayed from its gradients, to another end
                    (folder / f"stage_{begun:04d}.npz").unlink(missing_ok=True)
            self._state(about)

    def _state(self, about: dict[str, Any]) -> None:
        """Write what run the folder holds."""
        with replacing(Path(self.folder or "") / "run.json") as stream:
            stream.write(json.dumps(about, indent=1).encode())

    def close(self) -> None:
        """Lets other processes have the folder."""
        if self._lock:
            self._lock.release()

    @property
    def seconds(self) -> float:
        """That the run has taken, in all its processes."""
        return time.perf_counter() - self._begin

    def begin(self) -> tuple[list[dict[str, Any]], list[np.ndarray]] | None:
        """Begins the next stage; history and models, where it has been run to its end."""
        self.stage, self._count = self.stage + 1, 0
        return self._known(self._path(), self.like)

    def end(self, history: list[dict[str, Any]], models: list[np.ndarray]) -> None:
        """Keep the result of the stage. Its gradients stay, so that a last stage can have more iterations."""
        self._keep(self._path(), history, models)

    def __call__(self, compute: Callable[[], Answer]) -> Answer:
        """The next misfit and its gradients: those that were kept, or what is computed now."""
        self._count += 1
        path = self._path(f"_{self._count:06d}")
        if known := self._known(path, self.like):
            (misfit, seconds), gradients = known
            self._begin = time.perf_counter() - seconds
        else:
            misfit, gradients = compute()
            if is_finite(misfit, gradients):
                self._keep(path, [misfit, self.seconds], gradients)
        if self._count == 1 and self.folder and not self.group.rank:
            self._forget_earlier(self.folder)
        return misfit, gradients

    def checkpoint(self, told: dict[str, Any], arrays: list[np.ndarray]) -> None:
        """Keep where the stage stands, in place of where it stood."""
        self._keep(self._checkpoint, {**told, "stage": self.stage, "seconds": self.seconds}, arrays)

    def position(self) -> tuple[dict[str, Any], list[np.ndarray]] | None:
        """What :meth:`checkpoint` was given last in this stage."""
        told, arrays = self._known(self._checkpoint, None) or ({"stage": 0}, [])
        if told["stage"] != self.stage:
            return None
        self._begin = time.perf_counter() - told["seconds"]
        return told, arrays

    @property
    def _checkpoint(self):
        return self.folder and self.folder / "checkpoint.npz"

    def _forget_earlier(self, folder: Path) -> None:
        """Remove the gradients of earlier stages, which have ended and can have no more iterations."""
        for entry in list(folder.iterdir()):
            match = OWN.fullmatch(entry.name)
            if match and match[2] and int(match[1]) < self.stage:
                entry.unlink()

    def _path(self, which=""):
        return self.folder and self.folder / f"stage_{self.stage:04d}{which}.npz"

    def _keep(self, path, told, arrays):
        if self.folder:
            numbered = {str(number): array for number, array in enumerate(arrays)}
            text = np.frombuffer(json.dumps(told).encode(), np.uint8)
            on_root(self.group, self._write, path, {"told": text, "run": self._run, **numbered})

    def _write(self, path, entries):
        """Write arrays and texts by name to one file, as a whole or not at all; StorageError where it cannot be."""
        if self._new is not None:  # not before: a run whose first gradient is refused leaves nothing
            self._state(self._new)
            self._new = None
        packed = io.BytesIO()
        np.savez(packed, **entries)
        with replacing(path) as stream:
            stream.write(packed.getbuffer())

    def _known(self, path, like):
        """(told, arrays) of a file that every rank reads, arrays of the shapes of `like` if that is given; None where
        there is none.
        """
        if not self.folder:
            return None
        here = float(numpy_of(self.group.all_reduce(np.array([float(path.exists())])))[0])
        if not here:
            return None
        if here < self.group.size:
            raise DistributedError(f"{path} is there for {here:.0f} of {self.group.size} ranks; name a folder of all")
        try:
            entries = read_archive(path, None)
            told = json.loads(bytes(entries.pop("told")))
            if str(entries.pop("run")) != self._run:
                raise ValueError("it belongs to another run")
            arrays = [entries[str(number)] for number in range(len(entries))]
            if like is not None and [array.shape for array in arrays] != [model.shape for model in like]:
                raise ValueError("its arrays are not of this run")
            if not all(np.isfinite(array).all() for array in arrays):
                raise ValueError("its arrays are not finite")
        except Exception as error:
            raise _damaged(path, error, "remove it, and it is computed again") from error
        return told, arrays


def differences(saved: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """In which of their values two descriptions of a run differ; empty where in none."""
    names = (name for name in {**now, **saved} if saved.get(name) != now.get(name))
    return ", ".join(f"{name} was {saved.get(name)!r} and is now {now.get(name)!r}" for name in names)


def _begun(about: dict[str, Any], count: int) -> dict[str, Any]:
    """Return the description of a run with its first `count` stages only, the last of them without its iterations."""
    stages = [dict(stage) for stage in about.get("stages", [])[:count]]
    if len(stages) == count > 0:
        stages[-1].pop("iterations")
    return {**about, "stages": stages}


def _damaged(path, error, remedy):
    told = error if isinstance(error, CheckpointError) else f"{path} cannot be read ({type(error).__name__}: {error})"
    return CheckpointError(f"{told}; {remedy}")
