"""Shear waves with motion across the plane of the grid (SH waves)."""

from typing import Any, ClassVar

import attrs

from .._util.peer_names import EQUATION
from .._util.validators import named
from .equation import Field, Parameter
from .first_order import Contribution, DerivativeSum, StaggeredEquation


@named(**EQUATION)
@attrs.frozen
class SH(StaggeredEquation):
    r"""rho vy_t = d_x sxy + d_z syz + f(t) delta(x - xs),  sxy_t = mu d_x vy - m,  syz_t = mu d_z vy - m.

    These are the waves of :class:`sweep_core.Elastic` in three dimensions if nothing changes along y, with the same
    nodes and time steps, here in two dimensions (Virieux 1984, Geophysics 49):

        vy <- vy + b (S D_x sxy + S D_z syz + dt fy),
        sxy <- sxy + mu_x S D_x vy - dt mxy,    syz <- syz + mu_z S D_z vy - dt myz,

    with b = 1 / rho, and mu_x and mu_z the harmonic means of mu = rho vs^2 in the two cells beside a stress. They are
    zero in a fluid (vs = 0) and beside it. On a free surface syz = 0; differences beside the surface conserve energy
    (`sweep_core.numerics.free_surface`).

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

    name: ClassVar[str] = "sh"
    ndims: ClassVar[tuple[int, ...]] = (2,)
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("vs", "m/s", closed=True), Parameter("rho", "kg/m3"))
    fields: ClassVar[tuple[Field, ...]] = (
        Field("vy", "m/s", ("t",), parity=0, mirrored=False),
        Field("sxy", "Pa", ("x",), parity=0, mirrored=False, source_sign=-1),
        Field("syz", "Pa", ("z",), mirrored=False, source_sign=-1),
    )
    coefficient_names: ClassVar[tuple[str, ...]] = ("b", "mu_x", "mu_z")
    coefficient_ranges: ClassVar[dict[str, str]] = {"b": "positive", "mu_x": "not negative", "mu_z": "not negative"}
    rates: ClassVar[tuple[DerivativeSum, ...]] = (
        DerivativeSum("ay", (("x", "sxy"), ("z", "syz"))),
        DerivativeSum("exy", (("x", "vy"),)),
        DerivativeSum("eyz", (("z", "vy"),)),
    )
    moduli: ClassVar[tuple[Contribution, ...]] = (
        Contribution("vy", "ay", "b"),
        Contribution("sxy", "exy", "mu_x"),
        Contribution("syz", "eyz", "mu_z"),
    )
    source_coefficients: ClassVar[dict[str, str]] = {"vy": "b"}
    reciprocal: ClassVar[tuple[str, ...]] = ("vy",)

    def coefficients(self, node_averages: Any, vs: Any, rho: Any) -> tuple[Any, ...]:
        mu = rho * vs**2
        return 1 / rho, node_averages.harmonic(mu, "x"), node_averages.harmonic(mu, "z")

    def speed(self, vs: Any, rho: Any) -> Any:
        return vs

    def solid(self, vs: Any, rho: Any) -> Any:
        return vs > 0
