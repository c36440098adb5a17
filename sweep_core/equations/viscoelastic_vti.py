"""Elastic waves of constant Qp and Qs in a solid with a vertical axis of symmetry, or a fluid."""

from functools import reduce
from operator import and_
from typing import Any, ClassVar

import attrs

from .._util.peer_names import EQUATION
from .._util.validators import named
from .attenuation import quality
from .elastic_orthorhombic import SHEAR
from .elastic_vti import ElasticVTI
from .equation import Parameter
from .first_order import StaggeredEquation
from .velocity_stress import axes_of
from .viscoelastic import ViscoElastic, relaxing_harmonic


@named(**EQUATION)
@attrs.frozen
class ViscoElasticVTI(ViscoElastic):
    r"""The equation of :class:`ElasticVTI` with stiffnesses that relax: nearly constant Qp and Qs.

        sigma_t = C : e - m(t) delta(x - xs) - sum over l of Y_l : r_l,    r_l' = w_l (e - r_l),
        Y33_l = c33 y_l(Qp),  Y11_l = c11 y_l(Qp),  Y44_l = c44 y_l(Qs),  Y66_l = c66 y_l(Qs),
        Y12_l = Y11_l - 2 Y66_l,    Y13_l = (d c13 / d c33) Y33_l + (d c13 / d c44) Y44_l,

    the last with delta held. Hence c33 and c11 have the quality Qp, c44 and c66 the quality Qs. Thomsen's
    parameters do not change with frequency, to the first order in 1 / Q. vp and vs are phase speeds along the axis at
    the reference frequency. Without anisotropy this is :class:`ViscoElastic`; mechanisms, step and admissible earths
    are explained in docs/explanation/attenuation.md.

    Parameters
    ----------
    spatial_order : int
        Order of the differences, even, 2 to 64.
    device : str, optional
        Default device of the solvers of this equation.
    mechanisms : int
        Number L of standard linear solids.
    reference_frequency : float
        Frequency (Hz) at which vp and vs are phase speeds.
    band : (low, high), optional
        Frequencies (Hz) between which Qp and Qs are constant, as for :class:`ViscoElastic`.

    Raises
    ------
    OptionError
        For another order or other mechanisms, or an argument that does not exist.
    """

    name: ClassVar[str] = "viscoelastic_vti"
    lossless: ClassVar[type[StaggeredEquation]] = ElasticVTI
    parameters: ClassVar[tuple[Parameter, ...]] = (*ElasticVTI.parameters, quality("Qp"), quality("Qs"))

    def change(self, node_averages: Any, p: Any, s: Any, *elastic: Any) -> dict[str, Any]:
        properties, stiffnesses = (p, s, *elastic), ElasticVTI().stiffnesses(*elastic)
        inside, (axes, planes) = _changes(*properties), axes_of(node_averages)

        def top(name: str) -> Any:
            return lambda *rows: _changes(*rows)[name]

        horizontal = ("11", "12") if "y" in axes else ("11",)
        return {
            **{f"c{ij}": node_averages.surfaced(inside[f"c{ij}"], top(f"p{ij}"), *properties) for ij in horizontal},
            "c13": node_averages.surfaced(inside["c13"], lambda x: 0 * x, inside["c13"]),
            "c33": inside["c33"],
            **{SHEAR[ab]: relaxing_harmonic(node_averages, stiffnesses[SHEAR[ab]], s, ab) for ab in planes},
        }

    def speed(self, *parameters: Any) -> Any:
        *elastic, _, _ = self.unrelaxed_models(*parameters)
        return ElasticVTI().speed(*elastic)

    @property
    def rule(self) -> str:
        return (
            f"{ElasticVTI().rule}, at all frequencies, and a Qp that is small enough beside Qs (isotropic: about "
            "Qp < 3/4 (vp / vs)^2 Qs), without which a strain gains energy"
        )

    def fits(self, *parameters: Any) -> Any:
        *elastic, qp, qs = self.unrelaxed_models(*parameters)
        p, s = (self.relaxation.fractions(q) for q in (qp, qs))
        c, fluid = ElasticVTI().stiffnesses(*elastic), elastic[1] == 0  # all of a fluid relaxes alike
        relaxed = {name: c[name] - change for name, change in _changes(sum(p), sum(s), *elastic).items()}
        lossy = (_resists(x) for x in (relaxed, *(_changes(a, b, *elastic) for a, b in zip(p, s, strict=True))))
        return ElasticVTI().fits(*elastic) & (fluid | reduce(and_, lossy))


def _changes(p: Any, s: Any, *elastic: Any) -> dict[str, Any]:
    """Return the parts of the stiffnesses of :class:`ElasticVTI` that fractions p of c33 and s of c44 take away.

    They are changes to the first order in p and s; those of p11 and p12 belong to a free surface.
    """
    c, epsilon, delta = ElasticVTI().stiffnesses(*elastic), elastic[3], elastic[4]
    c33, c44, ratio = c["c33"], c["c44"], c["c13"] / c["c33"]
    c33_change, c44_change, c66_change = p * c33, s * c44, s * c["c66"]
    difference = c33_change - c44_change
    square = difference * (c33 - c44 + 2 * delta * c33) + (c33 - c44) * (difference + 2 * delta * c33_change)
    c13_change = square / (2 * (c["c13"] + c44)) - c44_change
    # p11 = 2 (epsilon - delta) c33 + 2 c44 (1 + delta + c13 / c33)
    flat = (epsilon - delta) * c33_change + (1 + delta + ratio) * c44_change
    flat = 2 * (flat + c44 * (c13_change / c33 - ratio * p))
    c11_change = p * c["c11"]
    return {
        **{"c11": c11_change, "c12": c11_change - 2 * c66_change, "c13": c13_change, "c33": c33_change},
        **{"c44": c44_change, "c55": c44_change, "c66": c66_change, "p11": flat, "p12": flat - 2 * c66_change},
    }


def _resists(c: dict[str, Any]) -> Any:
    """Return whether stiffnesses resist every normal strain."""
    return (c["c11"] - c["c66"]) * c["c33"] > c["c13"] ** 2
