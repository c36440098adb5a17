"""Options of memory strategies. They are immutable and checked at construction."""

import os
import re
from typing import Any, ClassVar

import attrs

from .._util.validators import is_whole, kind, named, one_of, positive
from ..errors import OptionError, UnsupportedError

STORAGE = "gpu", "cpu", "disk"
"""Places of a history or of states; 'gpu' means the device of the computation, which may be a CPU."""
SWEEP_SOLVER: dict[str, str] = {
    "disk_dir": "disk_dir of sweep-solver is directory here",
    "storage_dtype": "storage_dtype of sweep-solver is dtype here",
    **dict.fromkeys(
        ("transfer_interval", "pinned_memory", "ring_buffers", "disk_async_read"),
        "leave this option of sweep-solver out: SWEEP chooses transfers itself, and pins host memory for a GPU",
    ),
    "tail_steps": "leave this option of sweep-solver out: SWEEP keeps all that the exact gradient needs",
    "chunk_size": "chunks is the number of chunks; sweep-solver counts the steps of one chunk",
}
"""Advice for options of sweep-solver, by name."""

LOWER = {"bfloat16": 8e-3, "float16": 2e-3, "int8": 2e-2}
"""Precisions of a history alone, and the error of a gradient with such a history over the gradient's maximum.

In the last two, 64 values share a scale, so that weak waves keep their precision.
"""
PRECISIONS = "float64", "float32", *LOWER


def written(options: Any) -> str:
    """Return options as a user writes them, without those that have their default."""
    stated = [
        (a.name, getattr(options, a.name)) for a in attrs.fields(type(options)) if getattr(options, a.name) != a.default
    ]
    parts = (f"{name}={written(x) if attrs.has(type(x)) else repr(x)}" for name, x in stated)
    return f"{type(options).__name__}({', '.join(parts)})"


def _path(value: str | os.PathLike[str] | None) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _number(value: int | None) -> Any:
    return _whole(value)


def _whole(value: Any) -> Any:
    """Return a whole number of NumPy as Python's, so that messages show it as a user writes it."""
    return int(value) if is_whole(value, 0) else value


_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}  # fmt: skip


def _bytes(value: int | str | None) -> Any:
    """Return a number of bytes, also of words such as '400 MB'; anything else as it is."""
    words = re.fullmatch(r"(\d+(?:\.\d+)?) ?(\w+)", value) if isinstance(value, str) else None
    return round(float(words[1]) * _UNITS[words[2]]) if words and words[2] in _UNITS else _whole(value)


def _directory(instance: Any, attribute: Any, value: Any) -> None:
    """Check a folder, which only storage 'disk' has."""
    if value is None:
        return
    name = type(instance).__name__
    if not isinstance(value, str) or "\0" in value:
        raise OptionError(f"{name}: directory is {value!r}; expected the path of a folder")
    if instance.storage != "disk":
        raise OptionError(f"{name}: directory={value!r} does not apply to storage {instance.storage!r}; use 'disk'")


@named(**SWEEP_SOLVER)
@attrs.frozen
class BoundaryOptions:
    """Strategy ``'boundary'``: strips along the PML, from which the interior runs backward in time.

    Parameters
    ----------
    storage : {'gpu', 'cpu', 'disk'}
        Place of the strips. ``'gpu'`` is the device of the computation, which may be a CPU. ``'cpu'`` is the memory of
        the host, pinned for a GPU, which writes and reads the strips across its bus. ``'disk'``, for a CPU alone, is a
        temporary file without a name: no other process can open it, and it ends with this process. ``'cpu'`` and
        ``'disk'`` need torch.
    dtype : {'float32', 'bfloat16', 'float16', 'int8'}, optional
        Precision of the strips, by default that of the models. A lower precision has an error of about 2e-3 of each
        value (bfloat16), or 5e-4 (float16) or 4e-3 (int8) of the largest of 64 neighbours: see
        docs/explanation/memory-accuracy.md.
    directory : path-like, optional
        Folder of the temporary file of ``'disk'``; by default that of the system, which may itself lie in memory.

    Raises
    ------
    OptionError
        For an unknown option or value, or options that exclude each other.
    """

    storage: str = attrs.field(default="gpu", validator=one_of(*STORAGE))
    dtype: str | None = attrs.field(default=None, validator=one_of(None, *PRECISIONS))
    directory: str | None = attrs.field(default=None, converter=_path, validator=_directory)


