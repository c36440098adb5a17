"""ctypes view of the C ABI: structs, finding and loading the libraries, calls. Addresses and integers only."""

from .call import Buffer, CompiledCall, compiled_call, held_steps, kept_by, seen_fields, tables
from .library import Library, load, sources, status, supports, thread_count

__all__ = [
    "Buffer",
    "CompiledCall",
    "Library",
    "compiled_call",
    "held_steps",
    "kept_by",
    "load",
    "seen_fields",
    "sources",
    "status",
    "supports",
    "tables",
    "thread_count",
]
