"""Acoustic waves of constant density, second order in time."""

from typing import Any, ClassVar

import attrs

from .._util.peer_names import EQUATION
from .._util.validators import named
from .equation import Field, Parameter
from .second_order import SecondOrderEquation
from .terms import Contribution, DerivativeSum


@named(**EQUATION)
@attrs.frozen
class Acoustic(SecondOrderEquation):
    r"""(1 / vp^2) u_tt - lap u = s(t) delta(x - xs), with a symmetric second-order CPML.

    u[k+1] = 2 u[k] - u[k-1] + dt^2 vp^2 (sum over axes of S D2 u[k] + s[k] / cell volume), with S D2 as
    :class:`sweep_core.equations.second_order.SecondOrderEquation` has it.

    Parameters
    ----------
    spatial_order : int
        Order of the differences, even, 2 to 64.
    device : str, optional
        Default device of the solvers of this equation.

    Raises
    ------
    OptionError
        For another order, or an argument that does not exist.
    """

    name: ClassVar[str] = "acoustic"
    ndims: ClassVar[tuple[int, ...]] = (1, 2, 3)
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("vp", "m/s"),)
    fields: ClassVar[tuple[Field, ...]] = (Field("h1", "Pa", ndims=(1, 2, 3), order=2),)
    coefficient_names: ClassVar[tuple[str, ...]] = ("vp2",)
    coefficient_ranges: ClassVar[dict[str, str]] = {"vp2": "positive"}
    rates: ClassVar[tuple[DerivativeSum, ...]] = (
        DerivativeSum("laplacian", (("x", "h1"), ("y", "h1"), ("z", "h1")), operator="D2"),
    )
    moduli: ClassVar[tuple[Contribution, ...]] = (Contribution("h1", "laplacian", "vp2"),)
    source_coefficients: ClassVar[dict[str, str]] = {"h1": "vp2"}
    reciprocal: ClassVar[tuple[str, ...]] = ("h1",)

    def coefficients(self, node_averages: Any, vp: Any) -> tuple[Any, ...]:
        return (vp * vp,)

    def speed(self, vp: Any) -> Any:
        return vp

    def coefficient_limit(self, speed: float) -> float:
        return speed**2
