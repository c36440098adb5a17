"""Elastic waves in a solid with a tilted axis of symmetry, or a fluid."""

from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import attrs

from .._util.peer_names import EQUATION
from .._util.validators import named
from .elastic_vti import ElasticVTI
from .equation import Field, Parameter
from .first_order import Contribution, DerivativeSum, buoyancies
from .velocity_stress import VELOCITIES, VelocityStress, axes_of, compliance

NUMBER = {"xx": 1, "yy": 2, "zz": 3, "yz": 4, "xz": 5, "xy": 6}
"""The number of each strain in the name of a stiffness (Voigt): c15 multiplies exz in sxx."""
NORMAL, SHEAR = ("xx", "yy", "zz"), ("xy", "xz", "yz")


def _name(prefix: str, first: str, second: str) -> str:
    return "{}{}{}".format(prefix, *sorted((NUMBER[first], NUMBER[second])))


def _local(name: str, stagger: str, odd: bool) -> Field:
    """Return a field that exists within a step; an odd one vanishes on a free surface."""
    ndims = (3,) if "y" in name else (2, 3)
    return Field(name, "1", (*stagger, "t"), parity=-1 if odd else 0, mirrored=False, ndims=ndims, order=0)


def _coupling(ab: str) -> tuple[Field, ...]:
    """Return the traction t of a plane, its means m and c (at cells), what adds to it, q, and the mean n of q."""
    a, b, odd = *ab, "z" in ab
    return (
        _local(f"t{ab}", ab, odd),
        _local(f"m{ab}", b, odd),
        _local(f"c{ab}", "", odd),
        _local(f"q{ab}", "", odd),
        _local(f"n{ab}", a, odd),
    )


def _same(field: str) -> DerivativeSum:
    return DerivativeSum(f"same_{field}", (("", field),), operator="same")


def _means(ab: str) -> tuple[DerivativeSum, ...]:
    pairs = (("t", ab[0]), ("m", ab[1]), ("q", ab[0]), ("n", ab[1]))
    return tuple(DerivativeSum(f"mean_{x}{ab}", ((axis, f"{x}{ab}"),), operator="mean") for x, axis in pairs)


