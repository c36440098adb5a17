"""The folder of a run: history, checkpoint and results, written so that whatever ends a run, it can be continued."""

import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CheckpointError
from ..io import part_of, replacing, storing
from ..plugins import equations
from .checkpoint import HISTORY, Checkpoint, read_checkpoint, read_identified, write_checkpoint
from .lock import Lock

_PICTURE = re.compile(r"(ricker|observed_data|loss|epoch_\d{4,})\.png")


class RunFolder:
    """Files of one inversion.

    ``history.jsonl`` (a line per epoch), ``checkpoint.npz`` (arrays, the history up to them, and what run they belong
    to; read without pickle), ``inverted_vp.npy`` and the figures: each is replaced as a whole. ``run.lock`` names the
    process that writes them.

    Parameters
    ----------
    path : path-like
        Where it stays, whatever folder the process changes to.
    identity : dict
        What a run must share with one that it continues; see :meth:`Settings.identity`.
    """

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, object]):
        self.path, self.identity = Path(os.path.abspath(path)), identity
        self.checkpoint = self.path / "checkpoint.npz"
        self._lock: Lock | None = None
        self._history: list[dict[str, Any]] = []

    def claim(self, resume: bool = False, overwrite: bool = False) -> None:
        """Takes the folder for this process, which alone may write into it until :meth:`release`.

        Raises
        ------
        CheckpointError
            Where another process has it, where it holds a run that is to be neither resumed nor overwritten, or files
            that no run left and this one would replace, or where there is no checkpoint of this run to resume.
        StorageError
        """
        if resume:
            read_identified(self.checkpoint, self.identity)
        lock = self.path / "run.lock"
        with storing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            left = self._own()
            files = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if left[3:] else "")
            if left and not (self.checkpoint.exists() or lock.is_symlink() or lock.exists()):
                raise CheckpointError(
                    f"{self.path} holds {files}, which no run left there and this one would replace; move them, or "
                    "give another --out"
                )
            self._lock = Lock(lock)
            try:
                tempfile.TemporaryFile(dir=self.path).close()  # what cannot be written into is found out now
                if left and not (resume or overwrite):
                    choices = "--resume to continue it, " if self.checkpoint.exists() else ""
                    raise CheckpointError(
                        f"{self.path} holds an earlier run ({files}); give {choices}--overwrite to remove it, or "
                        "another --out"
                    )
            except BaseException:
                self.release()
                raise

    def release(self) -> None:
        """Lets other processes in."""
        if self._lock:
            self._lock.release()
        self._lock = None

    def start(self, history: Sequence[Mapping[str, Any]] = ()) -> None:
        """Begins anew, without the files of an earlier run; or goes on after the epochs of `history`, with them.

        Raises
        ------
        CheckpointError
            Where the folder was not claimed.
        StorageError
        """
        if not self._lock:
            raise CheckpointError(f"{self.path} was not claimed by this process; call claim() before start()")
        with storing(self.path):
            old = self._own(parts=True) + ([] if history else self._own())
        for path in (self.path / name for name in old):
            with storing(path):
                path.unlink(missing_ok=True)
        self._history = [dict(line) for line in history]
        if history:
            self._write_history()

    def _own(self, parts: bool = False) -> list[str]:
        """Files that a run by any equation may have left here, or parts of them that a kill did."""
        parameters = {parameter.name for cls in equations().values() for parameter in getattr(cls, "parameters", ())}
        own = {"history.jsonl", "checkpoint.npz", *(f"inverted_{name}.npy" for name in parameters)}
        here = {entry.name: part_of(entry.name) if parts else entry.name for entry in self.path.iterdir()}
        return sorted(name for name, whole in here.items() if whole and (whole in own or _PICTURE.fullmatch(whole)))

    def append(self, epoch: int, misfit: float, model_error: float | list[float], seconds: float) -> None:
        """Adds a line to the history."""
        self._history.append(dict(zip(HISTORY, (epoch, misfit, model_error, seconds), strict=True)))
        self._write_history()

    def _write_history(self):
        with replacing(self.path / "history.jsonl") as stream:
            stream.write("".join(json.dumps(line) + "\n" for line in self._history).encode())

    def history(self) -> list[dict[str, Any]]:
        """The lines of this run so far, whatever has become of the file that tells them."""
        return [dict(line) for line in self._history]

    def save(self, epoch: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Writes a checkpoint after `epoch`; what ends it half way leaves the one before.

        Raises
        ------
        StorageError
        """
        write_checkpoint(self.checkpoint, self.identity, Checkpoint(epoch, arrays, self.history()))

    def load(self, like: Mapping[str, np.ndarray]) -> Checkpoint:
        """The checkpoint; see :func:`sweep_core.inversion.checkpoint.read_checkpoint`."""
        return read_checkpoint(self.checkpoint, self.identity, like)

    def save_array(self, name: str, values: np.ndarray) -> None:
        """Writes a result as ``<name>.npy``."""
        with replacing(self.path / f"{name}.npy") as stream:
            np.save(stream, values)
