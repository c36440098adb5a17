"""Wave equations stated as tables: what is differentiated, and what that changes; compiled headers state the same."""

from functools import lru_cache
from typing import ClassVar

import attrs

from .equation import Equation
from .errors import OptionError
from .grid import AXES


@attrs.frozen
class Rate:
    """What a step differentiates: `sign` times the sum over `terms`, (axis, field), of derivatives along axes.

    They are first derivatives where the equation is of first order in time, and second ones where it is of second.
    """

    name: str
    terms: tuple[tuple[str, str], ...]
    sign: int = 1


@attrs.frozen
class Modulus:
    """One entry of a constitutive law: field `target` grows by `coefficient` times `rate`."""

    target: str
    rate: str
    coefficient: str


def _check_tables(equation: type["TableEquation"]) -> None:
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
        equation.check_modulus(modulus, rates[modulus.rate], fields)
    for field, coefficient in equation.source_coefficients.items():
        known("source_coefficients", "field", field, fields)
        known("source_coefficients", "coefficient", coefficient, equation.coefficient_names)


@lru_cache(maxsize=64)
def _tables_in(equation: type["TableEquation"], ndim: int) -> tuple[tuple[Rate, ...], tuple[Modulus, ...]]:
    """(rates, moduli) without what has fields or axes that so many dimensions lack; every step asks for them."""
    _check_tables(equation)
    there = [f.name for f in equation.fields if ndim in f.ndims]
    terms = [tuple((a, f) for a, f in r.terms if f in there and a in AXES[ndim]) for r in equation.rates]
    kept = [attrs.evolve(r, terms=t) for r, t in zip(equation.rates, terms, strict=True)]
    used = {m.rate for m in equation.moduli if m.target in there}
    rates = tuple(r for r in kept if r.terms and r.name in used)
    names = {r.name for r in rates}
    return rates, tuple(m for m in equation.moduli if m.target in there and m.rate in names)


class TableEquation(Equation):
    """Base of equations that state `rates`, `moduli` and `source_coefficients`, from which their step follows.

    They state them in all dimensions at once: what has fields that a grid does not have is left out. What a derivative
    is and how fields grow is said by :class:`sweep_core.staggered.StaggeredEquation` (first order in time, on a
    staggered grid) and :class:`sweep_core.second_order.SecondOrderEquation` (second order, on a regular grid).
    """

    tables_stated: ClassVar[tuple[str, ...]] = ("rates", "moduli", "source_coefficients")
    rates: ClassVar[tuple[Rate, ...]]
    moduli: ClassVar[tuple[Modulus, ...]]
    source_coefficients: ClassVar[dict[str, str]]
    memories: ClassVar[tuple[str, ...]] = ()
    ndims: ClassVar[tuple[int, ...]] = (2, 3)

    @classmethod
    def check_modulus(cls, modulus: Modulus, terms: tuple[tuple[str, str], ...], stagger: dict[str, set]) -> None:
        """OptionError where the terms of its rate do not lie where a modulus adds them; `stagger` is that of fields."""
        raise NotImplementedError

    def rates_in(self, ndim: int) -> tuple[Rate, ...]:
        """The rates that there are in so many dimensions."""
        return _tables_in(type(self), ndim)[0]

    def moduli_in(self, ndim: int) -> tuple[Modulus, ...]:
        """The moduli that there are in so many dimensions."""
        return _tables_in(type(self), ndim)[1]

    def coefficient_names_in(self, ndim):
        used = {m.coefficient for m in self.moduli_in(ndim)}
        return tuple(name for name in self.coefficient_names if name in used)

    def source_coefficient(self, field):
        return self.source_coefficients.get(field)
