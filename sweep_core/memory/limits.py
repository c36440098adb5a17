"""What memory is left to this process, and what is said when it is not enough."""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

from ..errors import MemoryLimitError, MemoryLimitWarning
from .options import MemoryOptions

_GROUPS = {
    2: ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    1: ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""Of each version of control groups: the root, limit, usage, and what of that the kernel drops first."""


def available(root: str | os.PathLike[str] = "/") -> int | None:
    """Bytes that this process may still use; None where the system does not tell.

    That is the least of what the host has available, what the control group of the process and those above it leave
    of their limits, and what is left of its address space (``ulimit -v``).

    Parameters
    ----------
    root : path-like
        Where proc and sys are found.
    """
    root = Path(root)
    found = [*_host(root), *_groups(root), *_address_space(root)]
    return max(min(found), 0) if found else None


def _fields(path: Path) -> dict[str, int]:
    """Lines ``name number ...`` of a file; none where it cannot be read."""
    try:
        lines = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {line[0].rstrip(":"): int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}


def _number(path: Path) -> int | None:
    """The number in a file; None where there is another word, or no such file."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _host(root: Path) -> Iterator[int]:
    kilobytes = _fields(root / "proc/meminfo").get("MemAvailable")
    if kilobytes is not None:
        yield kilobytes << 10


def _groups(root: Path) -> Iterator[int]:
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for number, controllers, path in (line.split(":", 2) for line in lines if line.count(":") > 1):
        version = 2 if number == "0" else 1 if "memory" in controllers.split(",") else None
        if version is None:
            continue
        base, limit, usage, reclaimable = _GROUPS[version]
        parts = Path(path.lstrip("/")).parts
        for depth in range(len(parts) + 1):
            folder = root.joinpath(base, *parts[:depth])
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
    """Bytes as people read them."""
    return f"{size / 2**30:.2f} GiB" if size >= 1 << 30 else f"{size / 2**20:.1f} MiB"


def advice(memory: MemoryOptions) -> str:
    """What to do about a history that is too large."""
    if memory.strategy == "ckpt":
        return "give CkptOptions no chunks, which takes the least memory, fewer shots a call, or fewer snapshots"
    return "recompute instead by memory=MemoryOptions(strategy='ckpt'), or give fewer shots a call, or fewer snapshots"


def out_of_memory(what: str, memory: MemoryOptions) -> MemoryLimitError:
    """The refusal where `what` could not be allocated."""
    left = available()
    there = "" if left is None else f" ({readable(left)} of the host's are left)"
    return MemoryLimitError(f"{what} could not be allocated{there}; {advice(memory)}")


def warn_if_above(size: int, memory: MemoryOptions, left: int | None = None) -> None:
    """MemoryLimitWarning where a history of `size` bytes is more than what is `left` to this process."""
    left = available() if left is None else left
    if left is not None and size > left:
        warnings.warn(
            f"a call is about to use {readable(size)} of memory, and {readable(left)} are left to this process under "
            f"the limits of its control group and host: it may be killed without a word; {advice(memory)}",
            MemoryLimitWarning,
            stacklevel=2,
        )
