"""Acoustic waves of variable density, first order in time, on a staggered grid."""

from typing import Any, ClassVar

import attrs

from .._util.peer_names import EQUATION
from .._util.validators import named
from .equation import Field, Parameter
from .first_order import Contribution, DerivativeSum, StaggeredEquation, buoyancies


@named(**EQUATION)
@attrs.frozen
class AcousticVariableDensity(StaggeredEquation):
    r"""rho v_t = -grad p + f(t) delta(x - xs),  p_t = kappa (-div v + q(t) delta(x - xs)),  kappa = rho vp^2.

    q is a rate of injected volume per volume (1/s times the cell volume's unit), so that for a constant rho
    (1 / vp^2) p_tt - lap p = rho q_t delta. Leapfrog on a staggered grid (Virieux 1984, Geophysics 49, for SH waves):

    v_a[k+1/2] = v_a[k-1/2] + b_a (-S D_a p[k] + dt f[k]),
    p[k+1] = p[k] + kappa (-sum over a of S D_a v_a[k+1/2] + dt q[k]),

    with b_a the inverse of the mean density of the two cells beside v_a (Moczo et al. 2002, BSSA 92). The
    sample q[k] acts midway between p[k] and p[k+1].

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

    name: ClassVar[str] = "acoustic_variable_density"
    ndims: ClassVar[tuple[int, ...]] = (1, 2, 3)
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("vp", "m/s"), Parameter("rho", "kg/m3"))
    fields: ClassVar[tuple[Field, ...]] = (
        Field("p", "Pa", ndims=(1, 2, 3)),
        Field("vx", "m/s", ("x", "t")),
        Field("vy", "m/s", ("y", "t"), ndims=(3,)),
        Field("vz", "m/s", ("z", "t"), parity=1, ndims=(1, 2, 3)),
    )
    coefficient_names: ClassVar[tuple[str, ...]] = ("kappa", "bx", "by", "bz")
    coefficient_ranges: ClassVar[dict[str, str]] = dict.fromkeys(coefficient_names, "positive")
    rates: ClassVar[tuple[DerivativeSum, ...]] = (
        DerivativeSum("ax", (("x", "p"),), -1),
        DerivativeSum("ay", (("y", "p"),), -1),
        DerivativeSum("az", (("z", "p"),), -1),
        DerivativeSum("e", (("x", "vx"), ("y", "vy"), ("z", "vz")), -1),
    )
    moduli: ClassVar[tuple[Contribution, ...]] = (
        Contribution("vx", "ax", "bx"),
        Contribution("vy", "ay", "by"),
        Contribution("vz", "az", "bz"),
        Contribution("p", "e", "kappa"),
    )
    source_coefficients: ClassVar[dict[str, str]] = {"p": "kappa", "vx": "bx", "vy": "by", "vz": "bz"}
    reciprocal: ClassVar[tuple[str, ...]] = ("p", "vx", "vy", "vz")

    def coefficients(self, node_averages: Any, vp: Any, rho: Any) -> tuple[Any, ...]:
        return rho * vp**2, *buoyancies(node_averages, rho)

    def speed(self, vp: Any, rho: Any) -> Any:
        return vp
