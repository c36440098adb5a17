"""Arrays on disk, .npy and .npz: read whole, to the last byte, or refused with the name of the file."""

import io
import math
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..errors import CheckpointError, SweepError

_HEADERS = {(1, 0): (2, npy.read_array_header_1_0), (2, 0): (4, npy.read_array_header_2_0)}
"""Bytes of the length of a header, and its reader, by the version of the format."""
_LONGEST = 1 << 16  # bytes of a header
_PIECE = 1 << 20  # bytes that are read at once


def read_array(path: str | os.PathLike[str], *keys: str) -> NDArray[Any]:
    """Read the array of a .npy file, in C order and the byte order of the machine.

    Parameters
    ----------
    path : path-like
        The file.
    *keys : str
        Names of entries: where there are some, the file may also be a .npz, and the first that it has is taken.

    Returns
    -------
    array
        The array, with the shape and dtype of the file.

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
    path: str | os.PathLike[str], keys: Iterable[str] | None, what: str = "an .npz file"
) -> dict[str, NDArray[Any]]:
    """Return those of the entries `keys` that an .npz file has, all entries of None, each with its checksum compared.

    `what` says in words what the file should be.

    Raises
    ------
    CheckpointError
        If the file is missing or damaged, or an entry has another size than its header states.
    """
    try:
        with open(path, "rb") as stream:
            if stream.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX:
                raise ValueError("it holds one bare array")
            with zipfile.ZipFile(stream) as archive:
                there = {name.removesuffix(".npy"): None for name in archive.namelist() if name.endswith(".npy")}
                return {key: _entry(archive, key) for key in (there if keys is None else keys) if key in there}
    except Exception as error:
        raise _refusal(path, what, error) from error


def _entry(archive: zipfile.ZipFile, key: str) -> NDArray[Any]:
    info = archive.getinfo(f"{key}.npy")
    try:
        with archive.open(info) as stream:
            return _read(stream, info.file_size)
    except Exception as error:
        raise ValueError(f"entry {key}: {error}") from error


def _read(stream: IO[bytes], size: int) -> NDArray[Any]:
    """The array that `size` bytes hold, header included; no sample is read before the header agrees with the size.

    All bytes are read, at the last of which zipfile compares the checksum.
    """
    version = npy.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"version {version} of the format")
    width, read_header = _HEADERS[version]
    counted = stream.read(width)
    if (length := int.from_bytes(counted, "little")) > _LONGEST:
        raise ValueError(f"its header takes {length} bytes")
    shape, fortran, dtype = read_header(io.BytesIO(counted + stream.read(length)))
    stated, held = math.prod(shape) * dtype.itemsize, size - stream.tell()
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded: they hold code")
    if stated != held or min(shape, default=0) < 0:
        raise ValueError(f"it holds {held} bytes where its header states {dtype} of shape {shape}, {stated} bytes")
    content = np.empty(stated, np.uint8)
    for begin in range(0, stated, _PIECE):
        piece = stream.read(min(_PIECE, stated - begin))
        if len(piece) < min(_PIECE, stated - begin):
            raise ValueError(f"it ends after {begin + len(piece)} of {stated} bytes")
        content[begin : begin + _PIECE] = np.frombuffer(piece, np.uint8)
    array: NDArray[Any] = np.ndarray(shape, dtype, content, order="F" if fortran else "C")
    return array.astype(dtype.newbyteorder("="), order="C", copy=False)


def _refusal(path: Any, what: str, error: Exception) -> SweepError:
    """Whatever a parser raises on damaged bytes, as one error: their kinds change from version to version."""
    if isinstance(error, SweepError):
        return error
    if isinstance(error, FileNotFoundError):
        return CheckpointError(f"there is no file {Path(path)}")
    reason = " ".join(str(error).split()) or "nothing more is known"
    return CheckpointError(f"{Path(path)} cannot be read as {what} ({type(error).__name__}: {reason})")
