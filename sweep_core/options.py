"""What a user may choose beside the physics: memory strategy and execution. Immutable, checked at construction."""

from numbers import Integral
from typing import ClassVar

import attrs

from .errors import OptionError, UnsupportedError


def _one_of(*allowed):
    def check(instance, attribute, value):
        if value not in allowed:
            raise OptionError(
                f"{type(instance).__name__}: {attribute.name} is {value!r}; expected one of "
                + ", ".join(repr(a) for a in allowed)
            )

    return check


def _count(instance, attribute, value):
    if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 1):
        raise OptionError(f"{type(instance).__name__}: {attribute.name} is {value!r}; expected a number from 1 on")


def _kind(cls):
    def check(instance, attribute, value):
        if value is not None and not isinstance(value, cls):
            raise OptionError(
                f"{type(instance).__name__}: {attribute.name} is {value!r}; expected {cls.__name__}(...) or None"
            )

    return check


@attrs.frozen
class BoundaryOptions:
    """Strategy ``'boundary'``: where the strips that reconstruct the interior are kept, and in which precision."""

    storage: str = attrs.field(default="gpu", validator=_one_of("gpu", "cpu", "disk"))
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

    mode: str = attrs.field(default="chunk", validator=_one_of("chunk", "recursive"))
    chunks: int | None = attrs.field(default=None, validator=_count)
    count: int | None = attrs.field(default=None, validator=_count)
    storage: str = attrs.field(default="gpu", validator=_one_of("gpu", "cpu", "disk"))


@attrs.frozen
class MemoryOptions:
    """How a gradient remembers the forward run.

    Parameters
    ----------
    strategy : {'auto', 'full', 'ckpt', 'boundary'}
        ``'full'`` keeps every step; ``'ckpt'`` recomputes chunks; ``'auto'`` keeps everything where that takes no more
        than half of the memory that is left, to a GPU or to this process on a host (JAX, which decides when it traces:
        a quarter), and otherwise recomputes in chunks. Where chunks stay in the cache
        of a CPU, they cost less than fresh memory: there it keeps nothing in JAX, and up to 2 GiB in torch, which uses
        its buffers again; so much at most under torch.func as well. ``'boundary'`` is not there yet, and no plugin can
        bring a strategy yet.
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
    boundary: BoundaryOptions | None = attrs.field(default=None, validator=_kind(BoundaryOptions))
    ckpt: CkptOptions | None = attrs.field(default=None, validator=_kind(CkptOptions))
    dtype: str | None = attrs.field(
        default=None, validator=_one_of(None, "float64", "float32", "bfloat16", "float16", "int8")
    )
    interval: int = attrs.field(default=1, validator=_count)
    budget: int | None = attrs.field(default=None, validator=_count)

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


@attrs.frozen
class CUDAOptions:
    """What users' scripts write as ``CUDAOptions(memory=...)``: the same as ``memory=``, on every device."""

    memory: MemoryOptions | None = attrs.field(default=None, validator=_kind(MemoryOptions))


@attrs.frozen
class EagerOptions:
    """How ``impl='eager'`` runs. `compile` hands the step to the framework's compiler; not there yet for torch."""

    compile: bool = attrs.field(default=False, validator=_one_of(True, False))


def check_eager_options(options, impl) -> None:
    """OptionError where eager options are of another class, or the implementation is not eager."""
    if options is None:
        return
    if not isinstance(options, EagerOptions):
        raise OptionError(f"eager_options is {options!r}; expected EagerOptions(...)")
    if impl != "eager":
        raise OptionError(f"eager_options does not apply to impl={impl!r}; use impl='eager'")


def resolve_memory(memory, cuda_options) -> MemoryOptions:
    """The one MemoryOptions that ``memory=`` and ``cuda_options=`` state between them."""
    if memory is not None and not isinstance(memory, MemoryOptions):
        raise OptionError(f"memory is {memory!r}; expected MemoryOptions(...)")
    if cuda_options is not None and not isinstance(cuda_options, CUDAOptions):
        raise OptionError(f"cuda_options is {cuda_options!r}; expected CUDAOptions(...)")
    stated = cuda_options.memory if cuda_options is not None else None
    if memory is not None and stated is not None:
        raise OptionError("memory= and cuda_options=CUDAOptions(memory=...) say the same thing; give one of them")
    return memory or stated or MemoryOptions()
