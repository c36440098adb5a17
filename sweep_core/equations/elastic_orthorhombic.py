"""Elastic waves in a solid with three orthogonal planes of symmetry, or a fluid."""

from collections.abc import Callable
from functools import reduce
from operator import and_
from typing import Any, ClassVar

import attrs
import numpy as np

from .._util.peer_names import EQUATION
from .._util.validators import named
from .equation import Parameter
from .first_order import Contribution, buoyancies
from .velocity_stress import VELOCITIES, VelocityStress, axes_of, normal_moduli, shear_moduli

SHEAR = {"xy": "c66", "xz": "c55", "yz": "c44"}
"""The stiffness of each shear stress, by plane."""


def mixed(c: Any, shear: Any, delta: Any) -> Any:
    """Return the stiffness c13 of a plane, from (c13 + c55)^2 = (c33 - c55)^2 + 2 delta c33 (c33 - c55)."""
    return ((c - shear) * (c - shear + 2 * delta * c)) ** 0.5 - shear


def larger(a: Any, b: Any) -> Any:
    """Return the larger of two numbers or arrays, of any library."""
    return 0.5 * (a + b + abs(a - b))


def flat(c33: Any, c55: Any, c13: Any, epsilon: Any, delta: Any) -> Any:
    """Return c11 - c13^2 / c33 of a plane, without differences that cancel: zero in an isotropic fluid."""
    return 2 * (epsilon - delta) * c33 + 2 * c55 * (1 + delta + c13 / c33)


