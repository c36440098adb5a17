"""Acoustic waves of variable density and constant Q, on a staggered grid."""

from typing import Any, ClassVar

import attrs

from .._util.peer_names import EQUATION
from .._util.validators import named
from .acoustic_variable_density import AcousticVariableDensity
from .attenuation import RelaxingEquation, quality
from .equation import Parameter
from .first_order import StaggeredEquation


@named(**EQUATION)
@attrs.frozen
class ViscoAcoustic(RelaxingEquation):
    r"""rho v_t = -grad p + f(t) delta(x - xs),  p_t = M (e + q(t) delta(x - xs)) - sum of Y_l r_l,  e = -div v.

    r_l' = w_l (e - r_l) for L mechanisms; :class:`sweep_core.equations.attenuation.RelaxingEquation` has their
    fractions Y_l and their step (docs/explanation/attenuation.md). The other terms are those of
    :class:`AcousticVariableDensity`, and equal it without loss. M is the unrelaxed modulus: vp is the phase speed at
    the reference frequency, and faster waves are faster.

    A source in p alone acts on the unrelaxed modulus. With ``source_type=["p", "r1", ..., "rL"]`` the wavelet is a
    rate of injected volume, to which the medium responds with its relaxing modulus.

    Parameters
    ----------
    spatial_order : int
        Order of the differences, even, 2 to 64.
    device : str, optional
        Default device of the solvers of this equation.
    mechanisms : int
        Number L of standard linear solids. Over a decade of frequencies Q is constant to 5 % with two of them, to 1 %
        with three.
    reference_frequency : float
        Frequency (Hz) at which vp is the phase speed.
    band : (low, high), optional
        Frequencies (Hz) between which Q is constant. By default a decade about the reference frequency; for one
        mechanism the reference frequency alone.

    Raises
    ------
    OptionError
        For another order or other mechanisms, or an argument that does not exist.
    """

    name: ClassVar[str] = "viscoacoustic"
    lossless: ClassVar[type[StaggeredEquation]] = AcousticVariableDensity
    strains: ClassVar[dict[str, str]] = {"e": "p"}
    parameters: ClassVar[tuple[Parameter, ...]] = (*AcousticVariableDensity.parameters, quality("Q"))
    reciprocal: ClassVar[tuple[str, ...]] = ("vx", "vy", "vz")

    def relaxing_moduli(self, node_averages: Any, *parameters: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        vp, rho, quality = parameters
        unrelaxed = self.unrelaxed(node_averages, self.speed(vp, rho, quality), rho)
        return unrelaxed, [{"kappa": unrelaxed["kappa"] * y} for y in self.relaxation.fractions(quality)]

    def speed(self, vp: Any, rho: Any, Q: Any) -> Any:
        return vp * self.relaxation.stiffening(self.reference_frequency, Q) ** 0.5