@named(**SWEEP_SOLVER)
@attrs.frozen
class CkptOptions:
    """Strategy ``'ckpt'``: the gradient recomputes the run from saved states. It has the bits of ``'full'``.

    Parameters
    ----------
    mode : {'chunk', 'recursive'}
        ``'chunk'`` recomputes equal chunks once, each from the state before it. ``'recursive'`` is the binomial
        schedule (Revolve), which recomputes more often from fewer states; it needs ``impl='c'``.
    chunks : int, optional
        Number of chunks of mode ``'chunk'``; by default about the square root of nt. (sweep-solver counts the steps of
        a chunk instead.)
    count : int, optional
        Largest number of saved states of mode ``'recursive'``; by default about log2(nt). Memory also holds the current
        state, the adjoint state, and the history of at least 16 steps.
    storage : {'gpu', 'cpu', 'disk'}
        Place of the states. ``'gpu'`` is the device of the computation, which may be a CPU. ``'cpu'`` is the memory of
        the host, pinned for a GPU. ``'disk'`` is a temporary file without a name: no other process can open it, and it
        ends with this process. ``'cpu'`` and ``'disk'`` need torch and ``impl='c'``.
    directory : path-like, optional
        Folder of the temporary file of ``'disk'``; by default that of the system, which may itself lie in memory.

    Raises
    ------
    OptionError
        For an unknown option or value, or options that exclude each other.
    """

    mode: str = attrs.field(default="chunk", validator=one_of("chunk", "recursive"))
    chunks: int | None = attrs.field(default=None, converter=_number, validator=attrs.validators.optional(positive))
    count: int | None = attrs.field(default=None, converter=_number, validator=attrs.validators.optional(positive))
    storage: str = attrs.field(default="gpu", validator=one_of(*STORAGE))
    directory: str | None = attrs.field(default=None, converter=_path, validator=_directory)

    def __attrs_post_init__(self) -> None:
        for name, mode in (("chunks", "chunk"), ("count", "recursive")):
            if getattr(self, name) is not None and self.mode != mode:
                raise OptionError(
                    f"CkptOptions: {name}=... does not apply to mode {self.mode!r}; use {mode!r}, or leave it out"
                )


