"""P waves in a medium with a vertical axis of symmetry and zero shear speed along the axis."""

from typing import ClassVar

import attrs

from sweep_core import Field, Parameter
from sweep_core.equations.first_order import Contribution, DerivativeSum, StaggeredEquation


def larger(a, b):
    """Return the larger of two numbers or arrays, of any library."""
    return 0.5 * (a + b + abs(a - b))


@attrs.frozen
class VTIAcoustic(StaggeredEquation):
    """rho v_t = (d_x sh, d_y sh, d_z sv) and, with k = rho vp^2 (Duveneck et al. 2008, SEG expanded abstracts),

    sh_t = k ((1 + 2 epsilon) (d_x vx + d_y vy) + sqrt(1 + 2 delta) d_z vz),
    sv_t = k (sqrt(1 + 2 delta) (d_x vx + d_y vy) + d_z vz).

    On a free surface sv = 0 determines d_z vz, and sh_t = 2 k (epsilon - delta) (d_x vx + d_y vy).
    """

    name: ClassVar[str] = "vti_acoustic"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("vp", "m/s"),
        Parameter("rho", "kg/m3"),
        Parameter("epsilon", "1", low=-0.5, typical=(0.15, 0.25)),
        Parameter("delta", "1", low=-0.5, typical=(0.0, 0.1)),
    )
    fields: ClassVar[tuple[Field, ...]] = (
        Field("vx", "m/s", ("x", "t"), parity=0, mirrored=False),
        Field("vy", "m/s", ("y", "t"), parity=0, mirrored=False, ndims=(3,)),
        Field("vz", "m/s", ("z", "t"), parity=0, mirrored=False),
        Field("sh", "Pa", parity=0, mirrored=False, source_sign=-1),
        Field("sv", "Pa", mirrored=False, source_sign=-1),
    )
    coefficient_names: ClassVar[tuple[str, ...]] = ("bx", "by", "bz", "kh", "kn", "kv")
    coefficient_ranges: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("bx", "by", "bz", "kv"), "positive"),
        **dict.fromkeys(("kh", "kn"), "not negative"),
    }
    rates: ClassVar[tuple[DerivativeSum, ...]] = (
        DerivativeSum("ax", (("x", "sh"),)),
        DerivativeSum("ay", (("y", "sh"),)),
        DerivativeSum("az", (("z", "sv"),)),
        DerivativeSum("eh", (("x", "vx"), ("y", "vy"))),
        DerivativeSum("ez", (("z", "vz"),)),
    )
    moduli: ClassVar[tuple[Contribution, ...]] = (
        *(Contribution(f"v{a}", f"a{a}", f"b{a}") for a in "xyz"),
        Contribution("sh", "eh", "kh"),
        Contribution("sh", "ez", "kn"),
        Contribution("sv", "eh", "kn"),
        Contribution("sv", "ez", "kv"),
    )
    source_coefficients: ClassVar[dict[str, str]] = {"vx": "bx", "vy": "by", "vz": "bz"}
    reciprocal: ClassVar[tuple[str, ...]] = ("vx", "vy", "vz")

    def coefficients(self, node_averages, vp, rho, epsilon, delta):
        k = rho * vp**2
        kh, kn = k * (1 + 2 * epsilon), k * (1 + 2 * delta) ** 0.5
        return (
            *(1 / node_averages.mean(rho, axis) for axis in "xyz" if axis in node_averages.axes),
            node_averages.surfaced(kh, lambda k, e, d: 2 * k * (e - d), k, epsilon, delta),
            node_averages.surfaced(kn, lambda k: 0 * k, k),
            k,
        )

    def speed(self, vp, rho, epsilon, delta):
        return vp * (1 + 2 * larger(larger(epsilon, delta), 0)) ** 0.5

    @property
    def rule(self):
        return "epsilon >= delta, without which strain would set energy free"

    def fits(self, vp, rho, epsilon, delta):
        return epsilon >= delta

    def derived(self, ndim):
        return {"p": {"sh": -(ndim - 1) / ndim, "sv": -1 / ndim}}
