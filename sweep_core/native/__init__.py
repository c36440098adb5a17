"""ctypes view of the C ABI: structs, finding and loading the libraries, calls. Addresses and integers only."""

from .call import Buffer, CompiledCall, compiled_call, point_lists, seen_fields, signals, tables
from .library import Library, load, sources, status, supports, thread_count

__all__ = [
    "Buffer",
    "CompiledCall",
    "Library",
    "compiled_call",
    "load",
    "point_lists",
    "seen_fields",
    "signals",
    "sources",
    "status",
    "supports",
    "tables",
    "thread_count",
]
