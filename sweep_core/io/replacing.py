"""Files that are written whole or not at all, and errors of the disk that say which file they met."""

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
_LONGEST = 200  # bytes of a name that its part keeps, so that the part's is no longer than file systems take


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

    Raises
    ------
    StorageError
        If the disk is full, or refuses otherwise.
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
    """A stream whose bytes become the file at `path` when the block ends, and nothing at all where it raises.

    Until then they are in a file of their own beside it, whose name nobody can foresee, and which is new: a link that
    lies in wait is not followed. Neither a kill nor a full disk nor a loss of power leaves half of a file at `path`. A
    link at `path` is itself replaced; so is a file, but nothing else, such as a device.

    Parameters
    ----------
    path : path-like
        Folders on the way are made; a file that stands there is replaced.

    Returns
    -------
    context manager
        It yields a binary stream.

    Raises
    ------
    StorageError
        If the disk is full, or refuses otherwise.
    """
    target = Path(path)
    name = os.fsdecode(os.fsencode(target.name)[:_LONGEST])
    part = target.with_name(f".{name}.{secrets.token_hex(8)}.part")
    with storing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.is_file():
            raise StorageError(f"{target} is there and no file; name another place")
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
    """The new name outlasts a loss of power, too, on file systems that can promise it."""
    entry = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(entry)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(entry)


def part_of(name: str) -> str | None:
    """Return the name of the file that a part, left behind by a kill, was to become.

    Parameters
    ----------
    name : str
        Name of a file, without its folder.

    Returns
    -------
    str or None
        None if the file is no such part.
    """
    match = _PART.fullmatch(name)
    return match[1] if match else None
