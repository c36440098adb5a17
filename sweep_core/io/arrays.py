"""Arrays on disk, .npy and .npz: read whole, to the last byte, or refused with the name of the file."""

import io
import math
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from numpy.lib import format as npy
from numpy.typing import NDArray

from ..errors import CheckpointError, SweepError

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_array(path: str | os.PathLike[str], *keys: str) -> NDArray[Any]:
    """The array of a .npy file, in C order and the byte order of the machine.

    Parameters
    ----------
    path : path-like
    *keys : str
        Names of entries: where there are some, the file may also be a .npz, and the first that it has is taken.

    Raises
    ------
    CheckpointError
        If the file is missing or damaged: its header cannot be read, or states another size than the file has. The
        format has no checksum of the numbers themselves.
    """
    try:
        with open(path, "rb") as stream:
            if not (keys and zipfile.is_zipfile(stream)):
                stream.seek(0)
                return _read(stream, os.fstat(stream.fileno()).st_size)
        found = read_archive(path, keys)
        if not found:
            raise CheckpointError(f"{path} is an archive without {' or '.join(keys)}; expected one of them, or a .npy")
        return next(iter(found.values()))
    except Exception as error:
        raise _refusal(path, "a .npy file", error) from error


def read_archive(
    path: str | os.PathLike[str], keys: Iterable[str], what: str = "an .npz file"
) -> dict[str, NDArray[Any]]:
    """Those of the entries `keys` that an .npz file has, each read to its end, where its checksum is looked at.

    `what` says in words what the file should be.

    Raises
    ------
    CheckpointError
        If the file is missing or damaged.
    """
    try:
        with open(path, "rb") as stream:
            if stream.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX:
                raise ValueError("it holds one bare array")
            with zipfile.ZipFile(stream) as archive:
                there = set(archive.namelist())
                data = {key: archive.read(f"{key}.npy") for key in keys if f"{key}.npy" in there}
        return {key: _entry(key, content) for key, content in data.items()}
    except Exception as error:
        raise _refusal(path, what, error) from error


def _entry(key: str, content: bytes) -> NDArray[Any]:
    try:
        return _read(io.BytesIO(content), len(content))
    except Exception as error:
        raise ValueError(f"entry {key}: {error}") from error


def _read(stream: BinaryIO, size: int) -> NDArray[Any]:
    """The array that `size` bytes hold, header included: no more is allocated than there is."""
    version = npy.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"version {version} of the format")
    shape, _, dtype = _HEADERS[version](stream)
    stated, held = math.prod(shape) * dtype.itemsize, size - stream.tell()
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded: they hold code")
    if stated != held or min(shape, default=0) < 0:
        raise ValueError(f"it holds {held} bytes where its header states {dtype} of shape {shape}, {stated} bytes")
    stream.seek(0)
    array = npy.read_array(stream, allow_pickle=False)
    return array.astype(dtype.newbyteorder("="), order="C", copy=False)


def _refusal(path: Any, what: str, error: Exception) -> SweepError:
    """Whatever a parser raises on damaged bytes, as one error: their kinds change from version to version."""
    if isinstance(error, SweepError):
        return error
    if isinstance(error, FileNotFoundError):
        return CheckpointError(f"there is no file {Path(path)}")
    reason = " ".join(str(error).split()) or "nothing more is known"
    return CheckpointError(f"{Path(path)} cannot be read as {what} ({type(error).__name__}: {reason})")
