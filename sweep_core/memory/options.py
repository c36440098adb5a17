"""What a user may choose about memory. Immutable, checked at construction."""

from typing import ClassVar

import attrs

from ..errors import OptionError, UnsupportedError
from ..validators import kind, one_of, positive


@attrs.frozen
class BoundaryOptions:
    """Strategy ``'boundary'``: where the strips that reconstruct the interior are kept, and in which precision."""

    storage: str = attrs.field(default="gpu", validator=one_of("gpu", "cpu", "disk"))
    dtype: str = attrs.field(default="float32")
    directory: str | None = None


@attrs.frozen
class CkptOptions:
    """Strategy ``'ckpt'``: the run is recomputed in chunks from states that were saved on the way.

    Parameters
    ----------
    mode : {'chunk', 'recursive'}
        Equal chunks, or nested ones (not there yet).
    chunks : int, optional
        Number of chunks; about the square root of nt by default.
    count : int, optional
        States that may be held at once; of the recursive mode.
    storage : {'gpu', 'cpu', 'disk'}
        Where states are kept: ``'gpu'`` means the device of the computation, also where that is a CPU.
    """

    mode: str = attrs.field(default="chunk", validator=one_of("chunk", "recursive"))
    chunks: int | None = attrs.field(default=None, validator=positive)
    count: int | None = attrs.field(default=None, validator=positive)
    storage: str = attrs.field(default="gpu", validator=one_of("gpu", "cpu", "disk"))


@attrs.frozen
class MemoryOptions:
    """How a gradient remembers the forward run.

    Parameters
    ----------
    strategy : {'auto', 'full', 'ckpt', 'boundary'}
        ``'full'`` keeps every step; ``'ckpt'`` recomputes chunks; ``'auto'`` keeps everything where that takes no more
        than half of the memory that is left, to a GPU or to this process on a host (JAX, which decides when it traces:
        a quarter), and otherwise recomputes in chunks. Where chunks stay in the cache of a CPU, they cost less than
        fresh memory: there it keeps nothing in JAX, and up to 2 GiB in torch, which uses its buffers again; so much at
        most under torch.func as well. ``'boundary'`` is not there yet, and no plugin can bring a strategy yet.
    boundary, ckpt : BoundaryOptions, CkptOptions
        Details of the strategy that bears the name; refused with another one.
    dtype : str, optional
        Precision of the history; that of the models by default, and nothing lower yet.
    interval : int
        Keep every so many steps; only 1 yet.
    budget : int, optional
        Bytes that ``'auto'`` may use; not there yet.
    """

    STRATEGIES: ClassVar[tuple[str, ...]] = ("auto", "full", "ckpt", "boundary")

    strategy: str = attrs.field(default="auto")
    boundary: BoundaryOptions | None = attrs.field(default=None, validator=kind(BoundaryOptions))
    ckpt: CkptOptions | None = attrs.field(default=None, validator=kind(CkptOptions))
    dtype: str | None = attrs.field(
        default=None, validator=one_of(None, "float64", "float32", "bfloat16", "float16", "int8")
    )
    interval: int = attrs.field(default=1, validator=positive)
    budget: int | None = attrs.field(default=None, validator=positive)

    @strategy.validator
    def _known(self, _, strategy):
        if strategy not in self.STRATEGIES:
            known = ", ".join(map(repr, self.STRATEGIES))
            raise OptionError(
                f"MemoryOptions: strategy is {strategy!r}; expected one of {known}: they are SWEEP's own, and a plugin "
                "cannot bring one yet"
            )

    def __attrs_post_init__(self):
        for name in ("boundary", "ckpt"):
            if getattr(self, name) is not None and self.strategy != name:
                raise OptionError(f"MemoryOptions: {name}=... does not apply to strategy {self.strategy!r}")
        refused = {
            "strategy 'boundary'": self.strategy == "boundary",
            "a recursive checkpoint schedule": self.ckpt is not None and self.ckpt.mode == "recursive",
            "CkptOptions(count=...)": self.ckpt is not None and self.ckpt.count is not None,
            "checkpoints away from the device": self.ckpt is not None and self.ckpt.storage != "gpu",
            f"history in {self.dtype}": self.dtype not in (None, "float32", "float64"),
            f"interval {self.interval}": self.interval != 1,
            "a memory budget": self.budget is not None,
        }
        for what, asked in refused.items():
            if asked:
                raise UnsupportedError(f"MemoryOptions: {what} is not supported yet; use 'full', 'ckpt' or 'auto'")

    def check_dtype(self, models: str) -> None:
        """UnsupportedError where the history of models of a dtype would be kept in another one."""
        if self.dtype is not None and self.dtype != models:
            raise UnsupportedError(
                f"history in {self.dtype} for models in {models} is not supported yet; leave dtype=None"
            )
