"""Large CPU buffers that are used again: the first touch of fresh pages costs as much as a forward run."""

import threading

import torch

ROOM = 2 << 30
"""Bytes of history that ``MemoryOptions('auto')`` may keep of a call."""
WASTE = 4
"""A buffer serves a request down to this fraction of its size."""


class Pool:
    """Byte buffers. One is free as soon as nobody but the pool holds its storage any more.

    On a GPU torch's own allocator does this, and knows about streams.
    """

    def __init__(self):
        self._buffers: list[torch.Tensor] = []
        self._lock = threading.Lock()

    def take(self, size: int, device: torch.device) -> torch.Tensor:
        """`size` bytes, uninitialised."""
        if device.type != "cpu" or size == 0:
            return torch.empty(size, dtype=torch.uint8, device=device)
        with self._lock:
            fitting = [b for b in self._buffers if size <= b.numel() <= WASTE * size and self._free(b)]
            if fitting:
                return min(fitting, key=torch.numel)[:size]
            # What was too small for this problem will not be asked for again.
            self._buffers = [b for b in self._buffers if b.numel() > size or not self._free(b)]
            self._buffers.append(torch.empty(size, dtype=torch.uint8))
            return self._buffers[-1][:size]

    def clear(self) -> None:
        """Frees every buffer that is not in use."""
        with self._lock:
            self._buffers = [b for b in self._buffers if not self._free(b)]

    @staticmethod
    def _free(buffer):
        storage = buffer.untyped_storage()
        return torch._C._storage_Use_Count(storage._cdata) <= 2  # the pool's tensor, and `storage` here
