"""One process to a folder."""

import errno
import fcntl
import os
import socket
import warnings
from pathlib import Path

from ..errors import CheckpointError
from ..io import storing


class Lock:
    """Keeps other processes from `path`; ends with :meth:`release`, or with its process, however that ends.

    Raises
    ------
    CheckpointError
        Where another process has it; names that process.
    StorageError
    """

    def __init__(self, path: Path):
        with storing(path):
            # Open for as long as the lock is held, and never by way of a link.
            self._file = open(path, "a+", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o666))  # noqa: SIM115
            try:
                self._take(path)
                self._file.truncate(0)
                self._file.write(f"{os.getpid()} on {socket.gethostname()}\n")
                self._file.flush()
            except BaseException:
                self.release()
                raise

    def _take(self, path: Path) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.seek(0)
            owner = self._file.read().strip() or "that has just begun"
            raise CheckpointError(
                f"{path.parent} is in use by process {owner}; wait for it, end it, or name another folder by --out"
            ) from None
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK):
                raise
            warnings.warn(
                f"the file system of {path.parent} has no locks ({error.strerror}): nothing keeps a second run from it",
                stacklevel=4,
            )

    def release(self) -> None:
        """Lets others in."""
        self._file.close()
