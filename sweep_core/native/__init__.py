"""ctypes view of the C ABI: structs, finding and loading the libraries, calls. Addresses and integers only."""

from .._util.processors import thread_count
from .call import Buffer, CompiledCall, compiled_call, snapshots_of, tables
from .library import Library, load, sources, status
from .selection import supports
from .sizes import check_room, estimate, memory_use, plan_history

__all__ = [
    "Buffer",
    "CompiledCall",
    "Library",
    "check_room",
    "compiled_call",
    "estimate",
    "load",
    "memory_use",
    "plan_history",
    "snapshots_of",
    "sources",
    "status",
    "supports",
    "tables",
    "thread_count",
]
