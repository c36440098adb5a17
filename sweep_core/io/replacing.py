"""Atomic writing of files, and errors of the disk that name the file."""

import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..errors import StorageError

_PART = re.compile(r"\.(.+)\.[0-9a-f]{16}\.part")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LONGEST = 200  # bytes of the target's name in that of the part; file systems limit the length of a name


@contextmanager
def storing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an OSError of a block into a StorageError that names `path`.

    Parameters
    ----------
    path : path-like
        File or folder that the block writes.

    Returns
    -------
    context manager
        It yields None.

    Raises
    ------
    StorageError
        The disk is full, or the system refuses to write.
    """
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        space = "free some space, or " if error.errno in _FULL else ""
        raise StorageError(
            f"{path} could not be written: {error.strerror or error}; {space}name another place"
        ) from error


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a stream whose bytes become the file at `path` when the block ends. If the block raises, nothing is written.

    The stream writes to a new file with a random name in the same folder, so that it follows no link of somebody else.
    Neither a kill nor a full disk nor a loss of power leaves half of a file at `path`. A file or a link at `path` is
    replaced; anything else, such as a device, is an error.

    Parameters
    ----------
    path : path-like
        The file. Missing folders are created; an existing file is replaced.

    Returns
    -------
    context manager
        It yields a binary stream.

    Raises
    ------
    StorageError
        `path` exists and is not a file, the disk is full, or the system refuses to write.
    """
    target = Path(path)
    name = os.fsdecode(os.fsencode(target.name)[:_LONGEST])
    part = target.with_name(f".{name}.{secrets.token_hex(8)}.part")
    with storing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.is_file():
            raise StorageError(f"{target} exists and is not a file; name another place")
        try:
            with open(part, "xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)
        _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a loss of power, on file systems that support it."""
    entry = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(entry)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(entry)


def part_of(name: str) -> str | None:
    """Return the name of the file to which a part belongs. A kill leaves a part behind.

    Parameters
    ----------
    name : str
        Name of a file, without its folder.

    Returns
    -------
    str or None
        The name of the file, or None if `name` is not that of a part.
    """
    match = _PART.fullmatch(name)
    return match[1] if match else None
