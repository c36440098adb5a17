"""The comparison of a compiled header with the class of its equation; compiled code is refused if they differ."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..equations import BROUGHT
from ..equations.equation import Equation
from ..equations.terms import OPERATORS, TableEquation
from ..numerics.grid import AXES
from .structs import SweepEquation

_HALVES = "zyxt"
"""Axes of the bits of a header's stagger, lowest first."""


def difference(equation: Equation, header: SweepEquation, ndim: int, own: bool) -> str:
    """Describe the first difference of a class and its header; empty if there is none.

    `own` says that the header is one of SWEEP's, which stand for its own classes.
    """
    writer = _writer(type(equation), own)
    if type(equation).step is not writer.step:
        return f"{type(equation).__name__} has a step() of its own, the header stands for that of {writer.__name__}"
    for field in equation.fields_in(ndim):
        stated, meant = (cls.source_coefficient(equation, field.name) for cls in (type(equation), writer))
        if stated != meant:
            return f"sources into {field.name} are multiplied by {stated}, those of {writer.__name__} by {meant}"
    for subject, stated, compiled in _statements(equation, header, ndim):
        if stated != compiled:
            return f"{subject}: {stated} in the class, {compiled} in the header"
    return ""


def _writer(cls: type[Equation], own: bool) -> type[Equation]:
    """Return the class for which a header of its name was written: ours, or the one that states the name."""
    named = [c for c in cls.__mro__ if "name" in vars(c)]
    return next((c for c in (*(BROUGHT if own else ()), *named) if c.name == cls.name), cls)


def _statements(equation: Equation, header: SweepEquation, ndim: int) -> Iterator[tuple[str, Any, Any]]:
    """Return (subject, in the class, in the header) of everything that both state."""
    fields = [name.value.decode() for name in header.field[: header.fields]]
    coefficients = [name.value.decode() for name in header.coefficient[: header.coefficients]]
    yield "fields", [f.name for f in equation.fields_in(ndim)], fields
    yield "coefficients", list(equation.coefficient_names_in(ndim)), coefficients
    yield "time levels", equation.levels, header.levels
    if not isinstance(equation, TableEquation):
        yield "rates", "none, but a step", [header.rates]
        return
    for i, field in enumerate(equation.fields_in(ndim)):
        bits, source = header.stagger[i], header.source[i]
        halves = {axis for bit, axis in enumerate(_HALVES) if bits >> bit & 1}
        yield f"axes along which {field.name} is staggered", sorted(field.stagger), sorted(halves)
        yield f"parity of {field.name}", field.parity, header.parity[i]
        compiled = coefficients[source] if source >= 0 else None
        yield f"coefficient of sources into {field.name}", equation.source_coefficient(field.name), compiled
        yield f"order in time of {field.name}", field.order, header.order[i]
    # In a header a rate has a number instead of a name, and neither need have the order of the other.
    terms = [(rate, (AXES[ndim][axis], fields[field])) for rate, axis, field in header.term[: header.terms]]
    compiled = [
        _rate(header.sign[i], OPERATORS[header.of[i]], header.stretched[i], [term for r, term in terms if r == i])
        for i in range(header.rates)
    ]
    stated = {r.name: _rate(r.sign, r.operator, r.stretched, r.terms) for r in equation.rates_in(ndim)}
    yield "rates", *_apart(stated.values(), compiled)
    yield (
        "moduli",
        *_apart(
            (f"{m.target} += {m.coefficient or 1} * ({stated[m.rate]})" for m in equation.moduli_in(ndim)),
            (
                f"{fields[t]} += {coefficients[c] if c >= 0 else 1} * ({compiled[r]})"
                for t, r, c in header.modulus[: header.moduli]
            ),
        ),
    )


def _rate(sign: int, of: str, stretched: bool, terms) -> str:
    """Describe a rate, with the same words for the same terms."""
    words = {"D": "d{f}/d{a}", "D2": "d2{f}/d{a}2", "same": "{f}", "change": "change of {f}"}.get(of, of + "({f}, {a})")
    bare = "" if stretched or of in ("mean", "same", "change") else " without PML"
    total = " + ".join(sorted(words.format(f=field, a=axis) for axis, field in terms)) + bare
    return f"-({total})" if sign < 0 else total


def _apart(stated, compiled) -> tuple[list[str], list[str]]:
    """Return the elements of each of two collections that the other lacks."""
    stated, compiled = Counter(stated), Counter(compiled)
    return sorted((stated - compiled).elements()), sorted((compiled - stated).elements())
