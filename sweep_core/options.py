"""What a user may choose about execution, and where memory may be stated. Immutable, checked at construction."""

import attrs

from .errors import OptionError
from .memory import MemoryOptions
from .memory.options import by_name
from .validators import kind, one_of


@attrs.frozen
class CUDAOptions:
    """What users' scripts write as ``CUDAOptions(memory=...)``: the same as ``memory=``, on every device."""

    memory: MemoryOptions | None = attrs.field(default=None, converter=by_name, validator=kind(MemoryOptions))


@attrs.frozen
class EagerOptions:
    """How ``impl='eager'`` runs. `compile` hands the step to the framework's compiler; not there yet for torch."""

    compile: bool = attrs.field(default=False, validator=one_of(True, False))


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
    memory = by_name(memory)
    if memory is not None and not isinstance(memory, MemoryOptions):
        raise OptionError(f"memory is {memory!r}; expected MemoryOptions(...), or the name of a strategy")
    if cuda_options is not None and not isinstance(cuda_options, CUDAOptions):
        raise OptionError(f"cuda_options is {cuda_options!r}; expected CUDAOptions(...)")
    stated = cuda_options.memory if cuda_options is not None else None
    if memory is not None and stated is not None:
        raise OptionError("memory= and cuda_options=CUDAOptions(memory=...) say the same thing; give one of them")
    return memory or stated or MemoryOptions()
