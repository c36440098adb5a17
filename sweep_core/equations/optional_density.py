"""Base of acoustic equations that have a density if it is asked for."""

from typing import Any

import attrs

from .._util.validators import check_flag
from .equation import Parameter
from .first_order import StaggeredEquation

SPEED, DENSITY = Parameter("vp", "m/s"), Parameter("rho", "kg/m3")


@attrs.frozen
class OptionalDensity(StaggeredEquation):
    """Base of staggered equations with the parameter vp, those of `own_parameters`, and rho if `has_density`.

    The density is 1 otherwise. The fastest wave then bounds the time step in every model.
    """

    has_density: bool = attrs.field(default=False, kw_only=True)

    @has_density.validator
    def _check_density(self, attribute: Any, value: Any) -> None:
        check_flag(value, attribute.name)

    @property
    def own_parameters(self) -> tuple[Parameter, ...]:
        """The parameters between vp and rho."""
        raise NotImplementedError

    @property
    def parameters(self) -> tuple[Parameter, ...]:  # type: ignore[override]
        """vp, the parameters of the equation's own, and rho if the equation has a density."""
        return (SPEED, *self.own_parameters, *((DENSITY,) if self.has_density else ()))

    def density(self, vp: Any, others: tuple[Any, ...]) -> Any:
        """Return rho, the last of the other parameters, or 1 everywhere."""
        return others[-1] if self.has_density else 0 * vp + 1

    def depends_on_contrasts(self, ndim: int) -> bool:
        """Return True with a density."""
        return self.has_density
