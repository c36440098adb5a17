"""Elastic waves in an isotropic solid or fluid of constant Qp and Qs, on a staggered grid."""

from functools import reduce
from operator import and_
from typing import Any, ClassVar

import attrs

from .._util.peer_names import EQUATION
from .._util.validators import named
from .attenuation import RelaxingEquation, quality
from .elastic import Elastic
from .equation import Parameter
from .first_order import StaggeredEquation
from .velocity_stress import axes_of, compliance


@named(**EQUATION)
@attrs.frozen
class ViscoElastic(RelaxingEquation):
    r"""The equation of :class:`Elastic` with moduli pi and mu that relax: nearly constant Qp and Qs.

        sigma_t = lam tr(e) 1 + 2 mu e - m(t) delta(x - xs) - sum over l of (Ylam_l tr(r_l) 1 + 2 Ymu_l r_l),
        r_l' = w_l (e - r_l),  Ypi_l = pi y_l(Qp),  Ymu_l = mu y_l(Qs),  Ylam_l = Ypi_l - 2 Ymu_l,

    with L mechanisms (Robertsson, Blanch and Symes 1994, Geophysics 59, whose memory variables are stresses). y_l and
    the step are those of :class:`sweep_core.equations.attenuation.RelaxingEquation`. vp and vs are phase speeds at the
    reference frequency. Nodes, sources, averages and fluids are those of :class:`Elastic`; see
    docs/explanation/attenuation.md.

    Parameters
    ----------
    spatial_order : int
        Order of the differences, even, 2 to 64.
    device : str, optional
        Default device of the solvers of this equation.
    mechanisms : int
        Number L of standard linear solids. Over a decade of frequencies Qp and Qs are constant to 5 % with two of
        them, to 1 % with three.
    reference_frequency : float
        Frequency (Hz) at which vp and vs are phase speeds.
    band : (low, high), optional
        Frequencies (Hz) between which Qp and Qs are constant. By default a decade about the reference frequency; for
        one mechanism the reference frequency alone.

    Raises
    ------
    OptionError
        For another order or other mechanisms, or an argument that does not exist.
    """

    name: ClassVar[str] = "viscoelastic"
    lossless: ClassVar[type[StaggeredEquation]] = Elastic
    strains: ClassVar[dict[str, str]] = {f"e{ab}": f"s{ab}" for ab in ("xx", "yy", "zz", "xy", "xz", "yz")}
    parameters: ClassVar[tuple[Parameter, ...]] = (*Elastic.parameters, quality("Qp"), quality("Qs"))
    reciprocal: ClassVar[tuple[str, ...]] = Elastic.reciprocal

    def default_pml_type(self, ndim: int, free_surface: bool) -> str | tuple[str, ...]:
        return Elastic(self.spatial_order).default_pml_type(ndim, free_surface)

    def relaxing_moduli(self, node_averages: Any, *parameters: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        *elastic, qp, qs = self.unrelaxed_models(*parameters)
        mechanisms = zip(self.relaxation.fractions(qp), self.relaxation.fractions(qs), strict=True)
        shares = [self.change(node_averages, *fractions, *elastic) for fractions in mechanisms]
        return self.unrelaxed(node_averages, *elastic), shares

    def unrelaxed_models(self, vp: Any, vs: Any, *others: Any) -> tuple[Any, ...]:
        """Return the parameters with the speeds of the unrelaxed moduli, from those at the reference frequency."""
        stiffening = (self.relaxation.stiffening(self.reference_frequency, q) ** 0.5 for q in others[-2:])
        return *(speed * factor for speed, factor in zip((vp, vs), stiffening, strict=True)), *others

    def change(self, node_averages: Any, p: Any, s: Any, *elastic: Any) -> dict[str, Any]:
        """Return the part of each relaxing coefficient that fractions p of the P modulus and s of mu take away.

        It is the change of the coefficients to the first order in p and s, which takes no energy from the medium that
        its moduli do not have: coefficients are concave in them.
        """
        vp, vs, rho = elastic
        pi, mu = rho * vp**2, rho * vs**2
        (axes, planes), properties = axes_of(node_averages), (pi, mu, p, s)

        def plane_stress(pi: Any, mu: Any, p: Any, s: Any) -> Any:
            ratio = mu / pi
            return 4 * (1 - 2 * ratio) * s * mu + 4 * ratio**2 * p * pi

        def plane_stress_across(pi: Any, mu: Any, p: Any, s: Any) -> Any:
            ratio = mu / pi
            return (2 - 8 * ratio) * s * mu + 4 * ratio**2 * p * pi if "y" in axes else 0 * pi

        return {
            "pi": node_averages.surfaced(p * pi, plane_stress, *properties),
            "lam": node_averages.surfaced(p * pi - 2 * s * mu, plane_stress_across, *properties),
            **{f"mu_{plane}": relaxing_harmonic(node_averages, mu, s, plane) for plane in planes},
        }

    def speed(self, vp: Any, vs: Any, rho: Any, Qp: Any, Qs: Any) -> Any:
        return self.unrelaxed_models(vp, vs, Qp, Qs)[0]

    @property
    def rule(self) -> str:
        """The condition of :meth:`fits` in words."""
        return (
            "vp > sqrt(4/3) vs at all frequencies, and about Qp < 3/4 (vp / vs)^2 Qs, without which compression gains "
            "energy"
        )

    def fits(self, vp: Any, vs: Any, rho: Any, Qp: Any, Qs: Any) -> Any:
        vp, vs, *_ = self.unrelaxed_models(vp, vs, Qp, Qs)
        p, s = (self.relaxation.fractions(q) for q in (Qp, Qs))
        relaxed = 3 * vp**2 * (1 - sum(p)) > 4 * vs**2 * (1 - sum(s))
        return reduce(and_, (3 * vp**2 * a > 4 * vs**2 * b for a, b in zip(p, s, strict=True)), relaxed)

    def solid(self, *parameters: Any) -> Any:
        return parameters[1] > 0

    def derived(self, ndim: int) -> dict[str, dict[str, float]]:
        return Elastic(self.spatial_order).derived(ndim)


def relaxing_harmonic(node_averages: Any, shear: Any, fraction: Any, plane: str) -> Any:
    """Return the change of the harmonic mean of a shear modulus at a corner by its fractions, to the first order.

    `fraction` is the part of the modulus in each cell that relaxes. The change (Pa) is zero in a fluid and beside it.
    """
    weighted = fraction * compliance(node_averages.xp, shear)
    return node_averages.harmonic(shear, *plane) ** 2 * node_averages.mean(
        node_averages.mean(weighted, plane[0]), plane[1]
    )
