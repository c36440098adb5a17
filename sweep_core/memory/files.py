"""Memory that lies in a file without a name, for what neither a device nor a host has room for."""

import errno
import mmap
import os
import tempfile

from ..errors import MemoryLimitError, StorageError

FULL = errno.ENOSPC, errno.EDQUOT, errno.EFBIG


def mapped(size: int, directory: str | None = None) -> mmap.mmap:
    """Return `size` bytes, at least one, of a temporary file of mode 0600 without a name.

    The system frees the file with its last reference, even if the process is killed. Its blocks are reserved at
    once.

    Parameters
    ----------
    directory : str, optional
        The folder whose file system holds it, that of :func:`tempfile.gettempdir` by default.

    Raises
    ------
    MemoryLimitError
        If that file system is full.
    StorageError
        If nothing can be written in the folder.
    """
    place = directory or tempfile.gettempdir()
    try:
        with tempfile.TemporaryFile(dir=place, buffering=0) as file:
            _reserve(file.fileno(), size)
            return mmap.mmap(file.fileno(), size)
    except OSError as error:
        if error.errno in FULL:
            raise MemoryLimitError(
                f"{size} bytes of history could not be stored in {place}: {error.strerror}; pass a directory=... with "
                "more room beside storage='disk', or use fewer shots a call"
            ) from error
        raise StorageError(
            f"nothing can be stored in {place}: {error.strerror}; pass another directory=... beside storage='disk'"
        ) from error


def _reserve(file: int, size: int) -> None:
    """Reserve all blocks of a file: writing through a map to a full disk would end the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
        return
    zeros = bytes(1 << 20)
    for start in range(0, size, len(zeros)):
        os.pwrite(file, zeros[: size - start], start)
