"""What a user may choose about execution, and where memory may be stated. Immutable, checked at construction."""

import attrs

from .._util.validators import one_of
from ..errors import OptionError


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
