"""What a run goes on from, in one file that tells what run it belongs to; nothing in it is trusted."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from ..errors import CheckpointError
from ..io import replacing
from ..io.arrays import read_archive

HISTORY = ("epoch", "misfit", "model_error", "seconds")
"""What a line of the history tells."""

_REMEDY = "it cannot be resumed: give --overwrite, or another folder by --out"
LARGEST = float(np.finfo(np.float64).max)


@attrs.frozen(eq=False)
class Checkpoint:
    """Where a run stands after an epoch: its arrays, and a line of history for each epoch from 0 on."""

    epoch: int
    arrays: Mapping[str, np.ndarray]
    history: list[dict[str, Any]]


def write_checkpoint(path: Path, identity: dict[str, object], checkpoint: Checkpoint) -> None:
    """Writes a checkpoint of the run that `identity` describes; what ends it half way leaves the one before.

    Raises
    ------
    StorageError
    """
    texts = {"identity": json.dumps(identity), "history": json.dumps(checkpoint.history)}
    write_entries(path, {**checkpoint.arrays, **texts, "epoch": np.array(checkpoint.epoch)})


def write_entries(path: Path, entries: Mapping[str, Any]) -> None:
    """Arrays and texts by name, in one file that is there as a whole or not at all; StorageError where it cannot be."""
    packed = io.BytesIO()
    np.savez(packed, **entries)
    with replacing(path) as stream:
        stream.write(packed.getbuffer())


def read_identified(path: Path, identity: dict[str, object]) -> dict[str, np.ndarray]:
    """The entries of an undamaged checkpoint, which is that of the run that `identity` describes.

    Raises
    ------
    CheckpointError
        Where it cannot be read, or belongs to another run; names what differs.
    """
    try:
        entries = read_archive(path, None, "a checkpoint")
    except CheckpointError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise CheckpointError(f"nothing to resume: {path} does not exist; run without --resume") from None
        raise CheckpointError(f"{error}; {_REMEDY}") from error
    saved, now = _json(path, entries, "identity", dict), json.loads(json.dumps(identity))
    if differing := differences(saved, now):
        what = f"{path} belongs to another run: {differing}"
        raise CheckpointError(f"{what}; resume it as it was begun, give --overwrite, or another folder by --out")
    return entries


def differences(saved: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """In which of their values two descriptions of a run differ; empty where in none."""
    names = (name for name in {**now, **saved} if saved.get(name) != now.get(name))
    return ", ".join(f"{name} was {saved.get(name)!r} and is now {now.get(name)!r}" for name in names)


def read_checkpoint(path: Path, identity: dict[str, object], like: Mapping[str, np.ndarray]) -> Checkpoint:
    """What :func:`write_checkpoint` wrote; its arrays are finite, and have the names, shapes and dtypes of `like`.

    Raises
    ------
    CheckpointError
        Where there is none, it is damaged, or it belongs to another run; names the field.
    """
    entries = read_identified(path, identity)
    expected = {**like, "epoch": np.array(0)}
    for name in entries.keys() - expected.keys() - {"identity", "history"}:
        raise wrong(path, f"holds {name}, which is nothing of this run")
    arrays = {name: _checked(path, entries, name, array) for name, array in expected.items()}
    epoch, history = int(arrays.pop("epoch")), _json(path, entries, "history", list)
    for line in history:
        if not _is_line(line):
            raise wrong(path, f"holds a history with the line {line!r}; expected numbers for {', '.join(HISTORY)}")
    told = [line["epoch"] for line in history]
    if epoch < 1 or len(told) != epoch + 1 or told != list(range(epoch + 1)):
        raise wrong(path, f"is of epoch {epoch}, and its history of {told}")
    return Checkpoint(epoch, arrays, history)


def wrong(path: Path, what: str) -> CheckpointError:
    """A refusal to go on from a checkpoint."""
    return CheckpointError(f"{path} {what}; {_REMEDY}")


def _checked(path, entries, name, expected):
    if name not in entries:
        raise wrong(path, f"has no {name}")
    found = entries[name]
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        given = f"{found.dtype} of shape {found.shape}"
        raise wrong(path, f"holds {name} as {given}; expected {expected.dtype} of shape {expected.shape}")
    if not np.isfinite(found).all():
        raise wrong(path, f"holds {name} with values that are not finite")
    return found


def _json(path, entries, name, kind):
    if name not in entries:
        raise wrong(path, f"has no {name}")
    text = entries[name]
    try:
        value = json.loads(str(text)) if text.shape == () and text.dtype.kind == "U" else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
        raise wrong(path, f"holds {name} that is no JSON {kind.__name__}")
    return value


def _is_line(line):
    if not isinstance(line, dict) or set(line) != set(HISTORY):
        return False
    error = line["model_error"]
    numbers = [line["misfit"], line["seconds"], *(error if isinstance(error, list) else [error])]
    return type(line["epoch"]) is int and all(type(n) in (int, float) and abs(n) <= LARGEST for n in numbers)
