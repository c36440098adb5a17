"""The memory left to this process, and messages for a lack of memory."""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

from .._util.control_groups import V1, V2, group_folders
from ..errors import MemoryLimitError, MemoryLimitWarning
from .options import MemoryOptions

_GROUPS = {
    V2: ("memory.max", "memory.current", "inactive_file"),
    V1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""Files of each version of control groups: limit, usage, and usage that the kernel drops first."""


def available(root: str | os.PathLike[str] = "/") -> int | None:
    """Return the bytes that this process may still use; None if the system does not state them.

    It is the least of three numbers: the available memory of the host, the rest of the limits of the process' control
    group and its parents, and the rest of the address space (``ulimit -v``).

    Parameters
    ----------
    root : path-like
        Folder of proc and sys.
    """
    root = Path(root)
    limits = [*_host(root), *_groups(root), *_address_space(root)]
    return max(min(limits), 0) if limits else None


def _fields(path: Path) -> dict[str, int]:
    """Return the lines ``name number ...`` of a file; none if it cannot be read."""
    try:
        lines = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {line[0].rstrip(":"): int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}


def _number(path: Path) -> int | None:
    """Return the number in a file; None if it holds another word or does not exist."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _host(root: Path) -> Iterator[int]:
    kilobytes = _fields(root / "proc/meminfo").get("MemAvailable")
    if kilobytes is not None:
        yield kilobytes << 10


def _groups(root: Path) -> Iterator[int]:
    for version, folder in group_folders(root, "memory"):
        limit, usage, reclaimable = _GROUPS[version]
        bound, used = _number(folder / limit), _number(folder / usage)
        if bound is not None and used is not None:
            yield bound - used + _fields(folder / "memory.stat").get(reclaimable, 0)


def _address_space(root: Path) -> Iterator[int]:
    try:
        import resource
    except ImportError:  # no Unix
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    try:
        pages = int((root / "proc/self/statm").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return
    yield limit - pages * resource.getpagesize()


def readable(size: int) -> str:
    """Return a number of bytes as text, in GiB or MiB."""
    return f"{size / 2**30:.2f} GiB" if size >= 1 << 30 else f"{size / 2**20:.1f} MiB"


def advice(memory: MemoryOptions) -> str:
    """Return advice about a history that is too large."""
    if memory.strategy == "ckpt":
        return "leave chunks of CkptOptions out for the least memory, or use fewer shots a call, or fewer snapshots"
    return "recompute by memory=MemoryOptions(strategy='ckpt'), or use fewer shots a call, or fewer snapshots"


def out_of_memory(subject: str, memory: MemoryOptions) -> MemoryLimitError:
    """Return the error for a `subject`, such as the memory of a call, that could not be allocated."""
    left = available()
    there = "" if left is None else f" ({readable(left)} of the host's are left)"
    return MemoryLimitError(f"{subject} could not be allocated{there}; {advice(memory)}")


def warn_if_above(size: int, memory: MemoryOptions, left: int | None = None) -> None:
    """Warn by a MemoryLimitWarning if a history of `size` bytes is larger than the memory `left` to this process."""
    left = available() if left is None else left
    if left is not None and size > left:
        warnings.warn(
            f"a call is about to use {readable(size)} of memory; {readable(left)} are left to this process under the "
            f"limits of its control group and host. The process may be killed without a message: {advice(memory)}",
            MemoryLimitWarning,
            stacklevel=2,
        )
