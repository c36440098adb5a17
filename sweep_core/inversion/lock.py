"""A lock that admits one process to a folder."""

import errno
import os
import socket
import warnings
from pathlib import Path

from filelock import lock_descriptor

from ..errors import CheckpointError
from ..io import storing


class Lock:
    """A lock on `path` against other processes, until :meth:`release` or the end of the process.

    Raises
    ------
    CheckpointError
        Another process, which the error names, holds the lock.
    StorageError
        The file cannot be opened or written.
    """

    def __init__(self, path: Path):
        with storing(path):
            # The lock lasts while the file is open. Where the system supports it, opening follows no link.
            no_follow = getattr(os, "O_NOFOLLOW", 0)
            self._file = open(path, "a+", opener=lambda name, flags: os.open(name, flags | no_follow, 0o666))  # noqa: SIM115
            try:
                self._acquire(path)
                self._file.truncate(0)
                # On Windows other processes cannot read the first byte of a locked file.
                self._file.write(f" {os.getpid()} on {socket.gethostname()}\n")
                self._file.flush()
            except BaseException:
                self.release()
                raise

    def _acquire(self, path: Path) -> None:
        try:
            is_locked = lock_descriptor(self._file.fileno(), blocking=False)
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK):
                raise
            warnings.warn(
                f"the file system of {path.parent} has no locks ({error.strerror}); do not start a second run in this "
                "folder",
                stacklevel=4,
            )
            return
        if not is_locked:
            self._file.seek(1)
            owner = self._file.read().strip() or "that has just started"
            raise CheckpointError(
                f"{path.parent} is in use by process {owner}; wait for it, end it, or name another folder by --out"
            )

    def release(self) -> None:
        """Release the lock."""
        self._file.close()
