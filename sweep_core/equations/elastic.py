"""Elastic waves in an isotropic solid or fluid, velocity and stress on a staggered grid."""

from typing import Any, ClassVar

import attrs

from .._util.peer_names import EQUATION
from .._util.validators import named
from .equation import Parameter
from .first_order import Contribution, buoyancies
from .velocity_stress import VELOCITIES, VelocityStress, axes_of, normal_moduli, shear_moduli


@named(**EQUATION)
@attrs.frozen
class Elastic(VelocityStress):
    r"""rho v_t = div sigma + f(t) delta(x - xs),  sigma_t = lam tr(e) 1 + 2 mu e - m(t) delta(x - xs).

    e is the strain rate, mu = rho vs^2, lam = rho (vp^2 - 2 vs^2); tension is positive, and the receiver `p` is
    minus the mean of the normal stresses. The source m is a rate of moment (Aki and Richards 2002, Quantitative
    Seismology, ch. 3): a positive wavelet for all normal stresses is an explosion, which pushes outwards.

    Leapfrog on a staggered grid (Virieux 1986, Geophysics 51; Levander 1988, Geophysics 53), here in 2-D:

        vx <- vx + bx (S D_x sxx + S D_z sxz + dt fx),    vz <- vz + bz (S D_x sxz + S D_z szz + dt fz),
        sxx <- sxx + pi exx + lam ezz - dt mxx,    szz <- szz + lam exx + pi ezz - dt mzz,
        sxz <- sxz + mu_xz exz - dt mxz,
        exx = S D_x vx,  ezz = S D_z vz,  exz = S D_z vx + S D_x vz,  pi = lam + 2 mu.

    Densities are arithmetic means of the two cells beside a velocity. The rigidity mu_xz is the harmonic mean of the
    four cells around a shear stress; it is zero in a fluid and beside it (Moczo et al. 2002, BSSA 92;
    docs/explanation/elastic.md). On a free surface szz = 0 and sxz = 0, and sxx grows as in plane stress. Differences
    beside the surface conserve energy (`sweep_core.numerics.free_surface`).

    A sample of m acts midway between two stresses, one of f midway between two velocities.

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

    name: ClassVar[str] = "elastic"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("vp", "m/s"),
        Parameter("vs", "m/s", closed=True, typical=(800, 1200)),
        Parameter("rho", "kg/m3"),
    )
    coefficient_names: ClassVar[tuple[str, ...]] = ("bx", "by", "bz", "pi", "lam", "mu_xy", "mu_xz", "mu_yz")
    coefficient_ranges: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("bx", "by", "bz"), "positive"),
        **dict.fromkeys(("pi", "mu_xy", "mu_xz", "mu_yz"), "not negative"),
    }
    moduli: ClassVar[tuple[Contribution, ...]] = (
        *VELOCITIES,
        *normal_moduli(lambda a, b: "pi" if a == b else "lam"),
        *shear_moduli(xy="mu_xy", xz="mu_xz", yz="mu_yz"),
    )

    def isotropic(self, *parameters: Any) -> tuple[Any, Any, Any]:
        """Return mu, lam + 2 mu (Pa) and rho (kg/m3) of the parameters."""
        vp, vs, rho = parameters
        return rho * vs**2, rho * vp**2, rho

    def coefficients(self, node_averages: Any, *parameters: Any) -> tuple[Any, ...]:
        mu, pi, rho = self.isotropic(*parameters)
        lam, (axes, planes) = pi - 2 * mu, axes_of(node_averages)
        return (
            *buoyancies(node_averages, rho),
            # On the surface szz = 0 gives ezz. Written without differences that cancel: zero in a fluid.
            node_averages.surfaced(pi, lambda mu, pi: 4 * mu * (pi - mu) / pi, mu, pi),
            node_averages.surfaced(lam, lambda mu, lam, pi: 2 * mu * lam / pi if "y" in axes else 0 * lam, mu, lam, pi),
            *(node_averages.harmonic(mu, *plane) for plane in planes),
        )

    def speed(self, *parameters: Any) -> Any:
        return parameters[0]

    @property
    def rule(self) -> str:
        return "vp > sqrt(4/3) vs, without which the solid has no resistance to compression"

    def fits(self, *parameters: Any) -> Any:
        vp, vs, _ = parameters
        return 3 * vp**2 > 4 * vs**2

    def solid(self, *parameters: Any) -> Any:
        return parameters[1] > 0
