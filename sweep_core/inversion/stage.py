"""The stages of an inversion."""

from typing import Any

import attrs

from .._util import validators
from ..errors import OptionError
from ..misfit import Misfit, by_name

_corner = attrs.validators.optional(validators.amount("a frequency in Hz, or None"))


@attrs.frozen
class Stage:
    """Some iterations on a band of frequencies.

    Invert low frequencies first: modelled and observed waves must lie within half a period of each other (Bunks,
    Saleck, Zaleski and Chavent 1995).

    Parameters
    ----------
    iterations : int
        Number of iterations.
    low, high : float, optional
        Corners (Hz) of the filter of both sides of the misfit; all frequencies by default.
    shots : int, optional
        Number of shots, evenly spaced over the survey; all by default, and if the survey has fewer.
    coarsen : int, optional
        Compute on every `coarsen`-th node and time step. This is enough for low frequencies and takes a fraction of the
        work; it needs `high`. See :class:`sweep_core.inversion.Coarse`.
    encoded : int, optional
        Fire all shots at once, as this number of sums of shots with random signs, at the cost of as many shots. An
        optimiser that draws shots has new signs for the drawn shots of each gradient. For other optimisers the signs
        stay. This needs least squares, and receivers, masks and weights that all shots share. See
        :class:`sweep_core.inversion.Encoding`.
    misfit, weights, optimiser, regularise : optional
        Values for this stage; by default those of the inversion.

    Raises
    ------
    OptionError
        A value is not as described.
    """

    iterations: int = attrs.field(validator=validators.positive)
    low: float | None = attrs.field(default=None, validator=_corner)
    high: float | None = attrs.field(default=None, validator=_corner)
    shots: int | None = attrs.field(default=None, validator=attrs.validators.optional(validators.positive))
    coarsen: int | None = attrs.field(default=None, validator=attrs.validators.optional(validators.positive))
    encoded: int | None = attrs.field(default=None, validator=attrs.validators.optional(validators.positive))
    misfit: Misfit | None = attrs.field(default=None, converter=by_name)
    weights: Any = attrs.field(default=None, eq=False, repr=False)
    optimiser: Any = None
    regularise: Any = None

    @coarsen.validator
    def _needs_high(self, _, coarsen):
        if (coarsen or 1) > 1 and self.high is None:
            raise OptionError(
                f"Stage: coarsen is {coarsen} and high is None; set high, because a coarser grid carries only low "
                "frequencies"
            )

    def settings(self) -> dict[str, Any]:
        """Return the values of the stage that are not None.

        Returns
        -------
        dict
            Values by their names.
        """
        return {name: value for name, value in attrs.asdict(self, recurse=False).items() if value is not None}

    def __str__(self) -> str:
        if self.low is None and self.high is None:
            return "all frequencies"
        if self.low is None:
            return f"up to {self.high:g} Hz"
        return f"from {self.low:g} Hz" + ("" if self.high is None else f" to {self.high:g} Hz")
