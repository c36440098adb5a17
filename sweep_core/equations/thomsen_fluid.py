"""Base of the acoustic equations with one axis of symmetry: parameters, fastest wave, admissible models."""

from typing import Any

import attrs

from .equation import Equation, Parameter
from .optional_density import OptionalDensity

ANISOTROPY = (
    Parameter("epsilon", "1", low=-0.5, typical=(0.15, 0.25)),
    Parameter("delta", "1", low=-0.5, typical=(0.0, 0.1)),
)


@attrs.frozen
class Thomsen(Equation):
    """The fastest wave and the admissible models of equations with vp along an axis, epsilon and delta."""

    def speed(self, vp: Any, epsilon: Any, delta: Any, *others: Any) -> Any:
        return vp * (1 + epsilon + abs(epsilon)) ** 0.5

    @property
    def rule(self) -> str:
        return "epsilon >= delta, without which strain would set energy free and waves would grow"

    def fits(self, vp: Any, epsilon: Any, delta: Any, *others: Any) -> Any:
        return epsilon >= delta


@attrs.frozen
class ThomsenFluid(Thomsen, OptionalDensity):
    """Base of equations with vp along an axis, and the epsilon and delta of Thomsen (1986, Geophysics 51)."""

    @property
    def own_parameters(self) -> tuple[Parameter, ...]:
        return ANISOTROPY
