"""What a user may choose about memory. Immutable, checked at construction."""

import os
import re
from typing import Any, ClassVar

import attrs

from .._util.validators import is_whole, kind, named, one_of, positive
from ..errors import OptionError, UnsupportedError

STORAGE = "gpu", "cpu", "disk"
"""Where what is kept may lie; 'gpu' means the device of the computation, also where that is a CPU."""
SWEEP_SOLVER: dict[str, str] = {
    "disk_dir": "the folder of sweep-solver's disk_dir is directory here",
    "storage_dtype": "the precision that sweep-solver calls storage_dtype is dtype here",
    **dict.fromkeys(
        ("transfer_interval", "pinned_memory", "ring_buffers", "disk_async_read"),
        "sweep-solver has it: how what is stored gets there SWEEP chooses itself, and host memory is pinned for a GPU",
    ),
    "tail_steps": "sweep-solver has it: SWEEP keeps what the exact gradient needs",
    "chunk_size": "chunks is the number of chunks, where sweep-solver counts the steps of one",
}
"""What becomes of options that scripts of sweep-solver have."""

LOWER = {"bfloat16": 5e-3, "float16": 2e-3, "int8": 2e-2}
"""Precisions that a history alone may have, and the error of a gradient with such a history, over its maximum.

In the last two, 64 values share a scale, so that no wave is too weak.
"""
PRECISIONS = "float64", "float32", *LOWER


def written(options: Any) -> str:
    """Options as a user writes them: those that are not the default's."""
    told = [
        (a.name, getattr(options, a.name)) for a in attrs.fields(type(options)) if getattr(options, a.name) != a.default
    ]
    parts = (f"{name}={written(x) if attrs.has(type(x)) else repr(x)}" for name, x in told)
    return f"{type(options).__name__}({', '.join(parts)})"


def _path(value: str | os.PathLike[str] | None) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _number(value: int | None) -> Any:
    return _whole(value)


def _whole(value: Any) -> Any:
    """A whole number as Python's, also where it is NumPy's: messages tell it as a user writes it."""
    return int(value) if is_whole(value, 0) else value


_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}  # fmt: skip


def _bytes(value: int | str | None) -> Any:
    """Return a number of bytes, also of words such as '400 MB'; anything else as it is."""
    words = re.fullmatch(r"(\d+(?:\.\d+)?) ?(\w+)", value) if isinstance(value, str) else None
    return round(float(words[1]) * _UNITS[words[2]]) if words and words[2] in _UNITS else _whole(value)


