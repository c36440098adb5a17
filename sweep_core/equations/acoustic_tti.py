"""Acoustic waves in a medium with a tilted axis of symmetry, on a staggered grid."""

from math import pi
from typing import Any, ClassVar

import attrs

from .._util.peer_names import EQUATION
from .._util.validators import check_flag, named
from .equation import Field, Parameter
from .first_order import Contribution, DerivativeSum, buoyancies
from .thomsen_fluid import ANISOTROPY, ThomsenFluid

NORMAL, PAIRS = ("xx", "yy", "zz"), ("xy", "xz", "yz")
SIX = (*NORMAL, *PAIRS)


def _ndims(pair: str) -> tuple[int, ...]:
    return (3,) if "y" in pair else (2, 3)


@named(**EQUATION)
@attrs.frozen
class AcousticTTI(ThomsenFluid):
    r"""rho v_t = -div P + f(t) delta(x - xs), with the tensor of pressure P = p A + r B,

    A = a (1 - n n^T) + n n^T,  B = 1 - n n^T,  a = sqrt(1 + 2 delta),
    p_t = kappa (-A : e + q(t) delta(x - xs)),  r_t = -2 kappa (epsilon - delta) B : e.

    The axis is n = (sin theta cos phi, sin theta sin phi, cos theta) in (x, y, z), with z downwards. The strain rate is
    e, and kappa = rho vp^2. The pressure along the axis is p, that across it a p + r.

    Eliminating r gives the equations of Duveneck and Bakker 2011, Geophysics 76: Hooke's law of a solid whose shear
    speed along the axis is zero. The energy (rho v^2 + p^2 / kappa + r^2 / (2 kappa (epsilon - delta))) / 2 is
    conserved for any variation of the axis. It is positive if epsilon >= delta, and other models are refused. r is zero
    if epsilon = delta. Without anisotropy the records are those of :class:`sweep_core.AcousticVariableDensity`.

    Shear strains lie between the cells along two axes. Their means along both axes enter p and r at the cells, and the
    transposes of these means give the shear stresses. Under a free surface p and r are zero and odd.

    Waves grow in both kinds of PML beside a tilted axis. The default is therefore a sponge, ``pml_type="sponge"``, in
    which all waves decay (docs/explanation/acoustic-anisotropic.md). It reflects more than a PML: make it wide.

    Parameters
    ----------
    spatial_order : int
        Order of the differences, even, 2 to 64.
    device : str, optional
        Default device of the solvers of this equation.
    has_density : bool
        True adds the parameter rho (kg/m3); the density is 1 otherwise.
    has_azimuth : bool
        True adds the parameter phi (rad), the azimuth of the axis, for 3-D only; phi is zero otherwise.

    Raises
    ------
    OptionError
        For another order, or an argument that does not exist.
    """

    has_azimuth: bool = attrs.field(default=False, kw_only=True)

    name: ClassVar[str] = "acoustic_tti"
    fields: ClassVar[tuple[Field, ...]] = (
        Field("p", "Pa"),
        Field("r", "Pa"),
        Field("vx", "m/s", ("x", "t"), parity=1),
        Field("vy", "m/s", ("y", "t"), parity=1, ndims=(3,)),
        Field("vz", "m/s", ("z", "t"), parity=1),
        *(Field(f"t{a}{a}", "Pa", ndims=_ndims(a), order=0) for a in "xyz"),
        *(Field(f"m{pair}", "Pa", ndims=_ndims(pair), order=0) for pair in PAIRS),
        *(Field(f"h{pair}", "Pa", (pair[0],), ndims=_ndims(pair), order=0) for pair in PAIRS),
        *(Field(f"t{pair}", "Pa", tuple(pair), ndims=_ndims(pair), order=0) for pair in PAIRS),
        *(Field(f"g{pair}", "1/s", (*pair, "t"), ndims=_ndims(pair), order=0) for pair in PAIRS),
        *(Field(f"k{pair}", "1/s", (pair[1], "t"), ndims=_ndims(pair), order=0) for pair in PAIRS),
        Field("ep", "1/s", ("t",), order=0),
        Field("er", "1/s", ("t",), order=0),
    )
    coefficient_names: ClassVar[tuple[str, ...]] = (
        *("kp", "kr", "bx", "by", "bz"),
        *(f"p{pair}" for pair in SIX),
        *(f"r{pair}" for pair in SIX),
    )
    coefficient_ranges: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("kp", "bx", "by", "bz", "pxx", "pyy", "pzz"), "positive"),
        **dict.fromkeys(("kr", "rxx", "ryy", "rzz"), "not negative"),
    }
    rates: ClassVar[tuple[DerivativeSum, ...]] = (
        DerivativeSum("p", (("", "p"),), operator="same"),
        DerivativeSum("r", (("", "r"),), operator="same"),
        *(DerivativeSum(f"h{pair}", ((pair[0], f"m{pair}"),), operator="mean") for pair in PAIRS),
        *(DerivativeSum(f"t{pair}", ((pair[1], f"h{pair}"),), operator="mean") for pair in PAIRS),
        DerivativeSum("ax", (("x", "txx"), ("y", "txy"), ("z", "txz")), -1),
        DerivativeSum("ay", (("x", "txy"), ("y", "tyy"), ("z", "tyz")), -1),
        DerivativeSum("az", (("x", "txz"), ("y", "tyz"), ("z", "tzz")), -1),
        *(DerivativeSum(f"e{a}{a}", ((a, f"v{a}"),)) for a in "xyz"),
        *(DerivativeSum(f"g{pair}", ((pair[1], f"v{pair[0]}"), (pair[0], f"v{pair[1]}"))) for pair in PAIRS),
        *(DerivativeSum(f"k{pair}", ((pair[0], f"g{pair}"),), operator="mean") for pair in PAIRS),
        *(DerivativeSum(f"e{pair}", ((pair[1], f"k{pair}"),), operator="mean") for pair in PAIRS),
        DerivativeSum("ep", (("", "ep"),), -1, operator="same"),
        DerivativeSum("er", (("", "er"),), -1, operator="same"),
    )
    moduli: ClassVar[tuple[Contribution, ...]] = (
        *(Contribution(f"t{a}{a}", field, f"{field}{a}{a}") for a in "xyz" for field in "pr"),
        *(Contribution(f"m{pair}", field, f"{field}{pair}") for pair in PAIRS for field in "pr"),
        *(Contribution(f"{kind}{pair}", f"{kind}{pair}") for kind in "htgk" for pair in PAIRS),
        *(Contribution(f"v{a}", f"a{a}", f"b{a}") for a in "xyz"),
        *(Contribution(f"e{field}", f"e{pair}", f"{field}{pair}") for field in "pr" for pair in SIX),
        Contribution("p", "ep", "kp"),
        Contribution("r", "er", "kr"),
    )
    source_coefficients: ClassVar[dict[str, str]] = {"p": "kp", "r": "kr", "vx": "bx", "vy": "by", "vz": "bz"}
    reciprocal: ClassVar[tuple[str, ...]] = ("p", "r", "vx", "vy", "vz")

    @has_azimuth.validator
    def _check_azimuth(self, attribute: Any, value: Any) -> None:
        check_flag(value, attribute.name)

    @property
    def ndims(self) -> tuple[int, ...]:  # type: ignore[override]
        """(3,) with an azimuth, else (2, 3)."""
        return (3,) if self.has_azimuth else (2, 3)

    @property
    def own_parameters(self) -> tuple[Parameter, ...]:
        angles = ("theta", "phi") if self.has_azimuth else ("theta",)
        return *ANISOTROPY, *(Parameter(a, "rad", low=-2 * pi, high=2 * pi, typical=(-1.0, 1.0)) for a in angles)

    def default_pml_type(self, ndim: int, free_surface: bool) -> str | tuple[str, ...]:
        # A PML amplifies waves whose phase and group move in opposite directions across it.
        return "sponge"

    def depends_on_contrasts(self, ndim: int) -> bool:
        """Return True: the bound of the time step takes the means of shear strains into account."""
        return True

    def coefficients(
        self, node_averages: Any, vp: Any, epsilon: Any, delta: Any, theta: Any, *others: Any
    ) -> tuple[Any, ...]:
        rho = self.density(vp, others)
        kappa, a = rho * vp**2, (1 + 2 * delta) ** 0.5
        n = self.axis(node_averages.xp, theta, *others)
        pairs = [pair for pair in SIX if set(pair) <= set(node_averages.axes)]
        products = {pair: n[pair[0]] * n[pair[1]] for pair in pairs}
        return (
            kappa,
            2 * kappa * (epsilon - delta),
            *buoyancies(node_averages, rho),
            *((a if pair in NORMAL else 0) + (1 - a) * products[pair] for pair in pairs),
            *((1 if pair in NORMAL else 0) - products[pair] for pair in pairs),
        )

    def axis(self, xp: Any, theta: Any, *others: Any) -> dict[str, Any]:
        """Return the components of the axis, by the name of the coordinate."""
        across = xp.sin(theta)
        if not self.has_azimuth:
            return {"x": across, "y": 0 * across, "z": xp.cos(theta)}
        return {"x": across * xp.cos(others[0]), "y": across * xp.sin(others[0]), "z": xp.cos(theta)}
