"""The memory that is left, and errors where it is not enough."""

from collections.abc import Iterator
from contextlib import contextmanager

import jax

from sweep_core.memory import MemoryOptions
from sweep_core.memory.limits import available, out_of_memory


@contextmanager
def allocating(memory: MemoryOptions) -> Iterator[None]:
    """Turn an allocation error of XLA into the SweepError that names options with less memory."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        text = str(error)
        if not ("RESOURCE_EXHAUSTED" in text or "Out of memory" in text):
            raise
        raise out_of_memory(f"memory of a call ({text.splitlines()[0]})", memory) from error


def left_on(device: jax.Device) -> int | None:
    """Return the bytes that a call on `device` may use.

    The devices of a host share its memory equally. Where the bytes are unknown: 0 for a GPU, None for a host.
    """
    if device.platform != "cpu":
        statistics = device.memory_stats() or {}
        return max(statistics.get("bytes_limit", 0) - statistics.get("bytes_in_use", 0), 0)
    left = available()
    return None if left is None else left // len(jax.local_devices(backend="cpu"))
