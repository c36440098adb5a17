"""Files of gathers: one .npz with an entry for each shot, so that each rank reads only its shots."""

import os
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .._util.validators import as_path, whole_numbers
from ..errors import CheckpointError, DtypeError, ShapeError, SweepError
from .arrays import check_version, is_scalar, read_archive
from .gathers import SHOT_ARRAYS, Gathers, check_gathers
from .line import Line, Misfit
from .replacing import replacing

_FORMAT = "sweep-gathers"
_VERSION = 1
_SURVEY_KEYS = ("format", "version", "name", "dt", "dh", "line", "misfit", "datum", "notes")


def _entry(shot: int) -> str:
    return f"observed_{shot:07d}"


def write_gathers(path: str | os.PathLike[str], gathers: Gathers | Iterable[Gathers]) -> Path:
    """Write gathers to a .npz file, completely or not at all. An existing file is replaced.

    Parameters
    ----------
    path : path-like
        The file, without a change of its suffix. Missing folders are created.
    gathers : Gathers, or an iterable of Gathers
        The gathers, or the parts of one survey, such as `read_segy` returns for `shots=`. The parts are written one
        after the other, so that only one is in memory.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    StorageError
        The disk is full, or the system refuses to write.
    DtypeError
        The argument is not made of gathers.
    ShapeError
        There are no gathers, or the parts are not of one survey: receivers, samples, dt, dh, line or datum differ.
    """
    if not isinstance(gathers, Gathers | Iterable):
        raise DtypeError(f"gathers is a {type(gathers).__name__}; expected Gathers, or an iterable of Gathers")
    parts = iter([gathers] if isinstance(gathers, Gathers) else gathers)
    target = as_path(path)
    with replacing(target) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, array in _entries(parts):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                npy.write_array(entry, np.asanyarray(array), allow_pickle=False)
    return target


def _entries(parts: Iterator[Gathers]) -> Iterator[tuple[str, Any]]:
    """Yield names and arrays: the records first, because they need no memory, then the arrays of the whole survey."""
    count, shot_arrays, first, notes = 0, [], None, []
    for part in parts:
        check_gathers(part)
        first = part if first is None else first
        for key in ("dt", "dh", "line", "datum"):
            if getattr(part, key) != getattr(first, key):
                raise ShapeError(
                    f"parts of gathers differ: {key} is {getattr(part, key)}; expected {getattr(first, key)}, as in "
                    "the first part"
                )
        if part.observed.shape[1:] != first.observed.shape[1:] or part.observed.dtype != first.observed.dtype:
            raise ShapeError(
                f"parts of gathers differ: (nt, nrec, nfield) is {part.observed.shape[1:]} of {part.observed.dtype}; "
                f"expected {first.observed.shape[1:]} of {first.observed.dtype}, as in the first part"
            )
        for record in part.observed:
            yield _entry(count), record
            count += 1
        shot_arrays.append({key: getattr(part, key) for key in SHOT_ARRAYS})
        notes += [note for note in part.notes if note not in notes]
    if first is None:
        raise ShapeError("there are no gathers to write; expected one or more")
    yield from ((key, np.concatenate([arrays[key] for arrays in shot_arrays])) for key in SHOT_ARRAYS)
    grid = (_FORMAT, _VERSION, first.name, first.dt, first.dh, [first.line.origin, first.line.direction])
    survey = (list(attrs.astuple(first.misfit)), first.datum, np.array(notes, dtype=str))
    yield from zip(_SURVEY_KEYS, grid + survey, strict=True)


def read_gathers(path: str | os.PathLike[str], shots: Iterable[int] | None = None) -> Gathers:
    """Read all or some shots from a file of `write_gathers`. Other shots are not read from the disk.

    Parameters
    ----------
    path : path-like
        The file.
    shots : iterable of int, optional
        Shots, counted from 0, such as the shots of one rank in a `ShotPlan`; all by default.

    Returns
    -------
    Gathers
        The gathers of these shots.

    Raises
    ------
    CheckpointError
        The file is missing, damaged, or not a file of gathers. The checksums of all entries that are read are compared.
    ShapeError, DomainError
        The file has no such shot, or `shots` are not whole numbers.
    """
    path = as_path(path)
    entries = read_archive(path, (*_SURVEY_KEYS, *SHOT_ARRAYS), "gathers")
    missing = [key for key in (*_SURVEY_KEYS, *SHOT_ARRAYS) if key not in entries]
    if missing or not is_scalar(entries["format"], _FORMAT):
        absent = f": it has no {', '.join(missing)}" if missing else ""
        raise CheckpointError(f"{path} holds no gathers{absent}; write them with sweep_core.io.write_gathers")
    check_version(path, entries, _VERSION, "update SWEEP")
    count = len(np.atleast_1d(entries["shots"]))
    rows = list(range(count)) if shots is None else whole_numbers(shots, "shots", "shots").tolist()
    if not all(0 <= shot < count for shot in rows):
        raise ShapeError(f"shots are {rows}; expected numbers from 0 to {count - 1}, the shots of {path}")
    entry_rows = set(rows) or {0}  # without shots, the first one gives the shape
    records = read_archive(path, map(_entry, entry_rows), "gathers")
    if len(records) != len(entry_rows):
        raise CheckpointError(
            f"{path} lacks {len(entry_rows) - len(records)} of the records of {len(entry_rows)} shots; write it again"
        )
    try:
        template = next(iter(records.values()))
        observed = np.empty((len(rows), *template.shape), template.dtype)
        for row, shot in enumerate(rows):
            observed[row] = records[_entry(shot)]
        return _make_gathers(entries, observed, rows)
    except (SweepError, ValueError, IndexError, TypeError) as error:
        raise CheckpointError(f"{path} does not hold valid gathers: {error}") from error


def _make_gathers(entries: dict[str, NDArray[Any]], observed: NDArray[Any], rows: list[int]) -> Gathers:
    return Gathers(
        observed=observed, dt=entries["dt"].item(), dh=tuple(entries["dh"].tolist()),
        line=Line(*entries["line"].tolist()), misfit=Misfit(*entries["misfit"].tolist()), datum=entries["datum"].item(),
        name=entries["name"].item(), notes=tuple(entries["notes"].tolist()),
        **{key: entries[key][rows] for key in SHOT_ARRAYS},
    )  # fmt: skip
