"""What is left of memory, and what is said where it is not enough."""

from collections.abc import Iterator
from contextlib import contextmanager

import jax

from sweep_core.memory import MemoryOptions
from sweep_core.memory.limits import available, out_of_memory


@contextmanager
def allocating(memory: MemoryOptions) -> Iterator[None]:
    """Raises what XLA's allocators do not get as the SweepError that says what takes less."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        text = str(error)
        if not ("RESOURCE_EXHAUSTED" in text or "Out of memory" in text):
            raise
        raise out_of_memory(f"memory of a call ({text.splitlines()[0]})", memory) from error


def left_on(device: jax.Device) -> int | None:
    """Bytes that a call on `device` may use, of a host its share; 0 of a GPU, None of a host, where nothing tells."""
    if device.platform != "cpu":
        told = device.memory_stats() or {}
        return max(told.get("bytes_limit", 0) - told.get("bytes_in_use", 0), 0)
    left = available()
    return None if left is None else left // len(jax.local_devices(backend="cpu"))
