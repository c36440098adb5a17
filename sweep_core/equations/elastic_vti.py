"""Elastic waves in a solid with a vertical axis of symmetry, or a fluid."""

from typing import Any, ClassVar

import attrs

from .._util.peer_names import EQUATION
from .._util.validators import named
from .elastic_orthorhombic import SHEAR, ElasticOrthorhombic, flat, larger, mixed
from .equation import Parameter
from .first_order import Contribution
from .velocity_stress import VELOCITIES, normal_moduli, shear_moduli


@named(**EQUATION)
@attrs.frozen
class ElasticVTI(ElasticOrthorhombic):
    r"""Elastic waves in a solid whose properties do not change about the vertical (vertical transverse isotropy).

    The parameters are those of Thomsen (1986, Geophysics 51, eqs. 8 to 17), with speeds along the axis:

        c33 = rho vp^2,    c44 = rho vs^2,    c11 = (1 + 2 epsilon) c33,    c66 = (1 + 2 gamma) c44,
        (c13 + c44)^2 = (c33 - c44)^2 + 2 delta c33 (c33 - c44),    c12 = c11 - 2 c66.

    Nodes, averages and the free surface are those of :class:`sweep_core.ElasticOrthorhombic`, here with c22 = c11 and
    c23 = c13. Two dimensions use all parameters but gamma, of which the gradient is zero there. Without anisotropy
    the record is that of :class:`sweep_core.Elastic`.

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

    name: ClassVar[str] = "elastic_vti"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("vp", "m/s"),
        Parameter("vs", "m/s", closed=True, typical=(800, 1200)),
        Parameter("rho", "kg/m3"),
        Parameter("epsilon", "1", low=-0.5, typical=(0.05, 0.25)),
        Parameter("delta", "1", low=-0.5, typical=(-0.05, 0.15)),
        Parameter("gamma", "1", low=-0.5, typical=(0.0, 0.2)),
    )
    coefficient_names: ClassVar[tuple[str, ...]] = ("bx", "by", "bz", "c11", "c12", "c13", "c33", *SHEAR.values())
    moduli: ClassVar[tuple[Contribution, ...]] = (
        *VELOCITIES,
        *normal_moduli(lambda a, b: ("c33" if a == b else "c13") if "z" in (a, b) else "c11" if a == b else "c12"),
        *shear_moduli(**SHEAR),
    )

    def stiffnesses(self, *parameters: Any) -> dict[str, Any]:
        vp, vs, rho, epsilon, delta, gamma = parameters
        c33, c44 = rho * vp**2, rho * vs**2
        c11, c66, c13 = (1 + 2 * epsilon) * c33, (1 + 2 * gamma) * c44, mixed(c33, c44, delta)
        p11 = flat(c33, c44, c13, epsilon, delta)
        return {
            **{"c11": c11, "c12": c11 - 2 * c66, "c13": c13, "c22": c11, "c23": c13, "c33": c33},
            **{"c44": c44, "c55": c44, "c66": c66, "p11": p11, "p12": p11 - 2 * c66, "p22": p11},
        }

    def planes(self, *parameters: Any) -> tuple[tuple[str, str, Any], ...]:
        return (("c33", "c44", parameters[4]),)

    def speed(self, *parameters: Any) -> Any:
        vp, _, _, epsilon, delta, _ = parameters
        return vp * larger(1 + 2 * epsilon, (1 + 2 * larger(delta, 0)) ** 0.5) ** 0.5
