"""Waves with elliptical anisotropy about a tilted axis: the equation, and the hook that registers it."""

from typing import ClassVar

import attrs
import numpy as np

from sweep_core import EquationRecord, Field, Parameter, impl
from sweep_core.equations.first_order import Contribution, DerivativeSum, StaggeredEquation


@attrs.frozen
class Tilted(StaggeredEquation):
    """u_tt = vp^2 ((n . grad)^2 + (1 + 2 epsilon) (lap - (n . grad)^2)) u + f, n = (sin theta, cos theta) in (x, z).

    Waves along n travel with vp, waves across n with vp sqrt(1 + 2 epsilon). The operator in (x, z) is a sum of
    c_xx D_x D_x u, c_zz D_z D_z u and c_xz D_z D_x u. The inner derivatives are fields that exist within the step: gx
    and gz between nodes and, for the mixed derivative, gm, the mean of gx at nodes. The field w is the change of u in
    a step:

    w <- w + sum of c D g + dt^2 f,      u <- u + w.
    """

    name: ClassVar[str] = "tilted"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("vp", "m/s"),
        Parameter("epsilon", "1", low=0.0, typical=(0.1, 0.3), closed=True),
        Parameter("theta", "1", low=-np.pi, high=np.pi, typical=(-1.0, 1.0)),
    )
    fields: ClassVar[tuple[Field, ...]] = (
        Field("u", "Pa"),
        Field("w", "Pa", ("t",)),
        Field("gx", "Pa", ("x",), order=0),
        Field("gy", "Pa", ("y",), order=0, ndims=(3,)),
        Field("gz", "Pa", ("z",), parity=1, order=0),
        Field("gm", "Pa", order=0),
    )
    coefficient_names: ClassVar[tuple[str, ...]] = ("cxx", "cyy", "czz", "cxz")
    coefficient_ranges: ClassVar[dict[str, str]] = dict.fromkeys(("cxx", "cyy", "czz"), "positive")
    rates: ClassVar[tuple[DerivativeSum, ...]] = (
        *(DerivativeSum(f"d{a}", ((a, "u"),)) for a in "xyz"),
        DerivativeSum("mid", (("x", "gx"),), operator="mean"),
        *(DerivativeSum(f"e{a}", ((a, f"g{a}"),)) for a in "xyz"),
        DerivativeSum("exz", (("z", "gm"),), operator="D1"),
        DerivativeSum("change", (("", "w"),), operator="same"),
    )
    moduli: ClassVar[tuple[Contribution, ...]] = (
        *(Contribution(f"g{a}", f"d{a}") for a in "xyz"),
        Contribution("gm", "mid"),
        *(Contribution("w", f"e{a}", f"c{a}{a}") for a in "xyz"),
        Contribution("w", "exz", "cxz"),
        Contribution("u", "change"),
    )
    source_coefficients: ClassVar[dict[str, str]] = {}

    def coefficients(self, node_averages, vp, epsilon, theta):
        along, across = vp**2, vp**2 * (1 + 2 * epsilon)
        sin, cos = node_averages.xp.sin(theta), node_averages.xp.cos(theta)
        transverse = (across,) if "y" in node_averages.axes else ()
        return (
            along * sin**2 + across * cos**2,
            *transverse,
            along * cos**2 + across * sin**2,
            2 * (along - across) * sin * cos,
        )

    def source_weight(self, field, dt, cell_volume):
        return dt**2 / cell_volume

    def speed(self, vp, epsilon, theta):
        return vp * (1 + 2 * epsilon) ** 0.5


@impl
def sweep_equations():
    return [EquationRecord("tilted", "sweep_tilted:Tilted")]
