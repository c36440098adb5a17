"""The C++ header of an equation, written from the tables of its class; native/include/sweep/kernel compiles it."""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from ..equations.equation import Equation
from ..equations.terms import TableEquation
from ..errors import OptionError, UnsupportedError
from . import structs

SHIPPED = (
    "sweep_core.equations.acoustic:Acoustic",
    "sweep_core.equations.acoustic_variable_density:AcousticVariableDensity",
    "sweep_core.equations.elastic:Elastic",
)
"""The equations that the installed libraries hold. Others are compiled on first use."""
MOST_TERMS = 3
"""The most terms of one rate."""

HEADER = """// The tables of {name}, written from its class by sweep_core.native.codegen.
#include "sweep/equation.h"

namespace sweep {{
inline namespace SWEEP_VARIANT {{
namespace {name} {{

struct Physics {{
  static constexpr const char* name = "{name}";
  static constexpr const char* statement = "{statement}";
  static constexpr unsigned ndims = {ndims};
  static constexpr Field fields[] = {{
      {fields}}};
  static constexpr Coefficient coefficients[] = {{
      {coefficients}}};
  static constexpr int constants = {constants};
  static constexpr Rate rates[] = {{
      {rates}}};
  static constexpr Modulus moduli[] = {{
      {moduli}}};
}};

}}  // namespace {name}
}}  // namespace SWEEP_VARIANT
}}  // namespace sweep
"""


@lru_cache(maxsize=64)
def refusal(equation: Equation) -> str:
    """Return the reason why no header can state an equation; empty if one can."""
    name = equation.name
    if not isinstance(equation, TableEquation):
        return f"{name} states no tables; derive it from StaggeredEquation or SecondOrderEquation"
    if type(equation).step is not TableEquation.step:
        return f"{type(equation).__name__} has a step() of its own, and compiled code runs its tables"
    if not name.isidentifier() or not name.isascii() or len(name) >= structs.NAME_BYTES:
        return f"its name is {name!r}; expected an identifier of at most {structs.NAME_BYTES - 1} characters"
    most, many = structs.MAX_COEFFICIENTS, structs.MAX_TERMS
    for kind, entries, limit in (
        ("fields", equation.fields, structs.MAX_FIELDS),
        ("coefficients", equation.coefficient_names, most),
        ("constants", equation.constant_names, most),
        ("rates", equation.rates, most),
        ("terms", [term for rate in equation.rates for term in rate.terms], many),
        ("moduli", equation.moduli, many),
    ):
        if len(entries) > limit:
            return f"{name} has {len(entries)} {kind}; compiled code has room for {limit}"
    if not equation.coefficient_names:
        return f"{name} has no coefficients; compiled code needs one"
    for rate in equation.rates:
        if len(rate.terms) > MOST_TERMS:
            return f"rate {rate.name} of {name} has {len(rate.terms)} terms; compiled code adds up {MOST_TERMS}"
    return ""


@lru_cache(maxsize=64)
def _tables(equation: TableEquation) -> dict[str, str]:
    """Return the tables as C++ initialisers. Names become numbers in the order of the class."""
    fields = {field.name: i for i, field in enumerate(equation.fields)}
    coefficients = {name: str(i) for i, name in enumerate(equation.coefficient_names)}
    constants = {name: f"constant({i})" for i, name in enumerate(equation.constant_names)}
    factors: dict[str | None, str] = {None: "ONE"}
    factors.update(coefficients | constants)
    rates = {rate.name: i for i, rate in enumerate(equation.rates)}

    def ndims(numbers: Iterable[int]) -> str:
        return " | ".join(f"IN_{n}D" for n in sorted(numbers))

    def row(*entries: object) -> str:
        return "{" + ", ".join(map(str, entries)) + "}"

    def rows(entries: Iterable[str]) -> str:
        return ",\n      ".join(entries)

    def stagger(axes: Iterable[str]) -> str:
        return " | ".join(axis.upper() for axis in "xyzt" if axis in axes) or "NODE"

    def source(field: str) -> str:
        return factors[equation.source_coefficient(field)]

    return {
        "ndims": ndims(equation.ndims),
        "fields": rows(
            row(f'"{f.name}"', stagger(f.stagger), f.parity, source(f.name), ndims(f.ndims), f.order)
            for f in equation.fields
        ),
        "coefficients": rows(
            row(f'"{name}"', equation.coefficient_ranges.get(name, "any").upper().replace(" ", "_"))
            for name in coefficients
        ),
        "rates": rows(
            row(
                row(*(row(axis or "z", fields[field]) for axis, field in rate.terms)),
                rate.sign,
                rate.operator.upper(),
                str(rate.stretched).lower(),
            )
            for rate in equation.rates
        ),
        "moduli": rows(row(fields[m.target], rates[m.rate], factors[m.coefficient]) for m in equation.moduli),
        "constants": str(len(constants)),
    }


@lru_cache(maxsize=64)
def statement(equation: Equation) -> str:
    """Return the SHA-256 of the name and tables of an equation, by which a library is compared with a class.

    Raises
    ------
    UnsupportedError
        If no header can state the equation.
    """
    if reason := refusal(equation):
        raise UnsupportedError(reason)
    text = "\n".join([equation.name, *_tables(equation).values()])
    return hashlib.sha256(text.encode()).hexdigest()


def header(equation: Equation) -> str:
    """Return the C++ header of an equation.

    Raises
    ------
    UnsupportedError
        If no header can state the equation.
    """
    return HEADER.format(name=equation.name, statement=statement(equation), **_tables(equation))


def equation_of(name: str) -> Equation:
    """Return the equation of ``"package.module:Class"``, with its default options.

    Raises
    ------
    OptionError
        If there is no such class.
    """
    module, _, attribute = name.partition(":")
    try:
        equation = getattr(import_module(module), attribute)()
    except (ImportError, AttributeError, ValueError) as error:
        raise OptionError(f"equation is {name!r}; expected 'package.module:Class' ({error})") from error
    if not isinstance(equation, Equation):
        raise OptionError(f"equation is {name!r}, a {type(equation).__name__}; expected a class of equations")
    return equation


def shipped() -> list[Equation]:
    """Return the equations that the installed libraries hold."""
    return [equation_of(name) for name in SHIPPED]


def list_of_builds(variant: str, names: Iterable[str]) -> str:
    """Return the text of ``sweep_builds.h`` for a library of one variant; native/src/abi/builds.h explains it."""
    tables = " ".join(f"X({variant}, {name})" for name in names)
    return (
        f"#define SWEEP_EVERY_VARIANT(X) X({variant})\n"
        f"#define SWEEP_EVERY_TABLE(X) {tables}\n"
        f"#define SWEEP_TABLES_OF_{variant}(X) {tables}\n"
    )


def write_headers(folder: Path, equations: Iterable[Equation]) -> None:
    """Write ``folder/sweep/physics/<name>.h`` for each equation, and remove other headers.

    A header that is there already is not touched, so that CMake compiles nothing again.
    """
    physics = folder / "sweep/physics"
    physics.mkdir(parents=True, exist_ok=True)
    headers = {physics / f"{equation.name}.h": header(equation) for equation in equations}
    for path in set(physics.iterdir()) - headers.keys():
        path.unlink()
    for path, text in headers.items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
