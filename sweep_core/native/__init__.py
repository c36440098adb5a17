"""ctypes view of the C ABI: structs, finding and loading the libraries, calls. Addresses and integers only."""

from .call import Buffer, CompiledCall, compiled_call, seen_fields, tables
from .library import Library, load, sources, status, supports, thread_count
from .sizes import check_room, estimate, held_steps, kept_by, taken_by

__all__ = [
    "Buffer",
    "CompiledCall",
    "Library",
    "check_room",
    "compiled_call",
    "estimate",
    "held_steps",
    "kept_by",
    "load",
    "seen_fields",
    "sources",
    "status",
    "supports",
    "tables",
    "taken_by",
    "thread_count",
]
