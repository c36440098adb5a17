"""First-order systems on a staggered grid."""

from typing import ClassVar

import numpy as np

from .equation import Field
from .errors import OptionError
from .grid import AXES
from .stencil import largest_staggered_speed
from .surface import closure, rows_near_surface, rows_of
from .tables import Modulus, Rate, TableEquation

__all__ = ["Modulus", "Rate", "StaggeredEquation"]


class StaggeredEquation(TableEquation):
    """Base of first-order systems, stepped by leapfrog on a staggered grid.

    Fields with a stagger in time are known half a step later than the others, and are made first. For each rate e,

    e = sign * sum over its terms of S D f,      S D f = D f + psi,      psi <- b psi + a D f

    with D the staggered difference along an axis, scaled by dt / dh, and S the stretch of that axis' CPML (Komatitsch
    and Martin 2007, eqs. 22 to 27, with profiles at the node that e is at); and then for each field v,

    v <- v + sum over its moduli of coefficient * e + source.

    A subclass states `rates`, `moduli` and `source_coefficients`, in all dimensions at once: what has fields that a
    grid does not have is left out. A field is differentiated along each axis at most once, and a derivative lies half a
    cell further along that axis and half a step later than its field: where what it changes must lie, or the first use
    raises an OptionError.
    """

    levels: ClassVar[int] = 1
    pml_type: ClassVar[str] = "cpmls"
    pml_power: ClassVar[int] = 4

    @classmethod
    def check_modulus(cls, modulus, terms, stagger):
        for axis, field in terms:
            here, there = stagger[field] ^ {axis, "t"}, stagger[modulus.target]
            if here != there:
                raise OptionError(
                    f"{cls.name}: {modulus} adds the derivative of {field} along {axis}, which is staggered along "
                    f"{sorted(here)}, to {modulus.target}, along {sorted(there)}"
                )

    def state_names(self, ndim):
        psi = [f"psi_{field}_{axis}" for rate in self.rates_in(ndim) for axis, field in rate.terms]
        return (*(f.name for f in self.fields_in(ndim)), *psi)

    def phases(self, ndim: int) -> tuple[tuple[Field, ...], ...]:
        """Fields in the order in which a step makes them: those at half time steps first."""
        fields = self.fields_in(ndim)
        return tuple(tuple(f for f in fields if ("t" in f.stagger) == half) for half in (True, False))

    def step(self, ops, state, coefficients, inject):
        value = dict(zip(self.coefficient_names_in(ops.ndim), coefficients, strict=True))
        moduli, new = self.moduli_in(ops.ndim), dict(state)
        for phase in self.phases(ops.ndim):
            used = {m.rate for m in moduli for f in phase if m.target == f.name}
            rates = {r.name: self._rate(ops, new, r) for r in self.rates_in(ops.ndim) if r.name in used}
            for field in phase:
                change = sum(value[m.coefficient] * rates[m.rate] for m in moduli if m.target == field.name)
                new[field.name] = inject(field.name, new[field.name] + ops.off_surface(field, change))
        return new

    @staticmethod
    def _rate(ops, state, rate):
        total = 0
        for name, field in rate.terms:
            axis = AXES[ops.ndim].index(name)
            d, (decay, gain) = ops.staggered(state[field], axis, field)
            psi = decay * state[f"psi_{field}_{name}"] + gain * d
            state[f"psi_{field}_{name}"] = psi
            total = total + d + psi
        return rate.sign * total

    def source_weight(self, field, dt, cell_volume):
        return dt / cell_volume

    def heights(self, problem, field):
        if not problem.free_surface or field.mirrored:
            return None
        heights, near = np.ones(problem.padded_shape[0]), closure(self.spatial_order)
        first = near.half if "z" in field.stagger else near.whole
        heights[: len(first)] = first
        return heights

    def largest_speed(self, spacing, dt):
        return largest_staggered_speed(self.spatial_order, spacing, dt)

    @property
    def rows_near_surface(self):
        return rows_near_surface(self.spatial_order)

    def tables(self, problem):
        axes = [problem.staggered_tables(axis) for axis in range(problem.grid.ndim)]
        parts = [np.concatenate([part.ravel() for part in table]) for table in axes]
        if problem.free_surface:
            parts += [rows.ravel() for f in problem.fields for rows in self.closure(problem, f)]
        return np.concatenate(parts)

    def closure(self, problem, field: Field) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives along z near a free surface, and minus their transposes: each `near` rows of near + order / 2.

        Beyond those both are as everywhere.
        """
        order, scale = self.spatial_order, problem.dt / problem.grid.spacing[0]
        rows, half, near = rows_of(order, field), order // 2, rows_near_surface(order)
        columns = near + half
        weights, forward = problem.staggered_tables(0).weights, "z" not in field.stagger
        whole = np.zeros((columns + half, columns + half))
        for i in range(half, len(whole)):
            for k, w in enumerate(weights, start=1):
                for node, weight in ((i + k - (not forward), w), (i - k + forward, -w)):
                    if node < len(whole):
                        whole[i, node] = weight
        whole[: len(rows)] = 0
        whole[: len(rows), : rows.shape[1]] = rows * scale
        return whole[:near, :columns], -whole.T[:near, :columns]
