"""Acoustic waves in a medium with a vertical axis of symmetry, on a staggered grid."""

from typing import Any, ClassVar

import attrs

from .._util.peer_names import EQUATION
from .._util.validators import named
from .equation import Field
from .first_order import Contribution, DerivativeSum, buoyancies
from .thomsen_fluid import ThomsenFluid


@named(**EQUATION)
@attrs.frozen
class AcousticVTI(ThomsenFluid):
    r"""rho v_t = -(d_x ph, d_y ph, d_z p) + f(t) delta(x - xs), with two pressures, horizontal ph and vertical p:

    ph_t = kappa (-(1 + 2 epsilon) div_h v - a d_z v_z + a q(t) delta(x - xs)),
    p_t = kappa (-a div_h v - d_z v_z + q(t) delta(x - xs)),

    with kappa = rho vp^2, a = sqrt(1 + 2 delta), div_h v = d_x v_x + d_y v_y. This is Hooke's law of a solid whose
    shear speed along the axis is zero: Duveneck et al. 2008, SEG Expanded Abstracts 27. vp is the speed along the
    axis; epsilon and delta are those of Thomsen 1986, Geophysics 51.

    The energy rho v^2 / 2 + (p, ph) C^-1 (p, ph) / 2 is conserved. It is positive if epsilon >= delta, and other models
    are refused. Without anisotropy the records are those of :class:`sweep_core.AcousticVariableDensity`. Under a free
    surface p and ph are both odd (docs/explanation/acoustic-anisotropic.md).

    A source of volume, q, acts on both pressures: ``source_type=["p", "ph"]``, the default, with one wavelet.

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

    name: ClassVar[str] = "acoustic_vti"
    fields: ClassVar[tuple[Field, ...]] = (
        Field("p", "Pa"),
        Field("ph", "Pa"),
        Field("vx", "m/s", ("x", "t")),
        Field("vy", "m/s", ("y", "t"), ndims=(3,)),
        Field("vz", "m/s", ("z", "t"), parity=1),
    )
    coefficient_names: ClassVar[tuple[str, ...]] = ("kv", "kn", "kh", "bx", "by", "bz")
    coefficient_ranges: ClassVar[dict[str, str]] = dict.fromkeys(coefficient_names, "positive")
    rates: ClassVar[tuple[DerivativeSum, ...]] = (
        DerivativeSum("ax", (("x", "ph"),), -1),
        DerivativeSum("ay", (("y", "ph"),), -1),
        DerivativeSum("az", (("z", "p"),), -1),
        DerivativeSum("eh", (("x", "vx"), ("y", "vy")), -1),
        DerivativeSum("ez", (("z", "vz"),), -1),
    )
    moduli: ClassVar[tuple[Contribution, ...]] = (
        *(Contribution(f"v{a}", f"a{a}", f"b{a}") for a in "xyz"),
        Contribution("p", "eh", "kn"),
        Contribution("p", "ez", "kv"),
        Contribution("ph", "eh", "kh"),
        Contribution("ph", "ez", "kn"),
    )
    source_coefficients: ClassVar[dict[str, str]] = {"p": "kv", "ph": "kn", "vx": "bx", "vy": "by", "vz": "bz"}
    reciprocal: ClassVar[tuple[str, ...]] = ("vx", "vy", "vz")
    default_fields: ClassVar[dict[str, tuple[str, ...]]] = {"source_type": ("p", "ph")}

    def coefficients(self, node_averages: Any, vp: Any, epsilon: Any, delta: Any, *density: Any) -> tuple[Any, ...]:
        rho = self.density(vp, density)
        kappa = rho * vp**2
        return (
            kappa,
            kappa * (1 + 2 * delta) ** 0.5,
            kappa * (1 + 2 * epsilon),
            *buoyancies(node_averages, rho),
        )
