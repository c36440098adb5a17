"""Acoustic waves and the waves that a reflectivity scatters from them once, on a staggered grid."""

from math import inf
from typing import Any, ClassVar

import attrs

from .._util.peer_names import EQUATION
from .._util.validators import named
from .acoustic_variable_density import AcousticVariableDensity
from .equation import Field, Parameter
from .first_order import Contribution, DerivativeSum, buoyancies
from .optional_density import OptionalDensity

REFLECTIVITY = Parameter("mp", "1", low=-inf, typical=(-0.1, 0.1))


@named(**EQUATION)
@attrs.frozen
class AcousticBorn(OptionalDensity):
    r"""The Born approximation: p in an earth vp, and the scattered wave sp, linear in the reflectivity mp.

    rho v_t = -grad p,     p_t = kappa (-div v + q(t) delta(x - xs)),        kappa = rho vp^2,
    rho sv_t = -grad sp,   sp_t = -kappa div sv + mp p_t.

    With rho = 1, (1 / vp^2) sp_tt - lap sp = mp (1 / vp^2) p_tt: the linearised scattering of an earth whose kappa is
    larger by the share mp. sp is what ``solver.born`` of :class:`sweep_core.AcousticVariableDensity` gives for
    dvp = mp vp / 2. The gradient in mp is the image of least-squares migration (Dai and Schuster 2013, Geophysics 78);
    vp has a gradient too.

    A source acts on p and, where mp is not zero, on sp: ``source_type=["p", "sp"]``, the default, with one wavelet.
    With ``source_type=["p"]``, sp is driven by mp vp^2 lap p instead. The difference is in the cells of the source. The
    default of ``receiver_type`` is ``["sp"]``.

    Parameters
    ----------
    spatial_order : int
        Order of the differences, even, 2 to 64.
    device : str, optional
        Default device of the solvers of this equation.
    has_density : bool
        True adds the parameter rho (kg/m3); the density is 1 otherwise.

    Raises
    ------
    OptionError
        For another order, or an argument that does not exist.
    """

    name: ClassVar[str] = "acoustic_born"
    fields: ClassVar[tuple[Field, ...]] = tuple(
        attrs.evolve(field, name=f"{s}{field.name}") for s in ("", "s") for field in AcousticVariableDensity.fields
    )
    coefficient_names: ClassVar[tuple[str, ...]] = ("kappa", "scatter", "bx", "by", "bz")
    coefficient_ranges: ClassVar[dict[str, str]] = dict.fromkeys(("kappa", "bx", "by", "bz"), "positive")
    rates: ClassVar[tuple[DerivativeSum, ...]] = (
        *(DerivativeSum(f"{s}a{a}", ((a, f"{s}p"),), -1) for s in ("", "s") for a in "xyz"),
        *(DerivativeSum(f"{s}e", tuple((a, f"{s}v{a}") for a in "xyz"), -1) for s in ("", "s")),
    )
    moduli: ClassVar[tuple[Contribution, ...]] = (
        *(Contribution(f"{s}v{a}", f"{s}a{a}", f"b{a}") for s in ("", "s") for a in "xyz"),
        Contribution("p", "e", "kappa"),
        Contribution("sp", "se", "kappa"),
        Contribution("sp", "e", "scatter"),
    )
    source_coefficients: ClassVar[dict[str, str]] = {
        **{"p": "kappa", "sp": "scatter"},
        **{f"{s}v{a}": f"b{a}" for s in ("", "s") for a in "xyz"},
    }
    default_fields: ClassVar[dict[str, tuple[str, ...]]] = {"source_type": ("p", "sp"), "receiver_type": ("sp",)}

    @property
    def own_parameters(self) -> tuple[Parameter, ...]:
        return (REFLECTIVITY,)

    def coefficients(self, node_averages: Any, vp: Any, mp: Any, *density: Any) -> tuple[Any, ...]:
        rho = self.density(vp, density)
        kappa = rho * vp**2
        return kappa, mp * kappa, *buoyancies(node_averages, rho)

    def speed(self, vp: Any, mp: Any, *density: Any) -> Any:
        return vp
