"""Memory strategies of the laws."""

from ...memory.options import LOWER, BoundaryOptions, CkptOptions, MemoryOptions

STRATEGIES = {
    "full": MemoryOptions("full"),
    "auto": MemoryOptions("auto"),
    "ckpt": MemoryOptions("ckpt"),
    "ckpt-1": MemoryOptions("ckpt", ckpt=CkptOptions(chunks=1)),
    "ckpt-7": MemoryOptions("ckpt", ckpt=CkptOptions(chunks=7)),
    "ckpt-999": MemoryOptions("ckpt", ckpt=CkptOptions(chunks=999)),
    "recursive": MemoryOptions("ckpt", ckpt=CkptOptions("recursive")),
    "recursive-1": MemoryOptions("ckpt", ckpt=CkptOptions("recursive", count=1)),
    "host": MemoryOptions("ckpt", ckpt=CkptOptions(storage="cpu")),
    "disk": MemoryOptions("ckpt", ckpt=CkptOptions(storage="disk")),
    "boundary": MemoryOptions("boundary"),
    "boundary-disk": MemoryOptions("boundary", boundary=BoundaryOptions(storage="disk")),
    **{dtype: MemoryOptions("full", dtype=dtype) for dtype in LOWER},
    "boundary-int8": MemoryOptions("boundary", boundary=BoundaryOptions(dtype="int8")),
}
INEXACT = {
    "boundary": 1e-11,
    "boundary-disk": 1e-11,
    **LOWER,
    "boundary-int8": LOWER["int8"],
}
"""For inexact strategies, the largest difference from the gradient of 'full', relative to its maximum, in float64."""