def _directory(instance: Any, attribute: Any, value: Any) -> None:
    """A folder, of storage 'disk' alone."""
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
    """Strategy ``'boundary'``: where strips along the PML are kept, from which the interior is run backward.

    Parameters
    ----------
    storage : {'gpu', 'cpu', 'disk'}
        ``'gpu'`` means the device of the computation, also where that is a CPU, ``'cpu'`` the memory of the host,
        pinned for a GPU, which then writes and reads them across its bus, and ``'disk'`` a temporary file without a
        name, of a CPU alone, which no process but this one can open, and which is gone with it. The last two with
        torch only.
    dtype : {'float32', 'bfloat16', 'float16', 'int8'}, optional
        Their precision, that of the models by default. The interior is then run backward between values that are off
        by about 2e-3 of each, 5e-4 of the largest of 64 neighbours, or 4e-3 of it: see
        docs/explanation/memory-accuracy.md.
    directory : path-like, optional
        The folder of that file, that of the system for temporary files by default, which may itself lie in memory; of
        storage ``'disk'``.

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
    """Strategy ``'ckpt'``: the run is recomputed from states that were saved on the way. The gradient has the bits of
    ``'full'``.

    Parameters
    ----------
    mode : {'chunk', 'recursive'}
        Equal chunks, each of which is recomputed once, from a state before it; or the binomial schedule (Revolve),
        which recomputes more often from fewer states: with ``impl='c'`` only.
    chunks : int, optional
        Number of chunks, about the square root of nt by default; of mode ``'chunk'``. (In sweep-solver this counts the
        steps of a chunk.)
    count : int, optional
        States that may be held at once, about log2(nt) by default; of mode ``'recursive'``. Beside them are a state at
        hand, the adjoint's, and the history of at least 16 steps.
    storage : {'gpu', 'cpu', 'disk'}
        Where states are kept: ``'gpu'`` means the device of the computation, also where that is a CPU, ``'cpu'`` the
        memory of the host, pinned for a GPU, and ``'disk'`` a temporary file without a name, which no process but this
        one can open, and which is gone with it. The last two with torch and ``impl='c'`` only.
    directory : path-like, optional
        The folder of that file, that of the system for temporary files by default, which may itself lie in memory; of
        storage ``'disk'``.

    Raises
    ------
    OptionError
        For an unknown option or value, or options that exclude each other.
    """

    mode: str = attrs.field(default="chunk", validator=one_of("chunk", "recursive"))
    chunks: int | None = attrs.field(default=None, converter=_number, validator=positive)
    count: int | None = attrs.field(default=None, converter=_number, validator=positive)
    storage: str = attrs.field(default="gpu", validator=one_of(*STORAGE))
    directory: str | None = attrs.field(default=None, converter=_path, validator=_directory)

    def __attrs_post_init__(self) -> None:
        for name, mode in (("chunks", "chunk"), ("count", "recursive")):
            if getattr(self, name) is not None and self.mode != mode:
                raise OptionError(f"CkptOptions: {name}=... does not apply to mode {self.mode!r}, but to {mode!r}")


@named()
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
        most under torch.func as well. ``'boundary'``, with ``impl='c'`` only, keeps strips along the PML and runs the
        interior backward in time: the gradient of ``'full'`` to rounding, of equations that lose no energy. No plugin
        can bring a strategy yet.
    boundary, ckpt : BoundaryOptions, CkptOptions
        Details of the strategy that bears the name; refused with another one.
    dtype : {'float32', 'bfloat16', 'float16', 'int8'}, optional
        Precision of the history of ``'full'``, that of the models by default; a lower one with ``impl='c'`` only.
        Fields and sums stay as they are.
    interval : int
        ``'full'`` keeps every so many steps, each of which stands for as many; of equations of second order in time,
        with ``impl='c'`` only. At most 1 / (2 f dt), where f is the highest frequency of the wavelet, beyond which its
        spectrum stays below a hundredth of its maximum: the products of two such waves would alias. Residuals are not
        looked at: filter those of noisy data first.
    budget : int or str, optional
        Bytes that a gradient may take on the device, or words such as ``'400 MB'`` and ``'2 GiB'``, all counted:
        ``solver.estimate`` tells them. ``'auto'`` then takes
        the fastest way that fits: all steps, as few chunks, or as many states of the recursive schedule as do (JAX:
        counted for a gradient inside one ``jax.jit``; see docs/explanation/memory-accuracy.md). With ``impl='c'`` only.
    known_above : int
        Row of the models, a cell along z from 0 on, above which they are known, such as water or an overburden: of
        these rows the gradient is zero, with any strategy and backend. Compiled code then keeps nothing of them, but
        for the few that differences of free ones reach, and makes no images there; strips of ``'boundary'`` and states
        of ``'ckpt'``, from which waves are made again, stay whole.

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
                f"MemoryOptions: known_above is {row!r}; expected a row of the models, a whole number from 0 on: of a "
                "seafloor of varying depth the first that has a free cell"
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
                f"MemoryOptions: strategy is {strategy!r}; expected one of {known}: they are SWEEP's own, and a plugin "
                "cannot bring one yet"
            )

    def __attrs_post_init__(self) -> None:
        for name, strategy in (("boundary", "boundary"), ("ckpt", "ckpt"), ("budget", "auto")):
            if getattr(self, name) is not None and self.strategy != strategy:
                raise OptionError(f"MemoryOptions: {name}=... does not apply to strategy {self.strategy!r}")
        if self.lossy and self.strategy != "full":
            raise OptionError(
                f"MemoryOptions: {self.lossy} does not apply to strategy {self.strategy!r}; use 'full', or for a lower "
                "precision of strips BoundaryOptions(dtype=...)"
            )

    @property
    def lossy(self) -> str:
        """The option, as it is written, that keeps less than the steps are made of; empty where none does."""
        if self.dtype in LOWER:
            return f"dtype={self.dtype!r}"
        return f"interval={self.interval}" if self.interval > 1 else ""

    def check_dtype(self, models: str, packs: bool = True) -> None:
        """Refuses a precision of what is kept that models of a dtype do not have, or nobody `packs` it into.

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
    """The one MemoryOptions that ``memory=`` and ``cuda_options=`` state between them."""
    memory = by_name(memory)
    if memory is not None and not isinstance(memory, MemoryOptions):
        raise OptionError(f"memory is {memory!r}; expected MemoryOptions(...), or the name of a strategy")
    if cuda_options is not None and not isinstance(cuda_options, CUDAOptions):
        raise OptionError(f"cuda_options is {cuda_options!r}; expected CUDAOptions(...)")
    stated = cuda_options.memory if cuda_options is not None else None
    if memory is not None and stated is not None:
        raise OptionError("memory= and cuda_options=CUDAOptions(memory=...) say the same thing; give one of them")
    return memory or stated or MemoryOptions()
