"""Readers of .npy and .npz files. They read a file to its last byte, or raise an error with its name."""

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
"""For each version of the format: the bytes of the length of a header, and the reader of the header."""
_LONGEST_HEADER = 1 << 16  # bytes
_CHUNK = 1 << 20  # bytes per read


def read_array(path: str | os.PathLike[str], *keys: str) -> NDArray[Any]:
    """Read the array of a .npy file, in C order and the byte order of the machine.

    Parameters
    ----------
    path : path-like
        The file.
    *keys : str
        Names of entries. With names, the file may also be a .npz, whose first existing entry of these names is read.

    Returns
    -------
    array
        The array, with the shape and dtype of the file.

    Raises
    ------
    CheckpointError
        The file is missing or damaged: its header cannot be read, or states another size than the file has. The format
        has no checksum of the numbers themselves.
    """
    try:
        with open(path, "rb") as stream:
            if not (keys and zipfile.is_zipfile(stream)):
                stream.seek(0)
                return _read(stream, os.fstat(stream.fileno()).st_size)
        entries = read_archive(path, keys)
        if not entries:
            raise CheckpointError(f"{path} is an archive without {' or '.join(keys)}; expected one of them, or a .npy")
        return next(iter(entries.values()))
    except Exception as error:
        raise _as_sweep_error(path, "a .npy file", error) from error


def read_archive(
    path: str | os.PathLike[str], keys: Iterable[str] | None, content: str = "an .npz file"
) -> dict[str, NDArray[Any]]:
    """Read entries of an .npz file and compare their checksums.

    Parameters
    ----------
    path : path-like
        The file.
    keys : iterable of str, optional
        Names of entries. Names that the file does not have are left out; None reads all entries.
    content : str
        The expected content of the file, for the error message.

    Returns
    -------
    dict
        Arrays by the names of their entries.

    Raises
    ------
    CheckpointError
        The file is missing or damaged, or an entry has another size than its header states.
    """
    try:
        with open(path, "rb") as stream:
            if stream.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX:
                raise ValueError("it holds one bare array")
            with zipfile.ZipFile(stream) as archive:
                names = {name.removesuffix(".npy"): None for name in archive.namelist() if name.endswith(".npy")}
                return {key: _entry(archive, key) for key in (names if keys is None else keys) if key in names}
    except Exception as error:
        raise _as_sweep_error(path, content, error) from error


def is_scalar(entry: NDArray[Any], value: Any) -> bool:
    """Return True if an entry of an archive is this one value."""
    return entry.shape == () and entry.item() == value


def check_version(path: str | os.PathLike[str], entries: dict[str, NDArray[Any]], version: int, advice: str) -> None:
    """Raise a CheckpointError unless an archive has this version of its format."""
    if not is_scalar(entries["version"], version):
        raise CheckpointError(
            f"format version of {path} is {entries['version']}; expected {version}, that of this SWEEP: {advice}"
        )


def _entry(archive: zipfile.ZipFile, key: str) -> NDArray[Any]:
    info = archive.getinfo(f"{key}.npy")
    try:
        with archive.open(info) as stream:
            return _read(stream, info.file_size)
    except Exception as error:
        raise ValueError(f"entry {key}: {error}") from error


def _read(stream: IO[bytes], size: int) -> NDArray[Any]:
    """Return the array in a stream of `size` bytes, header included.

    The header must agree with the size before a sample is read. The function reads all bytes, because zipfile compares
    the checksum at the last one.
    """
    version = npy.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"its format has the unknown version {version}")
    width, read_header = _HEADERS[version]
    length_bytes = stream.read(width)
    if (length := int.from_bytes(length_bytes, "little")) > _LONGEST_HEADER:
        raise ValueError(f"its header takes {length} bytes")
    shape, fortran, dtype = read_header(io.BytesIO(length_bytes + stream.read(length)))
    expected, available = math.prod(shape) * dtype.itemsize, size - stream.tell()
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded: they hold code")
    if expected != available or min(shape, default=0) < 0:
        raise ValueError(
            f"it holds {available} bytes, but its header states {dtype} of shape {shape}, {expected} bytes"
        )
    content = np.empty(expected, np.uint8)
    for begin in range(0, expected, _CHUNK):
        chunk = stream.read(min(_CHUNK, expected - begin))
        if len(chunk) < min(_CHUNK, expected - begin):
            raise ValueError(f"it ends after {begin + len(chunk)} of {expected} bytes")
        content[begin : begin + _CHUNK] = np.frombuffer(chunk, np.uint8)
    array: NDArray[Any] = np.ndarray(shape, dtype, content, order="F" if fortran else "C")
    return array.astype(dtype.newbyteorder("="), order="C", copy=False)


def _as_sweep_error(path: Any, content: str, error: Exception) -> SweepError:
    """Return the error of a parser as a SweepError: parsers raise different kinds from version to version."""
    if isinstance(error, SweepError):
        return error
    if isinstance(error, FileNotFoundError):
        return CheckpointError(f"there is no file {Path(path)}")
    reason = " ".join(str(error).split()) or "nothing more is known"
    return CheckpointError(f"{Path(path)} cannot be read as {content} ({type(error).__name__}: {reason})")
