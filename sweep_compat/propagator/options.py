"""Memory strategies of a gradient in the words of sweep-solver, and their translation to ours."""

from math import ceil
from typing import Any

import attrs

from sweep_core import memory as core
from sweep_core._util.validators import kind, named, one_of
from sweep_core.errors import OptionError, UnsupportedError

DTYPES = {"fp32": None, "fp16": "float16", "bf16": "bfloat16", "int8": "int8"}
STORAGE = "gpu", "cpu", "disk"


def _only(*allowed: Any, instead: str) -> Any:
    """Return a validator for an option without a counterpart; `allowed` are the values that change nothing here."""

    def check(instance: Any, attribute: Any, value: Any) -> None:
        if value not in allowed:
            raise UnsupportedError(f"{type(instance).__name__}: {attribute.name}={value!r} is not supported; {instead}")

    return check


TRANSFER = "SWEEP itself chooses the transfers of the history; leave this option out"
PINNED = "host memory for a GPU is always pinned; leave this option out"


@named()
@attrs.frozen
class Full:
    """The strategy that keeps all steps."""

    def ours(self, nt: int) -> core.MemoryOptions:
        """Return the same strategy as our options, for a run of `nt` steps."""
        return core.MemoryOptions("full")


@named()
@attrs.frozen
class BoundarySaving:
    """The strategy that keeps strips along the PML: our ``'boundary'``, with ``impl='c'`` only."""

    storage: str = attrs.field(default="gpu", validator=one_of(*STORAGE))
    transfer_interval: int | None = attrs.field(default=None, validator=_only(None, instead=TRANSFER))
    pinned_memory: bool | None = attrs.field(default=None, validator=_only(None, True, instead=PINNED))
    disk_dir: str | None = None
    ring_buffers: int | None = attrs.field(default=None, validator=_only(None, instead=TRANSFER))
    disk_async_read: bool = attrs.field(default=False, validator=_only(False, instead=TRANSFER))
    storage_dtype: str = attrs.field(default="fp32", validator=one_of(*DTYPES))
    tail_steps: int | None = attrs.field(
        default=None, validator=_only(None, instead="SWEEP keeps all that the exact gradient needs")
    )

    def ours(self, nt: int) -> core.MemoryOptions:
        """Return the same strategy as our options, for a run of `nt` steps."""
        strips = core.BoundaryOptions(self.storage, DTYPES[self.storage_dtype], self.disk_dir)
        return core.MemoryOptions("boundary", boundary=strips)


@named()
@attrs.frozen
class Ckpt:
    """The strategy that recomputes the run from states: our ``'ckpt'``. Here `chunks` counts the steps of a chunk."""

    mode: str = attrs.field(default="chunk", validator=one_of("chunk", "recursive"))
    chunks: int = attrs.field(default=100)
    count: int = attrs.field(default=0)
    storage: str = attrs.field(default="gpu", validator=one_of("gpu", "cpu"))
    pinned_memory: bool | None = attrs.field(default=None, validator=_only(None, True, instead=PINNED))

    def __attrs_post_init__(self) -> None:
        for name, least in (("chunks", 1), ("count", int(self.mode == "recursive"))):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise OptionError(f"Ckpt: {name} is {value!r}; expected a whole number from {least} on")
        if self.mode == "chunk" and self.count:
            raise OptionError(
                f"Ckpt: count={self.count} does not apply to mode 'chunk'; use mode='recursive', or leave count out"
            )

    def ours(self, nt: int) -> core.MemoryOptions:
        """Return the same strategy as our options, for a run of `nt` steps."""
        if self.mode == "recursive":
            states = core.CkptOptions("recursive", count=self.count, storage=self.storage)
        else:
            states = core.CkptOptions(chunks=ceil(nt / self.chunks), storage=self.storage)
        return core.MemoryOptions("ckpt", ckpt=states)


BoundaryOptions, CkptOptions = BoundarySaving, Ckpt


@named()
@attrs.frozen
class MemoryOptions:
    """The choice of a strategy in one class."""

    strategy: str | None = attrs.field(default=None, validator=one_of(None, "full", "boundary", "ckpt"))
    boundary: BoundarySaving | None = attrs.field(default=None, validator=kind(BoundarySaving))
    ckpt: Ckpt | None = attrs.field(default=None, validator=kind(Ckpt))

    def __attrs_post_init__(self) -> None:
        for name in ("boundary", "ckpt"):
            if getattr(self, name) is not None and self.strategy != name:
                raise OptionError(f"MemoryOptions: {name}=... does not apply to strategy {self.strategy!r}")

    @property
    def active(self) -> Full | BoundarySaving | Ckpt | None:
        """The strategy; None if the solver chooses it."""
        details: dict[str, Full | BoundarySaving | Ckpt] = {
            "full": Full(),
            "boundary": self.boundary or BoundarySaving(),
            "ckpt": self.ckpt or Ckpt(),
        }
        return None if self.strategy is None else details[self.strategy]


@named()
@attrs.frozen
class CUDAOptions:
    """Options of compiled code."""

    memory: MemoryOptions | Full | BoundarySaving | Ckpt | None = None


COMPILED = "the framework's compiler is not supported; impl='c' is compiled code"


@named()
@attrs.frozen
class EagerOptions:
    """Options of eager operations; only values that change nothing are accepted."""

    use_compile: bool = attrs.field(default=False, validator=_only(False, instead=COMPILED))
    compile_mode: str = attrs.field(default="default", validator=_only("default", instead=COMPILED))
    compile_dynamic: bool = attrs.field(default=False, validator=_only(False, instead=COMPILED))
    compile_backend: str | None = attrs.field(default=None, validator=_only(None, instead=COMPILED))
    compile_fullgraph: bool = attrs.field(default=False, validator=_only(False, instead=COMPILED))
    store_last_wavefield: bool = attrs.field(
        default=False,
        validator=_only(False, instead="snapshots=Snapshots(...) of a call of sweep_torch.PropTorch returns fields"),
    )


def resolved(
    memory: Any, cuda_options: Any, use_ckpt: Any, legacy: Ckpt, config: Any
) -> Full | BoundarySaving | Ckpt | None:
    """Return the strategy that the arguments of a propagator state; None if none of them states one."""
    stated = []
    for name, value in (("memory", memory), ("cuda_options", getattr(cuda_options, "memory", None))):
        value = value.active if isinstance(value, MemoryOptions) else value
        if value is not None and not isinstance(value, Full | BoundarySaving | Ckpt):
            raise OptionError(f"{name} is {value!r}; expected Full(), BoundarySaving(...) or Ckpt(...)")
        stated.append(value)
    if use_ckpt:
        stated.append(legacy)
    if config is not None and not isinstance(config, dict):
        raise OptionError(f"boundary_saving_config is {config!r}; expected a dictionary such as {{'enabled': True}}")
    if config is not None:
        details = {k: v for k, v in config.items() if k != "enabled"}
        stated.append(BoundarySaving(**details) if config.get("enabled") else None)
    choices = [s for s in stated if s is not None]
    if len({type(s) for s in choices}) > 1 or (use_ckpt is False and any(isinstance(s, Ckpt) for s in choices)):
        raise OptionError(
            "memory, cuda_options, use_ckpt and boundary_saving_config contradict each other; give one of them"
        )
    off = use_ckpt is False or (config is not None and not config.get("enabled"))
    return choices[0] if choices else (Full() if off else None)
