"""What a stage of an inversion may differ in from the one before."""

from typing import Any

import attrs

from .._util import validators
from ..errors import OptionError
from ..misfit import Misfit, by_name

_corner = validators.amount("a frequency in Hz, or None", optional=True)


@attrs.frozen
class Stage:
    """Some iterations on some frequencies of the data: low ones first, of which no wave is more than half a period away
    from the one that it is compared with (Bunks, Saleck, Zaleski and Chavent 1995).

    Parameters
    ----------
    iterations : int
    low, high : float, optional
        Corners in Hz of the filter that both sides of the misfit pass; all frequencies by default.
    shots : int, optional
        How many: evenly spaced over the survey for an optimiser that needs the same in every iteration; all by default,
        and where there are fewer.
    coarsen : int, optional
        Every so many nodes and time steps are computed on, which is enough for low frequencies and a fraction of the
        work: needs `high`. See :class:`sweep_core.inversion.Coarse`.
    encoded : int, optional
        Fires all shots at once, as so many shots of many sources with random signs: the cost of so many. The signs are
        new for each gradient of an optimiser that draws shots, of those that it draws, and stay for one that needs the
        same in every iteration. Least squares, and receivers, masks and weights that all shots share, alone. See
        :class:`sweep_core.inversion.Encoding`.
    misfit, weights, optimiser, regularise : optional
        Those of the inversion by default.
    """

    iterations: int = attrs.field(validator=validators.positive)
    low: float | None = attrs.field(default=None, validator=_corner)
    high: float | None = attrs.field(default=None, validator=_corner)
    shots: int | None = attrs.field(default=None, validator=validators.positive)
    coarsen: int | None = attrs.field(default=None, validator=validators.positive)
    encoded: int | None = attrs.field(default=None, validator=validators.positive)
    misfit: Misfit | None = attrs.field(default=None, converter=by_name)
    weights: Any = attrs.field(default=None, eq=False, repr=False)
    optimiser: Any = None
    regularise: Any = None

    @coarsen.validator
    def _carried(self, _, coarsen):
        if (coarsen or 1) > 1 and self.high is None:
            raise OptionError(
                f"Stage: coarsen is {coarsen}, and a coarser grid carries low frequencies alone; give high"
            )

    def said(self) -> dict[str, Any]:
        """What it states, by name."""
        return {name: value for name, value in attrs.asdict(self, recurse=False).items() if value is not None}

    def __str__(self) -> str:
        if self.low is None and self.high is None:
            return "all frequencies"
        if self.low is None:
            return f"up to {self.high:g} Hz"
        return f"from {self.low:g} Hz" + ("" if self.high is None else f" to {self.high:g} Hz")