@named(**EQUATION)
@attrs.frozen
class ElasticOrthorhombic(VelocityStress):
    r"""Elastic waves with the stiffnesses of an orthorhombic solid, whose planes of symmetry are those of the grid.

    The parameters are those of Tsvankin (1997, Geophysics 62, eqs. 10 to 19). `vp` and `vs` are speeds along z, the
    latter of waves with motion along x. Thomsen's coefficients belong to the plane of y and z (1), x and z (2), or
    x and y (3):

        c33 = rho vp^2,    c55 = rho vs^2,    c66 = (1 + 2 gamma1) c55,    c44 = c66 / (1 + 2 gamma2),
        c11 = (1 + 2 epsilon2) c33,    c22 = (1 + 2 epsilon1) c33,
        (c13 + c55)^2 = (c33 - c55)^2 + 2 delta2 c33 (c33 - c55),
        (c23 + c44)^2 = (c33 - c44)^2 + 2 delta1 c33 (c33 - c44),
        (c12 + c66)^2 = (c11 - c66)^2 + 2 delta3 c11 (c11 - c66).

    Nodes, time steps and averages are those of :class:`sweep_core.Elastic`: sxx grows by c11 exx + c12 eyy + c13 ezz,
    sxz by the harmonic mean of c55 times exz. On a free surface szz = 0 gives ezz, and c11, c12 and c22 become those
    of plane stress, such as c11 - c13^2 / c33 (docs/explanation/elastic-anisotropic.md). Two dimensions use vp, vs,
    rho, epsilon2 and delta2 alone.

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

    name: ClassVar[str] = "elastic_orthorhombic"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("vp", "m/s"),
        Parameter("vs", "m/s", closed=True, typical=(800, 1200)),
        Parameter("rho", "kg/m3"),
        Parameter("epsilon1", "1", low=-0.5, typical=(0.05, 0.2)),
        Parameter("epsilon2", "1", low=-0.5, typical=(0.1, 0.25)),
        *(Parameter(f"delta{i}", "1", low=-0.5, typical=(-0.05, 0.1)) for i in (1, 2, 3)),
        *(Parameter(f"gamma{i}", "1", low=-0.5, typical=(0.0, 0.15)) for i in (1, 2)),
    )
    coefficient_names: ClassVar[tuple[str, ...]] = (
        *("bx", "by", "bz"),
        *("c11", "c12", "c13", "c22", "c23", "c33"),
        *SHEAR.values(),
    )
    coefficient_ranges: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("bx", "by", "bz", "c33"), "positive"),
        **dict.fromkeys(SHEAR.values(), "not negative"),
    }
    moduli: ClassVar[tuple[Contribution, ...]] = (
        *VELOCITIES,
        *normal_moduli(lambda a, b: "c{}{}".format(*sorted(("xyz".index(a) + 1, "xyz".index(b) + 1)))),
        *shear_moduli(**SHEAR),
    )

    def stiffnesses(self, *parameters: Any) -> dict[str, Any]:
        """Return the stiffnesses c11 to c66 (Pa), and p11, p12, p22 under a free surface, of the parameters."""
        vp, vs, rho, epsilon1, epsilon2, delta1, delta2, delta3, gamma1, gamma2 = parameters
        c33, c55 = rho * vp**2, rho * vs**2
        c66, c11, c22 = (1 + 2 * gamma1) * c55, (1 + 2 * epsilon2) * c33, (1 + 2 * epsilon1) * c33
        c44 = c66 / (1 + 2 * gamma2)
        c13, c23, c12 = mixed(c33, c55, delta2), mixed(c33, c44, delta1), mixed(c11, c66, delta3)
        return {
            **{"c11": c11, "c12": c12, "c13": c13, "c22": c22, "c23": c23, "c33": c33},
            **{"c44": c44, "c55": c55, "c66": c66},
            "p11": flat(c33, c55, c13, epsilon2, delta2),
            "p22": flat(c33, c44, c23, epsilon1, delta1),
            "p12": c12 - c13 * (c23 / c33),
        }

    def coefficients(self, node_averages: Any, *parameters: Any) -> tuple[Any, ...]:
        inside, rho, (axes, planes) = self.stiffnesses(*parameters), parameters[2], axes_of(node_averages)

        def top(name: str) -> Callable[..., Any]:
            return lambda *rows: self.stiffnesses(*rows)[name]

        # On the surface szz = 0, which gives ezz.
        inside |= {
            f"c{ij}": node_averages.surfaced(inside[f"c{ij}"], top(f"p{ij}"), *parameters) for ij in ("11", "12", "22")
        }
        inside |= {c: node_averages.surfaced(inside[c], lambda x: 0 * x, inside[c]) for c in ("c13", "c23")}
        inside |= {SHEAR[plane]: node_averages.harmonic(inside[SHEAR[plane]], *plane) for plane in planes}
        inside |= {f"b{axis}": b for axis, b in zip(axes, buoyancies(node_averages, rho), strict=True)}
        return tuple(inside[name] for name in self.coefficient_names_in(len(axes)))

    def speed(self, *parameters: Any) -> Any:
        vp, _, _, epsilon1, epsilon2, delta1, delta2, delta3, *_ = parameters
        along_x = (1 + 2 * epsilon2) * (1 + 2 * larger(delta3, 0)) ** 0.5
        fastest = larger(larger(along_x, 1 + 2 * epsilon1), (1 + 2 * larger(larger(delta1, delta2), 0)) ** 0.5)
        return vp * fastest**0.5

    @property
    def rule(self) -> str:
        return (
            "shear stiffnesses below the normal ones, squares (c13 + c55)^2 above zero, and normal stiffnesses that "
            "resist every strain; a fluid (vs = 0) has epsilon >= delta"
        )

    def planes(self, *parameters: Any) -> tuple[tuple[str, str, Any], ...]:
        """Return the stiffnesses and delta with which each plane has a mixed stiffness."""
        *_, delta1, delta2, delta3, _, _ = parameters
        return ("c33", "c55", delta2), ("c33", "c44", delta1), ("c11", "c66", delta3)

    def fits(self, *parameters: Any) -> Any:
        with np.errstate(invalid="ignore"):  # roots of negative numbers, which are refused below
            c = self.stiffnesses(*parameters)
        planes = [(c[normal], c[shear], delta) for normal, shear, delta in self.planes(*parameters)]
        real = [(shear < normal) & (shear < (1 + 2 * delta) * normal) for normal, shear, delta in planes]
        return reduce(and_, real) & (c["p11"] >= 0) & (c["p22"] >= 0) & (c["p11"] * c["p22"] >= c["p12"] ** 2)

    def solid(self, *parameters: Any) -> Any:
        return parameters[1] > 0