@named()
@attrs.frozen
class MemoryOptions:
    """How a gradient remembers the forward run.

    Parameters
    ----------
    strategy : {'auto', 'full', 'ckpt', 'boundary'}
        ``'full'`` keeps every step. ``'ckpt'`` recomputes chunks from saved states. ``'boundary'`` keeps strips along
        the PML and runs the interior backward in time; it needs ``impl='c'`` and an equation that loses no energy, and
        its gradient is that of ``'full'`` to rounding. ``'auto'`` keeps every step if the history takes at most half of
        the memory left to the GPU or to this process (JAX, which decides at tracing: a quarter); otherwise it
        recomputes chunks. On a CPU, chunks that stay in the cache cost less time than fresh memory, so JAX then
        recomputes chunks, while torch reuses its buffers. Under torch.func, or if the memory left is unknown, torch
        keeps at most 2 GiB. A plugin cannot add a strategy yet.
    boundary, ckpt : BoundaryOptions, CkptOptions
        Details of the strategy of the same name; an OptionError with another strategy.
    dtype : {'float32', 'bfloat16', 'float16', 'int8'}, optional
        Precision of the history of ``'full'``, by default that of the models; a lower one needs ``impl='c'``. Fields
        and sums keep their precision.
    interval : int
        ``'full'`` keeps every `interval`-th step, which stands for as many steps. This needs an equation of second
        order in time and ``impl='c'``. The largest interval is 1 / (2 f dt): with a longer one the products of two
        waves would alias. The spectrum of the wavelet stays below a hundredth of its maximum above the frequency f.
        Residuals are not checked: filter those of noisy data first.
    budget : int or str, optional
        Largest memory of a gradient on the device: bytes, or words such as ``'400 MB'`` and ``'2 GiB'``. It counts all
        buffers that ``solver.estimate`` lists. ``'auto'`` then selects the fastest way that fits: every step, the
        fewest chunks, or the most states of the recursive schedule. In JAX the budget is that of a gradient inside one
        ``jax.jit`` (docs/explanation/memory-accuracy.md). It needs ``impl='c'``.
    known_above : int
        First row of the models (cells along z from 0 on) below the known rows, such as water or an overburden. The
        gradient of known rows is zero with any strategy and backend. Compiled code keeps no history of known rows but
        the few that differences of free rows reach, and computes no images there. Strips of ``'boundary'`` and
        states of ``'ckpt'``, from which waves are recomputed, stay whole.

    Raises
    ------
    OptionError
        For an unknown option or value, or options that exclude each other.

    Examples
    --------
    >>> print(MemoryOptions("ckpt", ckpt=CkptOptions(chunks=8)))
    MemoryOptions(strategy='ckpt', ckpt=CkptOptions(chunks=8))
    """

    __str__ = written

    STRATEGIES: ClassVar[tuple[str, ...]] = ("auto", "full", "ckpt", "boundary")

    strategy: str = attrs.field(default="auto")
    boundary: BoundaryOptions | None = attrs.field(default=None, validator=kind(BoundaryOptions))
    ckpt: CkptOptions | None = attrs.field(default=None, validator=kind(CkptOptions))
    dtype: str | None = attrs.field(default=None, validator=one_of(None, *PRECISIONS))
    interval: int = attrs.field(default=1, converter=_number, validator=positive)
    budget: int | None = attrs.field(default=None, converter=_bytes)
    known_above: int = attrs.field(default=0, converter=_number)

    @known_above.validator
    def _a_row(self, _: Any, row: Any) -> None:
        if not is_whole(row, 0):
            raise OptionError(
                f"MemoryOptions: known_above is {row!r}; expected a row of the models, a whole number from 0 on: if "
                "the depth of the seafloor varies, the first row that has a free cell"
            )

    @budget.validator
    def _some_bytes(self, _: Any, budget: Any) -> None:
        if budget is not None and not is_whole(budget, 1):
            raise OptionError(
                f"MemoryOptions: budget is {budget!r}; expected bytes, such as 400_000_000, '400 MB' or '2 GiB'"
            )

    @strategy.validator
    def _known(self, _: Any, strategy: Any) -> None:
        if not isinstance(strategy, str) or strategy not in self.STRATEGIES:
            known = ", ".join(map(repr, self.STRATEGIES))
            raise OptionError(
                f"MemoryOptions: strategy is {strategy!r}; expected one of {known}. A plugin cannot add a strategy yet"
            )

    def __attrs_post_init__(self) -> None:
        for name, strategy in (("boundary", "boundary"), ("ckpt", "ckpt"), ("budget", "auto")):
            if getattr(self, name) is not None and self.strategy != strategy:
                raise OptionError(f"MemoryOptions: {name}=... does not apply to strategy {self.strategy!r}")
        if self.lossy and self.strategy != "full":
            raise OptionError(
                f"MemoryOptions: {self.lossy} does not apply to strategy {self.strategy!r}; use 'full', or "
                "BoundaryOptions(dtype=...) for a lower precision of strips"
            )

    @property
    def lossy(self) -> str:
        """The option that makes the history lossy, as a user writes it; empty if none does."""
        if self.dtype in LOWER:
            return f"dtype={self.dtype!r}"
        return f"interval={self.interval}" if self.interval > 1 else ""

    def check_dtype(self, models: str, packs: bool = True) -> None:
        """Refuse a precision of the history that models of a dtype do not have, or that no code `packs`.

        Raises
        ------
        UnsupportedError
        """
        own = {"full": "MemoryOptions", "boundary": "BoundaryOptions"}.get(self.strategy) if packs else None
        for name, dtype in (("MemoryOptions", self.dtype), ("BoundaryOptions", self.boundary and self.boundary.dtype)):
            lower = dtype is not None and PRECISIONS.index(dtype) > PRECISIONS.index(models)
            if dtype not in (None, models) and not (lower and name == own):
                raise UnsupportedError(
                    f"{name}(dtype={dtype!r}) of models in {models}, strategy {self.strategy!r} and "
                    f"impl={'c' if packs else 'eager'!r} is not supported; leave dtype=None"
                )


def by_name(memory: MemoryOptions | str | None) -> Any:
    """Return the options of a strategy that is stated by its name; anything else as it is."""
    return MemoryOptions(memory) if isinstance(memory, str) else memory


@attrs.frozen
class CUDAOptions:
    """Another way to state ``memory=`` of a solver, for scripts that have it; accepted on every device.

    Parameters
    ----------
    memory : MemoryOptions or str, optional
        How a gradient remembers the forward run; a string names a strategy.

    Raises
    ------
    OptionError
        For anything else.
    """

    memory: MemoryOptions | None = attrs.field(default=None, converter=by_name, validator=kind(MemoryOptions))


def resolve_memory(memory: Any, cuda_options: Any) -> MemoryOptions:
    """Return the one MemoryOptions that ``memory=`` and ``cuda_options=`` state together."""
    memory = by_name(memory)
    if memory is not None and not isinstance(memory, MemoryOptions):
        raise OptionError(f"memory is {memory!r}; expected MemoryOptions(...), or the name of a strategy")
    if cuda_options is not None and not isinstance(cuda_options, CUDAOptions):
        raise OptionError(f"cuda_options is {cuda_options!r}; expected CUDAOptions(...)")
    stated = cuda_options.memory if cuda_options is not None else None
    if memory is not None and stated is not None:
        raise OptionError(
            "memory= and cuda_options=CUDAOptions(memory=...) both state the strategy; pass only one of them"
        )
    return memory or stated or MemoryOptions()
