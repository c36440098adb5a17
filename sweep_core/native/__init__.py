"""ctypes view of the C ABI: structs, finding and loading the libraries, calls. Addresses and integers only."""

from .call import ADJOINT_BUFFERS, FORWARD_BUFFERS, CompiledCall, compiled_call, gather_list, inject_list
from .library import Library, load, status, supports, thread_count

__all__ = [
    "ADJOINT_BUFFERS",
    "FORWARD_BUFFERS",
    "CompiledCall",
    "Library",
    "compiled_call",
    "gather_list",
    "inject_list",
    "load",
    "status",
    "supports",
    "thread_count",
]
