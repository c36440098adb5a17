"""First-order systems on a staggered grid."""

from typing import Any, ClassVar

from ..errors import OptionError
from ..numerics.stencils import largest_staggered_speed
from .equation import Field
from .terms import BETWEEN, Contribution, DerivativeSum, TableEquation

__all__ = ["Contribution", "DerivativeSum", "StaggeredEquation"]

TAKEN = {"D": "derivative", "D1": "central derivative", "mean": "mean", "same": "value"}


def buoyancies(node_averages: Any, rho: Any) -> list[Any]:
    """Return the inverse of the mean density at the velocities along each axis."""
    return [1 / node_averages.mean(rho, axis) for axis in "xyz" if axis in node_averages.axes]


class StaggeredEquation(TableEquation):
    """Base of first-order systems, stepped by leapfrog on a staggered grid.

    Fields with a stagger in time are known half a step later than the others, and are computed first. For each rate e,

        e = sign * sum over its terms of S D f,      S D f = D f + psi,      psi <- b psi + a D f.

    D is the staggered difference along an axis, or another operator of `DerivativeSum`, scaled by dt / dh. S is the
    stretch of that axis' CPML (Komatitsch and Martin 2007, eqs. 22 to 27), whose profiles are taken at the node of e.
    Then for each field v,

        v <- q v + sum over its moduli of coefficient * e + source,

    with q the damping of multi-axial layers, 1 elsewhere, and without v if its order is 0. A staggered difference or
    mean lies half a cell further along its axis. An increment lies half a step later than its fields. Both must lie
    at the place and time of the field that they change, or the first use raises an OptionError. The value of a field
    itself, before the step, may also be added to fields of its own time.
    """

    levels: ClassVar[int] = 1
    pml_type: ClassVar[str] = "cpmls"
    pml_power: ClassVar[int] = 4

    def check_modulus(self, modulus: Contribution, rate: DerivativeSum, fields: dict[str, Field]) -> None:
        if rate.operator not in TAKEN:
            raise OptionError(
                f"{self.name}: the operator of {rate.name} is {rate.operator}; expected one of {[*TAKEN]}, those of "
                "equations of first order in time"
            )
        target = fields[modulus.target]
        there = set(target.stagger)
        for axis, name in rate.terms:
            here = set(fields[name].stagger) ^ ({axis} if rate.operator in BETWEEN else set())
            if target.order and not (rate.operator == "same" and here == there):
                here ^= {"t"}
            if here != there:
                raise OptionError(
                    f"{self.name}: {modulus} adds the {TAKEN[rate.operator]} of {name} along {axis or 'no axis'}, "
                    f"staggered along {sorted(here)}; expected {sorted(there)}, the stagger of {modulus.target}"
                )

    def source_weight(self, field: str, dt: float, cell_volume: float) -> float:
        return dt / cell_volume

    def largest_speed(self, spacing: tuple[float, ...], dt: float) -> float:
        return largest_staggered_speed(self.spatial_order, spacing, dt)

    def depends_on_contrasts(self, ndim: int) -> bool:
        """Return True for differences alone; with other operators :meth:`speed` must bound dt in all models."""
        return all(rate.operator in ("D", "same") for rate in self.rates_in(ndim))
