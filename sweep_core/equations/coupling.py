"""The rule of coupled equations of second order: the fields change each other by a symmetric matrix."""

from ..errors import OptionError
from .terms import Contribution, DerivativeSum, TableEquation

REASON = "because the adjoint of coupled fields is the step itself"


def _own_rates(equation: TableEquation) -> dict[str, str]:
    """Return the rate of each field, by the name of the field."""
    return {rate.terms[0][1]: rate.name for rate in equation.rates if rate.terms}


def check_coupled_rate(equation: TableEquation, rate: DerivativeSum) -> None:
    """Check that a rate of a coupled equation is the one rate of a field, and reads this field alone."""
    read = {name for _, name in rate.terms}
    shared = len(_own_rates(equation)) < len(equation.rates)
    if len(read) != 1 or rate.operator != "D2" or not rate.stretched or shared:
        raise OptionError(
            f"{equation.name}: rate {rate.name!r} is {rate}; expected one rate for each field, D2 of that field alone, "
            f"stretched by the PML, {REASON}"
        )


def check_symmetry(equation: TableEquation, modulus: Contribution, rate: DerivativeSum) -> None:
    """Check that the entry of the moduli across the diagonal has the same coefficient.

    :func:`check_coupled_rate` accepts the rate of the modulus.
    """
    source = rate.terms[0][1]
    entries = {(m.target, m.rate): m.coefficient for m in equation.moduli}
    back = entries.get((source, _own_rates(equation).get(modulus.target, "")))
    if back != modulus.coefficient or len(entries) < len(equation.moduli):
        raise OptionError(
            f"{equation.name}: {modulus} changes {modulus.target!r} by the rate of {source!r}, and {source!r} changes "
            f"by the rate of {modulus.target!r} with {back!r}; expected the same coefficient once, {REASON}"
        )
    diagonal = entries.get((source, rate.name))
    if diagonal is None or equation.source_coefficients.get(source) != diagonal:
        raise OptionError(
            f"{equation.name}: source_coefficients[{source!r}] is {equation.source_coefficients.get(source)!r}; "
            f"expected {diagonal!r}, the coefficient by which {source!r} changes by its own rate"
        )
