"""Acoustic waves that lose energy: the equation, and the hook that registers it."""

from typing import ClassVar

import attrs

from sweep_core import EquationRecord, Field, Parameter, impl
from sweep_core.equations.second_order import SecondOrderEquation
from sweep_core.equations.terms import Contribution, DerivativeSum


@attrs.frozen
class Damped(SecondOrderEquation):
    """(1 / vp^2) (u_tt + 2 gamma u_t) - lap u = s(t) delta(x - xs): amplitudes fall as exp(-gamma t).

    u_tt and u_t are central differences: with g = gamma dt,

    (1 + g) u[k+1] - 2 u[k] + (1 - g) u[k-1] = dt^2 vp^2 (lap u[k] + s[k] / cell volume)

    or u[k+1] = 2 u[k] - u[k-1] + kick dt^2 (lap u[k] + s[k] / cell volume) + loss 2 (u[k] - u[k-1]), with
    kick = vp^2 / (1 + g) and loss = -g / (1 + g).
    """

    name: ClassVar[str] = "damped"
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("vp", "m/s"), Parameter("gamma", "1/s", closed=True))
    fields: ClassVar[tuple[Field, ...]] = (Field("h1", "Pa", order=2),)
    coefficient_names: ClassVar[tuple[str, ...]] = ("kick", "loss")
    coefficient_ranges: ClassVar[dict[str, str]] = {"kick": "positive"}
    rates: ClassVar[tuple[DerivativeSum, ...]] = (
        DerivativeSum("laplacian", (("x", "h1"), ("y", "h1"), ("z", "h1")), operator="D2"),
        DerivativeSum("change", (("", "h1"),), operator="change"),
    )
    moduli: ClassVar[tuple[Contribution, ...]] = (
        Contribution("h1", "laplacian", "kick"),
        Contribution("h1", "change", "loss"),
    )
    source_coefficients: ClassVar[dict[str, str]] = {"h1": "kick"}
    library: ClassVar[str] = "sweep_damped"

    def coefficients(self, node_averages, vp, gamma):
        g = node_averages.dt * gamma
        return vp**2 / (1 + g), -g / (1 + g)

    def speed(self, vp, gamma):
        return vp


@impl
def sweep_equations():
    return [EquationRecord("damped", "sweep_damped:Damped")]
