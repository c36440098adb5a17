"""First-order systems on a staggered grid, stated as tables: which derivatives there are, and what they change."""

from functools import lru_cache
from typing import ClassVar

import attrs
import numpy as np

from .equation import Equation, Field
from .errors import OptionError
from .grid import AXES
from .stencil import largest_staggered_speed
from .surface import closure, rows_near_surface, rows_of


@attrs.frozen
class Rate:
    """What a step differentiates: `sign` times the sum over `terms`, (axis, field), of derivatives along axes."""

    name: str
    terms: tuple[tuple[str, str], ...]
    sign: int = 1


@attrs.frozen
class Modulus:
    """One entry of a constitutive law: field `target` grows by `coefficient` times `rate`."""

    target: str
    rate: str
    coefficient: str


def _check_tables(equation: type["StaggeredEquation"]) -> None:
    """That tables name what there is, and that derivatives lie where they are added: what has no partner is left out
    of grids that lack it, so a misspelt name would be, too.
    """
    for name, kind in (("rates", Rate), ("moduli", Modulus)):
        wrong = [entry for entry in getattr(equation, name) if not isinstance(entry, kind)]
        if wrong:
            raise OptionError(f"{equation.name}: {name} holds {wrong[0]!r}; expected {kind.__name__}(...)")
    stated: dict[str, list] = {
        "rate": [rate.name for rate in equation.rates],
        "derivative (axis, field)": [term for rate in equation.rates for term in rate.terms],
    }
    for what, names in stated.items():
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise OptionError(f"{equation.name}: rates state the {what} {twice[0]!r} twice; expected each once")
    fields = {f.name: set(f.stagger) for f in equation.fields}
    rates = {r.name: r.terms for r in equation.rates}

    def known(where, kind, name, names):
        if name not in names:
            raise OptionError(f"{equation.name}: {where} names the {kind} {name!r}; there are {list(names)}")

    for f in equation.fields:
        for axis in f.stagger:
            known(f, "axis", axis, tuple("xyzt"))
    for rate in equation.rates:
        if rate.sign not in (-1, 1):
            raise OptionError(f"{equation.name}: the sign of {rate} is {rate.sign}; expected 1 or -1")
        for axis, field in rate.terms:
            known(rate, "axis", axis, tuple("xyz"))
            known(rate, "field", field, fields)
    for modulus in equation.moduli:
        known(modulus, "field", modulus.target, fields)
        known(modulus, "rate", modulus.rate, rates)
        known(modulus, "coefficient", modulus.coefficient, equation.coefficient_names)
        for axis, field in rates[modulus.rate]:
            here, there = fields[field] ^ {axis, "t"}, fields[modulus.target]
            if here != there:
                raise OptionError(
                    f"{equation.name}: {modulus} adds the derivative of {field} along {axis}, which is staggered along "
                    f"{sorted(here)}, to {modulus.target}, along {sorted(there)}"
                )
    for field, coefficient in equation.source_coefficients.items():
        known("source_coefficients", "field", field, fields)
        known("source_coefficients", "coefficient", coefficient, equation.coefficient_names)


@lru_cache(maxsize=64)
def _tables_in(equation: type["StaggeredEquation"], ndim: int) -> tuple[tuple[Rate, ...], tuple[Modulus, ...]]:
    """(rates, moduli) without what has fields or axes that so many dimensions lack; every step asks for them."""
    _check_tables(equation)
    there = [f.name for f in equation.fields if ndim in f.ndims]
    terms = [tuple((a, f) for a, f in r.terms if f in there and a in AXES[ndim]) for r in equation.rates]
    kept = [attrs.evolve(r, terms=t) for r, t in zip(equation.rates, terms, strict=True)]
    used = {m.rate for m in equation.moduli if m.target in there}
    rates = tuple(r for r in kept if r.terms and r.name in used)
    names = {r.name for r in rates}
    return rates, tuple(m for m in equation.moduli if m.target in there and m.rate in names)


class StaggeredEquation(Equation):
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

    tables_stated: ClassVar[tuple[str, ...]] = ("rates", "moduli", "source_coefficients")
    rates: ClassVar[tuple[Rate, ...]]
    moduli: ClassVar[tuple[Modulus, ...]]
    source_coefficients: ClassVar[dict[str, str]]
    levels: ClassVar[int] = 1
    memories: ClassVar[tuple[str, ...]] = ()
    pml_type: ClassVar[str] = "cpmls"
    pml_power: ClassVar[int] = 4
    ndims: ClassVar[tuple[int, ...]] = (2, 3)

    def rates_in(self, ndim: int) -> tuple[Rate, ...]:
        """The rates that there are in so many dimensions."""
        return _tables_in(type(self), ndim)[0]

    def moduli_in(self, ndim: int) -> tuple[Modulus, ...]:
        """The moduli that there are in so many dimensions."""
        return _tables_in(type(self), ndim)[1]

    def coefficient_names_in(self, ndim):
        used = {m.coefficient for m in self.moduli_in(ndim)}
        return tuple(name for name in self.coefficient_names if name in used)

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

    def source_coefficient(self, field):
        return self.source_coefficients.get(field)

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
