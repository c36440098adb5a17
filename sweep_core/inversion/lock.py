"""One process to a folder."""

import errno
import os
import socket
import warnings
from pathlib import Path

from filelock import lock_descriptor

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
            # Open for as long as the lock is held, and never by way of a link where that can be asked for.
            never = getattr(os, "O_NOFOLLOW", 0)
            self._file = open(path, "a+", opener=lambda name, flags: os.open(name, flags | never, 0o666))  # noqa: SIM115
            try:
                self._take(path)
                self._file.truncate(0)
                # Windows lets nobody else read the first byte of a locked file.
                self._file.write(f" {os.getpid()} on {socket.gethostname()}\n")
                self._file.flush()
            except BaseException:
                self.release()
                raise

    def _take(self, path: Path) -> None:
        try:
            alone = lock_descriptor(self._file.fileno(), blocking=False)
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK):
                raise
            warnings.warn(
                f"the file system of {path.parent} has no locks ({error.strerror}): nothing keeps a second run from it",
                stacklevel=4,
            )
            return
        if not alone:
            self._file.seek(1)
            owner = self._file.read().strip() or "that has just begun"
            raise CheckpointError(
                f"{path.parent} is in use by process {owner}; wait for it, end it, or name another folder by --out"
            )

    def release(self) -> None:
        """Lets others in."""
        self._file.close()
