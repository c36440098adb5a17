"""Base of the acoustic equations with one axis of symmetry: parameters, fastest wave, admissible models."""

from typing import Any

import attrs

from .._util.validators import check_flag
from .equation import Parameter
from .first_order import StaggeredEquation

SPEED = Parameter("vp", "m/s")
ANISOTROPY = (
    Parameter("epsilon", "1", low=-0.5, typical=(0.15, 0.25)),
    Parameter("delta", "1", low=-0.5, typical=(0.0, 0.1)),
)
DENSITY = Parameter("rho", "kg/m3")


@attrs.frozen
class ThomsenFluid(StaggeredEquation):
    """Base of equations with the parameters vp, epsilon, delta, those of `axis_parameters`, and rho if asked for."""

    has_density: bool = attrs.field(default=False, kw_only=True)

    @has_density.validator
    def _check_density(self, attribute: Any, value: Any) -> None:
        check_flag(value, attribute.name)

    @property
    def axis_parameters(self) -> tuple[Parameter, ...]:
        """The angles of the axis."""
        return ()

    @property
    def parameters(self) -> tuple[Parameter, ...]:  # type: ignore[override]
        """vp, epsilon, delta, the angles of the axis, and rho if the equation has a density."""
        return (SPEED, *ANISOTROPY, *self.axis_parameters, *((DENSITY,) if self.has_density else ()))

    def density(self, vp: Any, others: tuple[Any, ...]) -> Any:
        """Return rho, the last of the other parameters, or 1 everywhere."""
        return others[-1] if self.has_density else 0 * vp + 1

    def speed(self, vp: Any, epsilon: Any, delta: Any, *others: Any) -> Any:
        return vp * (1 + epsilon + abs(epsilon)) ** 0.5

    @property
    def rule(self) -> str:
        return "epsilon >= delta, without which strain would set energy free and waves would grow"

    def fits(self, vp: Any, epsilon: Any, delta: Any, *others: Any) -> Any:
        return epsilon >= delta
