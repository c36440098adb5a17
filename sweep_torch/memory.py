"""Large CPU buffers for repeated use, and the memory that is left.

The first touch of fresh pages costs as much as a forward run, so buffers are used again.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from sweep_core.memory import HistoryPlan, MemoryOptions
from sweep_core.memory.files import mapped
from sweep_core.memory.limits import available, out_of_memory, warn_if_above

from .devices import current_launch
from .private import holder_count

WASTE = 4
"""A buffer serves requests down to its size divided by this number."""
SMALL = 64 << 20
"""Bytes up to which a request does not check the memory that is left."""


class Pool:
    """Byte buffers. A buffer is free as soon as only the pool holds its storage.

    Free buffers are used again. Before a new buffer is allocated, the free ones that are too small for the request go
    back to the system. Then the largest free buffers follow, until the new buffer and the free ones fit in the memory
    that is left to the process.
    On a GPU torch's own allocator does this, and knows about streams.
    """

    def __init__(self) -> None:
        self._buffers: list[torch.Tensor] = []
        self._lock = threading.Lock()

    def take(self, size: int, device: torch.device, memory: MemoryOptions | None = None) -> torch.Tensor:
        """Return `size` bytes, uninitialised; a warning that they may be too many names the options in `memory`."""
        if device.type != "cpu" or size == 0:
            return torch.empty(size, dtype=torch.uint8, device=device)
        with self._lock:
            fitting = [b for b in self._buffers if size <= b.numel() <= WASTE * size and self._free(b)]
            if fitting:
                return min(fitting, key=torch.numel)[:size]
            # This problem will not ask again for buffers that are too small for it.
            self._buffers = [b for b in self._buffers if b.numel() > size or not self._free(b)]
            if size > SMALL:
                self._make_room(size, memory or MemoryOptions())
            self._buffers.append(torch.empty(size, dtype=torch.uint8))
            return self._buffers[-1][:size]

    def _make_room(self, size: int, memory: MemoryOptions) -> None:
        left = available()
        if left is None:
            return
        for buffer in sorted(self._idle(), key=torch.numel, reverse=True):
            idle = sum(map(torch.numel, self._idle()))
            if idle + size > left:
                self._buffers = [b for b in self._buffers if b is not buffer]
                left += buffer.numel()
        warn_if_above(size, memory, left)

    def idle(self) -> int:
        """Return the number of bytes that are free to be used again."""
        with self._lock:
            return sum(map(torch.numel, self._idle()))

    def empty(self) -> None:
        """Give every buffer that is not in use back to the system."""
        with self._lock:
            self._buffers = [b for b in self._buffers if not self._free(b)]

    def _idle(self) -> list[torch.Tensor]:
        return [b for b in self._buffers if self._free(b)]

    @staticmethod
    def _free(buffer: torch.Tensor) -> bool:
        return holder_count(buffer) <= 1  # the pool itself


pool = Pool()


def empty_pool() -> None:
    """Give the unused CPU memory that ``impl='c'`` keeps for its next calls back to the system.

    The pool keeps this memory because fresh memory makes the next gradient slower. When the pool grows, it never keeps
    more than the memory that is left to the process. On a GPU see ``torch.cuda.empty_cache``.
    """
    pool.empty()


def allocate_history(size: int, device: torch.device, history: HistoryPlan, memory: MemoryOptions) -> torch.Tensor:
    """Return `size` bytes, uninitialised, in the storage of the history."""
    if history.storage == "disk" and size:
        return torch.frombuffer(mapped(size, history.directory), dtype=torch.uint8)
    if history.storage == "cpu" and device.type == "cuda":
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)
    return pool.take(size, device, memory)


_used: list[tuple[torch.cuda.Event, list[torch.Tensor]]] = []
_using = threading.Lock()


def until_done(stream: torch.cuda.Stream, tensors: list[torch.Tensor]) -> None:
    """Hold host tensors that kernels on a stream access: torch would otherwise hand out their memory too early."""
    if not tensors:
        return
    with _using:
        _used[:] = [(event, arrays) for event, arrays in _used if not event.query()]
        _used.append((stream.record_event(), tensors))


@contextmanager
def allocating(memory: MemoryOptions) -> Iterator[None]:
    """Turn an allocation error of torch into the SweepError that names options with less memory."""
    try:
        yield
    except RuntimeError as error:
        text = str(error)
        if not (isinstance(error, torch.OutOfMemoryError) or "DefaultCPUAllocator" in text):
            raise
        raise out_of_memory(f"memory of a call ({text.split(chr(10))[0]})", memory) from error


_parts = threading.local()


@contextmanager
def sharing(count: int) -> Iterator[None]:
    """Let :func:`left_on` divide the memory of a device by `count`, the threads that decide at the same time."""
    _parts.count = count
    try:
        yield
    finally:
        del _parts.count


def left_on(device: torch.device, shared: bool = True) -> int | None:
    """Return the bytes that a call on `device` may use, or None if they are unknown.

    These are the free bytes and those that this process holds there without using them. With `shared`, the memory is
    divided by the number of threads that use this device, and on a host by the number of ranks.
    """
    parts = getattr(_parts, "count", 1) if shared else 1
    if device.type == "cuda":
        if torch.cuda.is_current_stream_capturing():  # a captured graph has memory of its own
            return None
        free, _ = torch.cuda.mem_get_info(device)
        return (free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)) // parts
    left = available()
    # The ranks of a host decide at the same time.
    ranks = current_launch().local_size if shared else 1
    return None if left is None else (left + pool.idle()) // (ranks * parts)
