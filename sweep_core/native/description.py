"""Whether a compiled header computes what a class states; compiled code is refused where it does not."""

from collections.abc import Iterator
from typing import Any

from ..equation import Equation
from ..equations import BROUGHT
from ..grid import AXES
from ..staggered import StaggeredEquation
from .structs import SweepEquation

_HALVES = "zyxt"
"""Axes of the bits of a header's stagger, lowest first."""
WRITTEN = ("step", "source_coefficient")
"""Methods for which a header stands."""


def difference(equation: Equation, header: SweepEquation, ndim: int, own: bool) -> str:
    """The first thing in which they differ, in words; empty where there is none.

    `own` says that the header is one of SWEEP's, which stand for its own classes.
    """
    for method in WRITTEN:
        writer = _writer(type(equation), own)
        if getattr(type(equation), method) is not getattr(writer, method):
            return f"{type(equation).__name__} has a {method}() of its own, the header stands for {writer.__name__}'s"
    for subject, stated, compiled in _statements(equation, header, ndim):
        if stated != compiled:
            return f"{subject}: {stated} in the class, {compiled} in the header"
    return ""


def _writer(cls: type[Equation], own: bool) -> type[Equation]:
    """The class that a header of its name was written for: ours, or the one that states the name."""
    named = [c for c in cls.__mro__ if "name" in vars(c)]
    return next((c for c in (*(BROUGHT if own else ()), *named) if c.name == cls.name), cls)


def _statements(equation: Equation, header: SweepEquation, ndim: int) -> Iterator[tuple[str, Any, Any]]:
    """(subject, in the class, in the header) of all that both state."""
    fields = [name.value.decode() for name in header.field[: header.fields]]
    coefficients = [name.value.decode() for name in header.coefficient[: header.coefficients]]
    yield "fields", [f.name for f in equation.fields_in(ndim)], fields
    yield "coefficients", list(equation.coefficient_names_in(ndim)), coefficients
    yield "time levels", equation.levels, header.levels
    if not isinstance(equation, StaggeredEquation):
        yield "memories of an axis", len(equation.memories), header.memories
        yield "rates", 0, header.rates
        return
    for i, field in enumerate(equation.fields_in(ndim)):
        bits, source = header.stagger[i], header.source[i]
        halves = {axis for bit, axis in enumerate(_HALVES) if bits >> bit & 1}
        yield f"axes along which {field.name} is staggered", sorted(field.stagger), sorted(halves)
        yield f"parity of {field.name}", field.parity, header.parity[i]
        compiled = coefficients[source] if source >= 0 else None
        yield f"coefficient of sources into {field.name}", equation.source_coefficient(field.name), compiled
    rates = equation.rates_in(ndim)
    terms = [(rate, AXES[ndim][axis], fields[field]) for rate, axis, field in header.term[: header.terms]]
    yield "number of rates", len(rates), header.rates
    for i, rate in enumerate(rates):
        yield f"sign of rate {rate.name}", rate.sign, header.sign[i]
        yield f"terms of rate {rate.name}", sorted(rate.terms), sorted((a, f) for r, a, f in terms if r == i)
    names = [rate.name for rate in rates]
    moduli = [(fields[t], names[r], coefficients[c]) for t, r, c in header.modulus[: header.moduli]]
    yield "moduli", [(m.target, m.rate, m.coefficient) for m in equation.moduli_in(ndim)], moduli
