"""Large CPU buffers that are used again, since the first touch of fresh pages costs as much as a forward run; and what
is left of memory.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from sweep_core._util.validators import environment_number
from sweep_core.memory import HistoryPlan, MemoryOptions
from sweep_core.memory.files import mapped
from sweep_core.memory.limits import available, out_of_memory, warn_if_above

from .private import holders

WASTE = 4
"""A buffer serves a request down to this fraction of its size."""
SMALL = 64 << 20
"""Bytes up to which nobody asks what is left."""


class Pool:
    """Byte buffers. One is free as soon as nobody but the pool holds its storage any more.

    Free buffers are used again. When a new one is needed, those too small for it are given back to the system, and then
    the largest of the others until all of them together hold no more than what is left to the process beside them.
    On a GPU torch's own allocator does this, and knows about streams.
    """

    def __init__(self) -> None:
        self._buffers: list[torch.Tensor] = []
        self._lock = threading.Lock()

    def take(self, size: int, device: torch.device, memory: MemoryOptions | None = None) -> torch.Tensor:
        """`size` bytes, uninitialised; `memory` is what a warning that they may be too many refers to."""
        if device.type != "cpu" or size == 0:
            return torch.empty(size, dtype=torch.uint8, device=device)
        with self._lock:
            fitting = [b for b in self._buffers if size <= b.numel() <= WASTE * size and self._free(b)]
            if fitting:
                return min(fitting, key=torch.numel)[:size]
            # What was too small for this problem will not be asked for again.
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
        """Bytes that are free to be used again."""
        with self._lock:
            return sum(map(torch.numel, self._idle()))

    def empty(self) -> None:
        """Gives every buffer that is not in use back to the system."""
        with self._lock:
            self._buffers = [b for b in self._buffers if not self._free(b)]

    def _idle(self) -> list[torch.Tensor]:
        return [b for b in self._buffers if self._free(b)]

    @staticmethod
    def _free(buffer: torch.Tensor) -> bool:
        return holders(buffer) <= 1  # the pool itself


pool = Pool()


def empty_pool() -> None:
    """Give the memory that ``impl='c'`` holds on the CPU for its next calls, and does not use, back to the system.

    It is kept since fresh memory makes the next gradient slower, never more than the process has left beside it when
    it was last added to; on a GPU see ``torch.cuda.empty_cache``.
    """
    pool.empty()


def stored(size: int, device: torch.device, kept: HistoryPlan, memory: MemoryOptions) -> torch.Tensor:
    """`size` bytes, uninitialised, where what is kept lies."""
    if kept.storage == "disk" and size:
        return torch.frombuffer(mapped(size, kept.directory), dtype=torch.uint8)
    if kept.storage == "cpu" and device.type == "cuda":
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)
    return pool.take(size, device, memory)


_used: list[tuple[torch.cuda.Event, list[torch.Tensor]]] = []
_using = threading.Lock()


def until_done(stream: torch.cuda.Stream, tensors: list[torch.Tensor]) -> None:
    """Holds tensors of the host that kernels on a stream reach: torch would hand out their memory once nobody does."""
    if not tensors:
        return
    with _using:
        _used[:] = [(event, held) for event, held in _used if not event.query()]
        _used.append((stream.record_event(), tensors))


@contextmanager
def allocating(memory: MemoryOptions) -> Iterator[None]:
    """Raises what torch's allocators do not get as the SweepError that says what takes less."""
    try:
        yield
    except RuntimeError as error:
        text = str(error)
        if not (isinstance(error, torch.OutOfMemoryError) or "DefaultCPUAllocator" in text):
            raise
        raise out_of_memory(f"memory of a call ({text.split(chr(10))[0]})", memory) from error


def left_on(device: torch.device, shared: bool = True) -> int | None:
    """Bytes that a call on `device` may use: what is free there, and what this process holds there without using it; of
    a host that ranks have `shared` out its part.

    None where nothing tells.
    """
    if device.type == "cuda":
        if torch.cuda.is_current_stream_capturing():  # whose memory is set apart
            return None
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    left = available()
    # The ranks that torchrun starts on a host decide at the same time.
    ranks = environment_number("LOCAL_WORLD_SIZE", 1) if shared else 1
    return None if left is None else (left + pool.idle()) // ranks
