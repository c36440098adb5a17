"""Elastic waves in a solid with a vertical axis of symmetry."""

from typing import ClassVar

import attrs

from sweep_core import Elastic, Field, Parameter
from sweep_core.equations.first_order import Contribution, DerivativeSum, StaggeredEquation

from .acoustic import larger


@attrs.frozen
class VTIElastic(StaggeredEquation):
    """rho v_t = div sigma, sigma_t = C e, with velocities along the axis and the parameters of Thomsen (1986):

    c33 = rho vp^2, c44 = rho vs^2, c11 = (1 + 2 epsilon) c33, c66 = (1 + 2 gamma) c44,
    (c13 + c44)^2 = 2 delta c33 (c33 - c44) + (c33 - c44)^2, c12 = c11 - 2 c66.

    Nodes, means and the free surface are those of :class:`sweep_core.Elastic`: on the surface szz = 0 gives ezz.
    """

    name: ClassVar[str] = "vti_elastic"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("vp", "m/s"),
        Parameter("vs", "m/s", closed=True, typical=(800, 1200)),
        Parameter("rho", "kg/m3"),
        Parameter("epsilon", "1", low=-0.5, typical=(0.05, 0.25)),
        Parameter("delta", "1", low=-0.5, typical=(-0.05, 0.15)),
        Parameter("gamma", "1", low=-0.5, typical=(0.0, 0.2)),
    )
    fields: ClassVar[tuple[Field, ...]] = Elastic.fields
    coefficient_names: ClassVar[tuple[str, ...]] = (
        *("bx", "by", "bz"),
        *("c11", "c12", "c13", "c33"),
        *("c66", "c55", "c44"),
    )
    coefficient_ranges: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("bx", "by", "bz", "c33"), "positive"),
        **dict.fromkeys(("c11", "c66", "c55", "c44"), "not negative"),
    }
    rates: ClassVar[tuple[DerivativeSum, ...]] = Elastic.rates
    moduli: ClassVar[tuple[Contribution, ...]] = (
        *(Contribution(f"v{a}", f"a{a}", f"b{a}") for a in "xyz"),
        *(Contribution(f"s{a}{a}", f"e{b}{b}", "c11" if a == b else "c12") for a in "xy" for b in "xy"),
        *(Contribution(f"s{a}{a}", "ezz", "c13") for a in "xy"),
        *(Contribution("szz", f"e{a}{a}", "c13") for a in "xy"),
        Contribution("szz", "ezz", "c33"),
        Contribution("sxy", "exy", "c66"),
        Contribution("sxz", "exz", "c55"),
        Contribution("syz", "eyz", "c44"),
    )
    source_coefficients: ClassVar[dict[str, str]] = {"vx": "bx", "vy": "by", "vz": "bz"}
    reciprocal: ClassVar[tuple[str, ...]] = ("vx", "vy", "vz")

    def coefficients(self, node_averages, vp, vs, rho, epsilon, delta, gamma):
        c11, square, c33, c44, c66 = self.stiffness(vp, vs, rho, epsilon, delta, gamma)
        c12, c13 = c11 - 2 * c66, square**0.5 - c44
        axes = [axis for axis in "xyz" if axis in node_averages.axes]

        def plane(c, c13, c33):
            return c - c13**2 / c33

        products = {
            **{f"b{axis}": 1 / node_averages.mean(rho, axis) for axis in axes},
            "c11": node_averages.surfaced(c11, plane, c11, c13, c33),
            "c12": node_averages.surfaced(c12, plane, c12, c13, c33),
            "c13": node_averages.surfaced(c13, lambda c: 0 * c, c13),
            "c33": c33,
            "c55": node_averages.harmonic(c44, "x", "z"),
        }
        if "y" in axes:
            products |= {"c66": node_averages.harmonic(c66, "x", "y"), "c44": node_averages.harmonic(c44, "y", "z")}
        return tuple(products[name] for name in self.coefficient_names_in(len(axes)))

    @staticmethod
    def stiffness(vp, vs, rho, epsilon, delta, gamma):
        """Return c11, (c13 + c44)^2, c33, c44, c66 (Pa)."""
        c33, c44 = rho * vp**2, rho * vs**2
        square = 2 * delta * c33 * (c33 - c44) + (c33 - c44) ** 2
        return (1 + 2 * epsilon) * c33, square, c33, c44, (1 + 2 * gamma) * c44

    def speed(self, vp, vs, rho, epsilon, delta, gamma):
        return vp * (1 + 2 * larger(larger(epsilon, delta), 0)) ** 0.5

    @property
    def rule(self):
        return (
            "vp > vs, (c13 + c44)^2 > 0, c11 > c66 and (c11 - c66) c33 > c13^2, as of a solid that resists all strain"
        )

    def fits(self, vp, vs, rho, epsilon, delta, gamma):
        c11, square, c33, c44, c66 = self.stiffness(vp, vs, rho, epsilon, delta, gamma)
        c13 = larger(square, 0) ** 0.5 - c44
        return (vp > vs) & (square > 0) & (c11 > c66) & ((c11 - c66) * c33 > c13**2)

    def default_pml_type(self, ndim, free_surface):
        return ("cpmls", *("mpmls",) * (ndim - 1)) if free_surface else "cpmls"

    def solid(self, vp, vs, rho, epsilon, delta, gamma):
        return vs > 0

    def derived(self, ndim):
        return {"p": dict.fromkeys(("sxx", "szz") if ndim == 2 else ("sxx", "syy", "szz"), -1 / ndim)}
