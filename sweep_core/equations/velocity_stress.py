"""The grid that elastic equations share: velocities and stresses, their nodes, and the derivatives between them."""

from collections.abc import Callable
from typing import Any, ClassVar

import attrs

from .equation import Field
from .first_order import Contribution, DerivativeSum, StaggeredEquation

VELOCITIES = tuple(Contribution(f"v{a}", f"a{a}", f"b{a}") for a in "xyz")
"""The accelerations of all velocities."""


def normal_moduli(name: Callable[[str, str], str]) -> tuple[Contribution, ...]:
    """Return the contributions of normal strains to normal stresses.

    ``name(a, b)`` is the coefficient of strain bb in stress aa.
    """
    return tuple(Contribution(f"s{a}{a}", f"e{b}{b}", name(a, b)) for a in "xyz" for b in "xyz")


def shear_moduli(**names: str) -> tuple[Contribution, ...]:
    """Return the contributions of shear strains to shear stresses; `names` are coefficients by plane (``xy``)."""
    return tuple(Contribution(f"s{plane}", f"e{plane}", name) for plane, name in names.items())


@attrs.frozen
class VelocityStress(StaggeredEquation):
    """rho v_t = div sigma + f(t) delta(x - xs),  sigma_t = C:e - m(t) delta(x - xs), on a staggered grid.

    Fields, derivatives and sources of :class:`sweep_core.Elastic`; a subclass states the constitutive law. The rates
    are accelerations without density, ``ax`` to ``az``, and strains, ``exx`` to ``eyz``; ``exz`` is twice the tensor's.
    """

    fields: ClassVar[tuple[Field, ...]] = (
        Field("vx", "m/s", ("x", "t"), parity=0, mirrored=False),
        Field("vy", "m/s", ("y", "t"), parity=0, mirrored=False, ndims=(3,)),
        Field("vz", "m/s", ("z", "t"), parity=0, mirrored=False),
        Field("sxx", "Pa", parity=0, mirrored=False, source_sign=-1),
        Field("syy", "Pa", parity=0, mirrored=False, ndims=(3,), source_sign=-1),
        Field("szz", "Pa", mirrored=False, source_sign=-1),
        Field("sxy", "Pa", ("x", "y"), parity=0, mirrored=False, ndims=(3,), source_sign=-1),
        Field("sxz", "Pa", ("x", "z"), mirrored=False, source_sign=-1),
        Field("syz", "Pa", ("y", "z"), mirrored=False, ndims=(3,), source_sign=-1),
    )
    rates: ClassVar[tuple[DerivativeSum, ...]] = (
        DerivativeSum("ax", (("x", "sxx"), ("y", "sxy"), ("z", "sxz"))),
        DerivativeSum("ay", (("x", "sxy"), ("y", "syy"), ("z", "syz"))),
        DerivativeSum("az", (("x", "sxz"), ("y", "syz"), ("z", "szz"))),
        DerivativeSum("exx", (("x", "vx"),)),
        DerivativeSum("eyy", (("y", "vy"),)),
        DerivativeSum("ezz", (("z", "vz"),)),
        DerivativeSum("exy", (("y", "vx"), ("x", "vy"))),
        DerivativeSum("exz", (("z", "vx"), ("x", "vz"))),
        DerivativeSum("eyz", (("z", "vy"), ("y", "vz"))),
    )
    source_coefficients: ClassVar[dict[str, str]] = {"vx": "bx", "vy": "by", "vz": "bz"}
    reciprocal: ClassVar[tuple[str, ...]] = ("vx", "vy", "vz")

    def default_pml_type(self, ndim: int, free_surface: bool) -> str | tuple[str, ...]:
        # Along a free surface layers guide waves backward, which grow in a plain layer beside them.
        return ("cpmls", *("mpmls",) * (ndim - 1)) if free_surface else "cpmls"

    def derived(self, ndim: int) -> dict[str, dict[str, float]]:
        normal = ("sxx", "szz") if ndim == 2 else ("sxx", "syy", "szz")
        return {"p": dict.fromkeys(normal, -1 / ndim)}


def axes_of(node_averages: Any) -> tuple[list[str], list[str]]:
    """Return the axes of a grid and the planes between them, in the order of the coefficients."""
    axes = [axis for axis in "xyz" if axis in node_averages.axes]
    return axes, [a + b for i, a in enumerate(axes) for b in axes[i + 1 :]]


def compliance(xp: Any, x: Any) -> Any:
    """Return 1 / x, and zero with a derivative of zero where x is not positive: in a fluid."""
    return xp.where(x > 0, 1 / xp.where(x > 0, x, 1.0), 0.0)
