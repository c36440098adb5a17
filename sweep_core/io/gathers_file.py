"""Gathers on disk: one .npz with an entry for each shot, of which ranks read their own."""

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
from .arrays import read_archive
from .gathers import OF_SHOTS, Gathers, check_gathers
from .line import Line, Misfit
from .replacing import replacing

_FORMAT = "sweep-gathers"
_VERSION = 1
_WHOLE = ("format", "version", "name", "dt", "dh", "line", "misfit", "datum", "notes")


def _entry(shot: int) -> str:
    return f"observed_{shot:07d}"


def write_gathers(path: str | os.PathLike[str], gathers: Gathers | Iterable[Gathers]) -> Path:
    """Write gathers to `path` as .npz, whole or not at all; what stood there before is replaced.

    Parameters
    ----------
    path : path-like
        Used as it is given; folders are made where they are missing.
    gathers : Gathers, or an iterable of them
        Parts of one survey, such as `read_segy` makes of `shots=`, are written one after the other: no more than one is
        in memory.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    StorageError
        If the disk is full, or refuses otherwise.
    DtypeError
        For anything but gathers.
    ShapeError
        Where parts are not of one survey: receivers, samples, dt, dh, line or datum differ.
    """
    if not isinstance(gathers, Gathers | Iterable):
        raise DtypeError(f"gathers is a {type(gathers).__name__}; expected Gathers, or some of them")
    parts = iter([gathers] if isinstance(gathers, Gathers) else gathers)
    target = as_path(path)
    with replacing(target) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, array in _entries(parts):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                npy.write_array(entry, np.asanyarray(array), allow_pickle=False)
    return target


def _entries(parts: Iterator[Gathers]) -> Iterator[tuple[str, Any]]:
    """Names and arrays: records first, since they need not be kept, then what all shots share."""
    count, kept, first, notes = 0, [], None, []
    for part in parts:
        check_gathers(part)
        first = part if first is None else first
        for key in ("dt", "dh", "line", "datum"):
            if getattr(part, key) != getattr(first, key):
                raise ShapeError(
                    f"parts of gathers differ: {key} is {getattr(part, key)}, and {getattr(first, key)} before"
                )
        if part.observed.shape[1:] != first.observed.shape[1:] or part.observed.dtype != first.observed.dtype:
            raise ShapeError(
                f"parts of gathers differ: (nt, nrec, nfield) is {part.observed.shape[1:]} of {part.observed.dtype}, "
                f"and {first.observed.shape[1:]} of {first.observed.dtype} before"
            )
        for record in part.observed:
            yield _entry(count), record
            count += 1
        kept.append({key: getattr(part, key) for key in OF_SHOTS})
        notes += [note for note in part.notes if note not in notes]
    if first is None:
        raise ShapeError("there are no gathers to write; expected one or more")
    yield from ((key, np.concatenate([part[key] for part in kept])) for key in OF_SHOTS)
    whole = (_FORMAT, _VERSION, first.name, first.dt, first.dh, [first.line.origin, first.line.direction])
    rest = (list(attrs.astuple(first.misfit)), first.datum, np.array(notes, dtype=str))
    yield from zip(_WHOLE, whole + rest, strict=True)


def read_gathers(path: str | os.PathLike[str], shots: Iterable[int] | None = None) -> Gathers:
    """Read what `write_gathers` wrote, all shots or some; no others are read from the disk.

    Parameters
    ----------
    path : path-like
        The file.
    shots : iterable of int, optional
        Numbers of the shots, from 0 on, such as a rank's part of a `ShotPlan`; all by default.

    Returns
    -------
    Gathers

    Raises
    ------
    CheckpointError
        If the file is missing, damaged or something else; what is read is compared with its checksum.
    ShapeError, DomainError
        If it has no such shot, or `shots` are no numbers.
    """
    path = as_path(path)
    entries = read_archive(path, (*_WHOLE, *OF_SHOTS), "gathers")
    missing = [key for key in (*_WHOLE, *OF_SHOTS) if key not in entries]
    if missing or entries["format"].shape != () or entries["format"].item() != _FORMAT:
        absent = f": it has no {', '.join(missing)}" if missing else ""
        raise CheckpointError(f"{path} holds no gathers{absent}; make them with sweep_core.io.write_gathers")
    if entries["version"].shape != () or entries["version"].item() != _VERSION:
        raise CheckpointError(
            f"{path} has format version {entries['version']}, this SWEEP reads {_VERSION}; update SWEEP"
        )
    count = len(np.atleast_1d(entries["shots"]))
    chosen = list(range(count)) if shots is None else whole_numbers(shots, "shots", "shots").tolist()
    if not all(0 <= shot < count for shot in chosen):
        raise ShapeError(f"{path} holds shots 0 to {count - 1}; asked for {chosen}")
    wanted = set(chosen) or {0}  # where there are none, one tells the shape
    records = read_archive(path, map(_entry, wanted), "gathers")
    if len(records) != len(wanted):
        raise CheckpointError(f"{path} has {len(records)} of the records of {len(wanted)} shots; write it again")
    try:
        like = next(iter(records.values()))
        observed = np.empty((len(chosen), *like.shape), like.dtype)
        for row, shot in enumerate(chosen):
            observed[row] = records[_entry(shot)]
        return _made(entries, observed, chosen)
    except (SweepError, ValueError, IndexError, TypeError) as error:
        raise CheckpointError(f"{path} does not hold valid gathers: {error}") from error


def _made(entries: dict[str, NDArray[Any]], observed: NDArray[Any], chosen: list[int]) -> Gathers:
    return Gathers(
        observed=observed, dt=entries["dt"].item(), dh=tuple(entries["dh"].tolist()),
        line=Line(*entries["line"].tolist()), misfit=Misfit(*entries["misfit"].tolist()), datum=entries["datum"].item(),
        name=entries["name"].item(), notes=tuple(entries["notes"].tolist()),
        **{key: entries[key][chosen] for key in OF_SHOTS},
    )  # fmt: skip
