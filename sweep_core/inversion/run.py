"""The folder of a run: history, checkpoint and results, written so that a run can be continued."""

import json
import os
from pathlib import Path

import numpy as np

from ..errors import CheckpointError


class RunFolder:
    """Files of one inversion.

    ``history.jsonl`` (a line per epoch), ``checkpoint.npz`` and ``checkpoint.json`` (arrays and what they belong to;
    read without pickle), ``inverted_vp.npy`` and the figures.

    Parameters
    ----------
    path : Path
    identity : dict
        What a run must share with one that it continues; see :meth:`Settings.identity`.
    """

    def __init__(self, path: Path, identity: dict[str, object]):
        self.path, self.identity = path, identity
        path.mkdir(parents=True, exist_ok=True)

    def start(self, done: int | None = None) -> None:
        """Begins anew, or continues after epoch `done`: what was written later, or at all, is removed."""
        kept = [] if done is None else [line for line in self.history() if line["epoch"] <= done]
        (self.path / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in kept))
        if done is None:
            for name in ("checkpoint.npz", "checkpoint.json"):
                (self.path / name).unlink(missing_ok=True)

    def append(self, **line) -> None:
        """Adds a line to the history."""
        with open(self.path / "history.jsonl", "a") as file:
            file.write(json.dumps(line) + "\n")

    def history(self) -> list[dict]:
        """The lines so far."""
        path = self.path / "history.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def save(self, epoch: int, arrays: dict[str, np.ndarray]) -> None:
        """Writes a checkpoint after `epoch`; an interrupted write leaves the one before."""
        temporary = self.path / "checkpoint.partial.npz"
        np.savez(temporary, **{**arrays, "epoch": np.array(epoch)})  # type: ignore[arg-type]
        os.replace(temporary, self.path / "checkpoint.npz")
        text = json.dumps({"epoch": epoch, **self.identity}, indent=2)
        (self.path / "checkpoint.json").write_text(text + "\n")

    def load(self) -> tuple[int, dict[str, np.ndarray]]:
        """(epoch, arrays) of the checkpoint.

        Raises
        ------
        CheckpointError
            Where there is none, it is damaged, or it belongs to another run.
        """
        try:
            saved = json.loads((self.path / "checkpoint.json").read_text())
            with np.load(self.path / "checkpoint.npz", allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            epoch = int(arrays.pop("epoch"))
        except FileNotFoundError as error:
            raise CheckpointError(f"nothing to resume: {error.filename} does not exist; run without --resume") from None
        except Exception as error:
            raise CheckpointError(f"the checkpoint in {self.path} cannot be read: {error}") from error
        differing = [
            f"{key} was {saved.get(key)!r} and is now {value!r}"
            for key, value in self.identity.items()
            if saved.get(key) != json.loads(json.dumps(value))
        ]
        if differing:
            raise CheckpointError(f"the checkpoint in {self.path} belongs to another run: {'; '.join(differing)}")
        return epoch, arrays
