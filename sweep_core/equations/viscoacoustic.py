"""Acoustic waves of variable density and constant Q, on a staggered grid."""

from typing import Any, ClassVar

import attrs

from .._util.peer_names import EQUATION
from .._util.validators import named
from .acoustic_variable_density import AcousticVariableDensity
from .attenuation import RelaxingEquation, quality
from .equation import Field, Parameter
from .first_order import Contribution, DerivativeSum


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
    parameters: ClassVar[tuple[Parameter, ...]] = (*AcousticVariableDensity.parameters, quality("Q"))
    reciprocal: ClassVar[tuple[str, ...]] = ("vx", "vy", "vz")

    @property
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        """The fields of the lossless equation, and a memory variable of each mechanism."""
        waves = AcousticVariableDensity.fields
        return (*waves, *self.memory_fields({"": waves[0]}))

    @property
    def coefficient_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the results of :meth:`coefficients` in 3-D."""
        mechanisms = (f"{name}{number}" for name in ("keep", "loss") for number in self.numbers)
        return (*AcousticVariableDensity.coefficient_names, *mechanisms)

    @property
    def coefficient_ranges(self) -> dict[str, str]:  # type: ignore[override]
        """All coefficients are positive."""
        return dict.fromkeys(self.coefficient_names, "positive")

    @property
    def rates(self) -> tuple[DerivativeSum, ...]:  # type: ignore[override]
        """The rates of the lossless equation, and minus each memory variable."""
        memories = (DerivativeSum(f"m{n}", (("", f"r{n}"),), -1, operator="same") for n in self.numbers)
        return (*AcousticVariableDensity.rates, *memories)

    @property
    def moduli(self) -> tuple[Contribution, ...]:  # type: ignore[override]
        """The contributions of the lossless equation, and those of each mechanism."""
        return (
            *AcousticVariableDensity.moduli,
            *(Contribution("p", f"m{n}", f"keep{n}") for n in self.numbers),
            *(Contribution(f"r{n}", rate, f"loss{n}") for n in self.numbers for rate in ("e", f"m{n}")),
        )

    @property
    def source_coefficients(self) -> dict[str, str]:  # type: ignore[override]
        """The coefficient of a source, by field."""
        return {**AcousticVariableDensity.source_coefficients, **{f"r{n}": f"loss{n}" for n in self.numbers}}

    def coefficients(self, node_averages: Any, vp: Any, rho: Any, Q: Any) -> tuple[Any, ...]:
        unrelaxed = rho * self.speed(vp, rho, Q) ** 2
        relaxing = [unrelaxed * y for y in self.relaxation.fractions(Q)]
        kappa, keeps = self.stepped(node_averages.dt, unrelaxed, relaxing)
        buoyancies = (1 / node_averages.mean(rho, axis) for axis in "xyz" if axis in node_averages.axes)
        return kappa, *buoyancies, *keeps, *self.losses(node_averages.dt)

    def speed(self, vp: Any, rho: Any, Q: Any) -> Any:
        return vp * self.relaxation.stiffening(self.reference_frequency, Q) ** 0.5
