"""The rule of coupled equations of second order: the fields change each other by a symmetric matrix."""

from ..errors import OptionError
from .equation import Field
from .terms import Contribution, DerivativeSum, TableEquation

REASON = "because the adjoint of coupled fields is the step itself"


def check_coupling(
    equation: TableEquation, modulus: Contribution, rate: DerivativeSum, fields: dict[str, Field]
) -> None:
    """Check one entry of the moduli of a coupled equation.

    Parameters
    ----------
    equation : TableEquation
        A coupled equation of second order in time.
    modulus : Contribution
        One of its moduli.
    rate : DerivativeSum
        The rate of the modulus.
    fields : dict of str to Field
        The fields of the equation by name.

    Raises
    ------
    OptionError
        If the fields do not change each other by a symmetric matrix of coefficients.
    """
    own = {r.terms[0][1]: r.name for r in equation.rates if r.terms}
    read = {name for _, name in rate.terms}
    if len(read) != 1 or rate.operator != "D2" or not rate.stretched or len(own) < len(equation.rates):
        raise OptionError(
            f"{equation.name}: rate {rate.name!r} is {rate}; expected one rate for each field, D2 of that field alone, "
            f"stretched by the PML, {REASON}"
        )
    (source,) = read
    for name in (modulus.target, source):
        field = fields[name]
        if field.stagger or field.parity != -1 or not field.mirrored or field.order != 2:
            raise OptionError(
                f"{equation.name}: field is {field}; expected order 2, no stagger and parity -1 (odd about a surface), "
                "because the equation is of second order in time"
            )
    if modulus.coefficient not in equation.coefficient_names:
        raise OptionError(
            f"{equation.name}: the coefficient of {modulus} is {modulus.coefficient!r}; expected one of "
            f"{list(equation.coefficient_names)}, because the equation is of second order in time"
        )
    entries = {(m.target, m.rate): m.coefficient for m in equation.moduli}
    back = entries.get((source, own.get(modulus.target, "")))
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