@named(**EQUATION)
@attrs.frozen
class ElasticTTI(VelocityStress):
    r"""Elastic waves in a transversely isotropic solid whose axis of symmetry is tilted.

    The stiffnesses about the axis are those of :class:`sweep_core.ElasticVTI`. The axis is (sin theta cos phi,
    sin theta sin phi, cos theta) in (x, y, z): theta is its angle from the vertical, phi its azimuth, in radians. Two
    dimensions have the axis in their plane, and neither gamma nor phi has an effect.

    The grid is that of :class:`sweep_core.Elastic`, where shear stresses lie between normal stresses. The stiffnesses
    that couple them, such as c15, act on means M of shear tractions at cells, and their transposes on means of strains:

        t_xz = mu_xz exz,    c_xz = M t_xz,    q_xz = r15 exx + r35 ezz,    r15 = c15 / c55,
        sxx <- sxx + c11 exx + c13 ezz + r15 c_xz,    szz <- szz + c13 exx + c33 ezz + r35 c_xz,
        sxz <- sxz + t_xz + mu_xz M q_xz,

    with mu_xz the harmonic mean of c55. The traction is continuous across a border and the strain is not. With means
    of order 2 the elastic energy is not negative in any medium (docs/explanation/elastic-anisotropic.md).

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

    name: ClassVar[str] = "elastic_tti"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        *ElasticVTI.parameters,
        *(Parameter(angle, "rad", low=-10.0, high=10.0, typical=(-1.0, 1.0)) for angle in ("theta", "phi")),
    )
    fields: ClassVar[tuple[Field, ...]] = (
        *VelocityStress.fields,
        *(_local(f"g{aa}", "", False) for aa in NORMAL),
        *(field for ab in SHEAR for field in _coupling(ab)),
        *(_local(f"d{aa}", "", aa == "zz") for aa in NORMAL),
    )
    reciprocal: ClassVar[tuple[str, ...]] = ()
    coefficient_names: ClassVar[tuple[str, ...]] = (
        *("bx", "by", "bz"),
        *(_name("c", *pair) for pair in combinations_with_replacement(NORMAL, 2)),
        *(_name("r", aa, ab) for aa in NORMAL for ab in SHEAR),
        *("o45", "o46", "o56"),
        *(f"mu_{ab}" for ab in SHEAR),
    )
    constant_names: ClassVar[tuple[str, ...]] = ("zero",)
    coefficient_ranges: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("bx", "by", "bz"), "positive"),
        **dict.fromkeys((f"mu_{ab}" for ab in SHEAR), "not negative"),
    }
    rates: ClassVar[tuple[DerivativeSum, ...]] = (
        *VelocityStress.rates,
        *(_same(f"{x}{aa}") for x in "gd" for aa in NORMAL),
        *(_same(f"{x}{ab}") for x in "tc" for ab in SHEAR),
        *(mean for ab in SHEAR for mean in _means(ab)),
    )
    moduli: ClassVar[tuple[Contribution, ...]] = (
        *VELOCITIES,
        *(Contribution(f"g{aa}", f"e{aa}") for aa in NORMAL),
        *(Contribution(f"t{ab}", f"e{ab}", f"mu_{ab}") for ab in SHEAR),
        *(Contribution(f"m{ab}", f"mean_t{ab}") for ab in SHEAR),
        *(Contribution(f"c{ab}", f"mean_m{ab}") for ab in SHEAR),
        *(Contribution(f"d{aa}", f"same_g{bb}", _name("c", aa, bb)) for aa in NORMAL for bb in NORMAL),
        *(Contribution(f"d{aa}", f"same_c{ab}", _name("r", aa, ab)) for aa in NORMAL for ab in SHEAR),
        *(Contribution(f"q{ab}", f"same_g{aa}", _name("r", aa, ab)) for ab in SHEAR for aa in NORMAL),
        *(Contribution(f"q{ab}", f"same_c{cd}", _name("o", ab, cd)) for ab in SHEAR for cd in SHEAR if ab != cd),
        # With it q of a plane is computed after c, as in space, and so together with d, which shares its rates.
        Contribution("qxz", "same_cxz", "zero"),
        *(Contribution(f"n{ab}", f"mean_q{ab}") for ab in SHEAR),
        *(Contribution(f"s{aa}", f"same_d{aa}") for aa in NORMAL),
        *(Contribution(f"s{ab}", f"same_t{ab}") for ab in SHEAR),
        *(Contribution(f"s{ab}", f"mean_n{ab}", f"mu_{ab}") for ab in SHEAR),
    )

    def default_pml_type(self, ndim: int, free_surface: bool) -> str | tuple[str, ...]:
        # Along an axis of the grid, phase and group velocities of a tilted solid may differ in sign: such waves grow in
        # a plain layer, and in some earths in a multi-axial one.
        return "sponge"

    def depends_on_contrasts(self, ndim: int) -> bool:
        return True

    def stiffnesses(self, xp: Any, ndim: int, *parameters: Any) -> dict[tuple[str, str], Any]:
        """Return the stiffness (Pa) of each pair of strains of a grid: c_ijkl = lam d_ij d_kl + ... of the axis n."""
        *in_plane, gamma, theta, phi = parameters
        # In two dimensions c66 cancels, here to the last bit, so that the gradient of gamma is zero.
        c = ElasticVTI().stiffnesses(*in_plane, gamma if ndim == 3 else 0.0)
        across = xp.sin(theta)
        n = {"x": across, "z": xp.cos(theta)}
        if ndim == 3:
            n = {"x": across * xp.cos(phi), "y": across * xp.sin(phi), "z": n["z"]}
        lam, mu, mixed, turn = c["c12"], c["c66"], c["c13"] - c["c12"], c["c44"] - c["c66"]
        bend = c["c11"] + c["c33"] - 2 * c["c13"] - 4 * c["c44"]

        def entry(i: str, j: str, k: str, m: str) -> Any:
            return (
                lam * ((i == j) * (k == m))
                + mu * ((i == k) * (j == m) + (i == m) * (j == k))
                + mixed * ((i == j) * n[k] * n[m] + (k == m) * n[i] * n[j])
                + turn * ((i == k) * n[j] * n[m] + (i == m) * n[j] * n[k])
                + turn * ((j == k) * n[i] * n[m] + (j == m) * n[i] * n[k])
                + bend * (n[i] * n[j] * n[k] * n[m])
            )

        strains = [ab for ab in NUMBER if set(ab) <= n.keys()]
        result = {(ab, cd): entry(*ab, *cd) for ab, cd in combinations_with_replacement(strains, 2)}
        return result | {(cd, ab): value for (ab, cd), value in result.items()}

    def constants(self, dt: float) -> tuple[float, ...]:
        return (0.0,)

    def coefficients(self, node_averages: Any, *parameters: Any) -> tuple[Any, ...]:
        xp, (axes, planes) = node_averages.xp, axes_of(node_averages)
        ndim, rho = len(axes), parameters[2]
        c = self.stiffnesses(xp, ndim, *parameters)

        def top(pair: tuple[str, str]) -> Callable[..., Any]:
            return lambda *rows: _without_tractions(xp, self.stiffnesses(xp, ndim, *rows))[pair]

        inside = {pair: node_averages.surfaced(value, top(pair), *parameters) for pair, value in c.items()}
        shear = {
            ab: (inside if ab == "xy" else c)[ab, ab] for ab in planes
        }  # of sxy alone there are nodes on the surface
        yields = {ab: compliance(xp, c[ab, ab]) for ab in planes}
        values = {f"b{axis}": b for axis, b in zip(axes, buoyancies(node_averages, rho), strict=True)}
        for (ab, cd), value in inside.items():
            if ab in NORMAL:
                values |= {_name("r", ab, cd): value * yields[cd]} if cd in planes else {_name("c", ab, cd): value}
            elif cd in planes and ab != cd:
                values[_name("o", ab, cd)] = value * yields[ab] * yields[cd]
        values |= {f"mu_{ab}": node_averages.harmonic(shear[ab], *ab) for ab in planes}
        return tuple(values[name] for name in self.coefficient_names_in(ndim))

    def speed(self, *parameters: Any) -> Any:
        return ElasticVTI().speed(*parameters[:6])

    @property
    def rule(self) -> str:
        return ElasticVTI().rule

    def fits(self, *parameters: Any) -> Any:
        return ElasticVTI().fits(*parameters[:6])

    def solid(self, *parameters: Any) -> Any:
        return parameters[1] > 0


def _without_tractions(xp: Any, c: dict[tuple[str, str], Any]) -> dict[tuple[str, str], Any]:
    """Return the stiffnesses of strains along a free surface, on which szz, syz and sxz vanish; zero for the others."""
    strains, gone = [ab for ab in NUMBER if (ab, ab) in c], [ab for ab in ("zz", "yz", "xz") if (ab, ab) in c]
    for out in gone:
        inverse = compliance(xp, c[out, out])
        c = {(ab, cd): c[ab, cd] - c[ab, out] * (c[out, cd] * inverse) for ab in strains for cd in strains}
    return {pair: 0 * value if set(pair) & set(gone) else value for pair, value in c.items()}
