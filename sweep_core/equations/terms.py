"""Wave equations stated as tables of derivatives and of the fields that they change, as compiled headers state them."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar

import attrs

from ..errors import OptionError
from ..numerics.grid import AXES
from .equation import Equation, Field

OPERATORS = ("D", "D1", "D2", "mean", "same", "change")
"""Operators on a field, numbered as `sweep_operator` of the C ABI."""
BETWEEN = ("D", "mean")
"""Operators whose result lies half a cell further along their axis."""


@attrs.frozen
class DerivativeSum:
    """`sign` times the sum over `terms`, (axis, field), of an operator on a field along an axis.

    The operators are:

    - ``"D"``: the staggered difference, half a cell further
    - ``"D1"``, ``"D2"``: the central first and second difference
    - ``"mean"``: the mean of the nodes around half a cell further
    - ``"same"``, with the axis ``""``: the field itself
    - ``"change"``, with the axis ``""``, of second order in time: twice the change of the field, 2 (u[k] - u[k-1])

    Each difference is scaled by dt / dh and, unless `stretched` is False, stretched by the PML of its axis.
    """

    name: str
    terms: tuple[tuple[str, str], ...]
    sign: int = 1
    operator: str = "D"
    stretched: bool = True

    @property
    def memories(self) -> tuple[str, ...]:
        """The memory variables of the PML for each term."""
        return {"D": ("psi",), "D1": ("psi",), "D2": ("psi", "zeta")}.get(self.operator, ()) if self.stretched else ()


@attrs.frozen
class Contribution:
    """One entry of a constitutive law: field `target` grows by `coefficient` times `rate`.

    The coefficient is one of `coefficient_names` or `constant_names`, or one where it is None.
    """

    target: str
    rate: str
    coefficient: str | None = None


def _check_tables(equation: "TableEquation") -> None:
    """Check that tables name existing fields, and that rates lie where they are added.

    A grid leaves out rates whose fields it lacks, so a misspelt name would be left out silently.
    """
    for name, kind in (("rates", DerivativeSum), ("moduli", Contribution)):
        if not isinstance(getattr(equation, name), tuple | list):
            raise OptionError(
                f"{equation.name}: {name} is {getattr(equation, name)!r}; expected a tuple of {kind.__name__}"
            )
        wrong = [entry for entry in getattr(equation, name) if not isinstance(entry, kind)]
        if wrong:
            raise OptionError(f"{equation.name}: {name} holds {wrong[0]!r}; expected {kind.__name__}(...)")
    for rate in equation.rates:
        pairs = rate.terms if isinstance(rate.terms, tuple | list) else [None]
        if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
            raise OptionError(
                f"{equation.name}: terms of {rate.name} is {rate.terms!r}; expected a tuple of (axis, field)"
            )
    if not isinstance(equation.source_coefficients, dict):
        raise OptionError(
            f"{equation.name}: source_coefficients is {equation.source_coefficients!r}; expected a dict: a name of a "
            "coefficient for each field"
        )
    stated: dict[str, list] = {
        "rate": [rate.name for rate in equation.rates],
        "term (operator, axis, field)": [(rate.operator, *term) for rate in equation.rates for term in rate.terms],
    }
    for kind_name, names in stated.items():
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            raise OptionError(f"{equation.name}: rates state the {kind_name} {repeated[0]!r} twice; expected each once")
    fields = {f.name: f for f in equation.fields}
    rates = {r.name: r for r in equation.rates}
    factors = (*equation.coefficient_names, *equation.constant_names)

    def check_known(where, kind, name, names):
        if name not in names:
            raise OptionError(f"{equation.name}: the {kind} in {where} is {name!r}; expected one of {list(names)}")

    for f in equation.fields:
        for axis in f.stagger:
            check_known(f, "axis", axis, tuple("xyzt"))
        check_known(f, "order", f.order, (0, equation.levels))
    for rate in equation.rates:
        check_known(rate, "operator", rate.operator, OPERATORS)
        if rate.sign not in (-1, 1):
            raise OptionError(f"{equation.name}: the sign of {rate} is {rate.sign}; expected 1 or -1")
        for axis, field in rate.terms:
            check_known(rate, "axis", axis, ("",) if rate.operator in ("same", "change") else tuple("xyz"))
            check_known(rate, "field", field, fields)
    for modulus in equation.moduli:
        check_known(modulus, "field", modulus.target, fields)
        check_known(modulus, "rate", modulus.rate, rates)
        if modulus.coefficient is not None:
            check_known(modulus, "coefficient", modulus.coefficient, factors)
        equation.check_modulus(modulus, rates[modulus.rate], fields)
    for field, coefficient in equation.source_coefficients.items():
        check_known("source_coefficients", "field", field, fields)
        check_known("source_coefficients", "coefficient", coefficient, factors)


@lru_cache(maxsize=64)
def _tables_in(equation: "TableEquation", ndim: int) -> tuple[tuple[DerivativeSum, ...], tuple[Contribution, ...]]:
    """Return (rates, moduli) without terms whose fields or axes these dimensions lack; every step uses them."""
    _check_tables(equation)
    there = [f.name for f in equation.fields if ndim in f.ndims]
    terms = [tuple((a, f) for a, f in r.terms if f in there and a in ("", *AXES[ndim])) for r in equation.rates]
    present = [attrs.evolve(r, terms=t) for r, t in zip(equation.rates, terms, strict=True)]
    used = {m.rate for m in equation.moduli if m.target in there}
    rates = tuple(r for r in present if r.terms and r.name in used)
    names = {r.name for r in rates}
    return rates, tuple(m for m in equation.moduli if m.target in there and m.rate in names)


class TableEquation(Equation):
    """Base of equations that state `rates`, `moduli` and `source_coefficients`, from which their step follows.

    The tables state all dimensions at once: a grid leaves out terms of fields that it lacks. Tables that depend on an
    option of the equation, an attrs attribute, are properties. A step computes fields
    stage by stage (:meth:`stages`). :class:`sweep_core.equations.first_order.StaggeredEquation` adds the rules of a
    first-order system on a staggered grid, and :class:`sweep_core.equations.second_order.SecondOrderEquation` those of
    a second-order equation on a regular grid.
    """

    tables_stated: ClassVar[tuple[str, ...]] = ("rates", "moduli", "source_coefficients")
    rates: ClassVar[tuple[DerivativeSum, ...]]
    moduli: ClassVar[tuple[Contribution, ...]]
    source_coefficients: ClassVar[dict[str, str]]
    memories: ClassVar[tuple[str, ...]] = ()
    ndims: ClassVar[tuple[int, ...]] = (2, 3)

    def check_modulus(self, modulus: Contribution, rate: DerivativeSum, fields: dict[str, Field]) -> None:
        """Raise an OptionError if a rate does not lie where a modulus adds it."""
        raise NotImplementedError

    def rates_in(self, ndim: int) -> tuple[DerivativeSum, ...]:
        """Return the rates of these dimensions."""
        return _tables_in(self, ndim)[0]

    def moduli_in(self, ndim: int) -> tuple[Contribution, ...]:
        """Return the moduli of these dimensions."""
        return _tables_in(self, ndim)[1]

    def coefficient_names_in(self, ndim: int) -> tuple[str, ...]:
        used = {m.coefficient for m in self.moduli_in(ndim)}
        return tuple(name for name in self.coefficient_names if name in used)

    def source_coefficient(self, field: str) -> str | None:
        return self.source_coefficients.get(field)

    def state_names(self, ndim: int) -> tuple[str, ...]:
        fields = [f.name for f in self.waves_in(ndim)]
        old = [f"{name}_old" for name in fields if self.levels == 2]
        return (*fields, *old, *(name for r in self.rates_in(ndim) for t in r.terms for name in _memories(r, t)))

    def stages(self, ndim: int) -> tuple[tuple[Field, ...], ...]:
        """Return the fields in the order in which a step computes them: at half time steps, then at whole ones.

        Before either come the fields of order 0, which exist within the step only, in the order of their dependences.
        """
        fields, stages = self.fields_in(ndim), []
        for half in (True, False):
            waiting = [f for f in fields if not f.order and ("t" in f.stagger) != half]
            while waiting:
                names = {f.name for f in waiting}
                ready = [f for f in waiting if not names & self._read(f.name, ndim)]
                if not ready:
                    raise OptionError(f"{self.name}: fields {sorted(names)} of order 0 depend on each other")
                stages.append(tuple(ready))
                waiting = [f for f in waiting if f not in ready]
            stages.append(tuple(f for f in fields if f.order and ("t" in f.stagger) == half))
        for rate in self.rates_in(ndim):
            grown = {m.target for m in self.moduli_in(ndim) if m.rate == rate.name}
            if not any(grown <= {f.name for f in stage} for stage in stages):
                raise OptionError(
                    f"{self.name}: rate {rate.name!r} changes {sorted(grown)}; expected fields of one stage, or the "
                    "rate's PML would be stepped at each stage. Add the rate to one field of order 0, and add that "
                    "field to the others by a rate with operator 'same'"
                )
        return tuple(stage for stage in stages if stage)

    def _read(self, target, ndim):
        rates = {m.rate for m in self.moduli_in(ndim) if m.target == target}
        return {field for r in self.rates_in(ndim) if r.name in rates for _, field in r.terms}

    def step(
        self, ops: Any, state: dict[str, Any], coefficients: tuple[Any, ...], inject: Callable[[str, Any], Any]
    ) -> dict[str, Any]:
        value: dict[str | None, Any] = dict(zip(self.coefficient_names_in(ops.ndim), coefficients, strict=True))
        value |= ops.constants
        moduli, new, drives_rates = self.moduli_in(ops.ndim), dict(state), self.drives_rates
        for stage in self.stages(ops.ndim):
            used = {m.rate for m in moduli for f in stage if m.target == f.name}
            rates = {r.name: self._rate(ops, new, r) for r in self.rates_in(ops.ndim) if r.name in used}
            if drives_rates:
                fields = {f.name: f for f in stage}
                for rate in self.rates_in(ops.ndim):
                    field = fields[rate.terms[0][1]]
                    rates[rate.name] = inject(field.name, ops.off_surface(field, rates[rate.name]))
            for field in stage:
                name = field.name
                parts = (
                    rates[m.rate] if m.coefficient is None else value[m.coefficient] * rates[m.rate]
                    for m in moduli
                    if m.target == name
                )
                change = sum(parts) if drives_rates else ops.off_surface(field, sum(parts))
                if field.order == 0:
                    new[name] = change
                elif field.order == 1:
                    new[name] = inject(name, ops.damped(field, new[name]) + change)
                else:
                    old, new[f"{name}_old"] = new[f"{name}_old"], new[name]
                    advanced = 2 * new[name] - old + change
                    new[name] = advanced if drives_rates else inject(name, advanced)
        return {name: new[name] for name in state}

    def _rate(self, ops, state, rate):
        """Return a rate; its memory variables go into the state."""
        total = 0
        for term in rate.terms:
            name, field = term
            if rate.operator == "same":
                total = total + state[field]
            elif rate.operator == "change":
                total = total + 2 * (state[field] - state[f"{field}_old"])
            else:
                axis = AXES[ops.ndim].index(name)
                d = ops.apply(rate.operator, state[field], axis, field)
                total = total + (_stretched(ops, state, rate, term, d) if rate.memories else d)
        return rate.sign * total


def _memories(rate: DerivativeSum, term: tuple[str, str]) -> list[str]:
    axis, field = term
    return [f"{memory}_{rate.operator}_{field}_{axis}" for memory in rate.memories]


def _stretched(ops, state, rate, term, d):
    """Return S d: d + psi, psi <- b psi + a d; for D2, symmetric, t + zeta, zeta <- b zeta + a t, t = d - R^T psi."""
    axis_name, field = term
    axis = AXES[ops.ndim].index(axis_name)
    decay, gain = ops.profile(rate.operator, axis, field)
    psi, *zeta = _memories(rate, term)
    if not zeta:
        state[psi] = decay * state[psi] + gain * d
        return d + state[psi]
    decay_between, gain_between = ops.between[axis]
    state[psi] = decay_between * state[psi] + gain_between * ops.root(state[field], axis)
    t = d + ops.root(state[psi], axis, transposed=True)
    state[zeta[0]] = decay * state[zeta[0]] + gain * t
    return t + state[zeta[0]]
