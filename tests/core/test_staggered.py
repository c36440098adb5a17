"""Tables of staggered equations refuse misspelt names, which would be left out like the missing axes of a grid."""

import pytest

from sweep_core import AcousticVariableDensity, Elastic, Field, OptionError
from sweep_core.equations.first_order import Contribution, DerivativeSum

TABLES = {
    "axis of a term": ({"rates": (DerivativeSum("ax", (("X", "p"),)),)}, "the axis in .* is 'X'; expected one of"),
    "field of a term": ({"rates": (DerivativeSum("ax", (("x", "q"),)),)}, "the field in .* is 'q'; expected one of"),
    "stagger": ({"fields": (Field("p", "Pa", ("w",)),)}, "the axis in .* is 'w'; expected one of"),
    "target": ({"moduli": (Contribution("v", "ax", "bx"),)}, "the field in .* is 'v'; expected one of"),
    "rate": ({"moduli": (Contribution("vx", "aq", "bx"),)}, "the rate in .* is 'aq'; expected one of"),
    "coefficient": ({"moduli": (Contribution("vx", "ax", "b"),)}, "the coefficient in .* is 'b'; expected one of"),
    "source": ({"source_coefficients": {"q": "bx"}}, "the field in source_coefficients is 'q'; expected one of"),
    "source's coefficient": ({"source_coefficients": {"vx": "b"}}, "the coefficient in source_coefficients is 'b'"),
    "place": (
        {"moduli": (Contribution("vz", "ax", "bx"),)},
        "adds the derivative of p along x, staggered along .*; expected .'t', 'z'., the stagger of vz",
    ),
    "time": (
        {"fields": tuple(Field(n, "", tuple(s)) for n, s in (("p", ""), ("vx", "x"), ("vy", "y"), ("vz", "z")))},
        "adds the derivative of p along x, staggered along .'t', 'x'.; expected .'x'., the stagger of vx",
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_inconsistent_tables_are_refused(name):
    changes, message = TABLES[name]
    wrong = type("Wrong", (AcousticVariableDensity,), {"name": "wrong", **changes})
    with pytest.raises(OptionError, match=f"^wrong: .*{message}"):
        wrong().rates_in(2)


@pytest.mark.parametrize("equation", [AcousticVariableDensity, Elastic])
@pytest.mark.parametrize("ndim", [2, 3])
def test_terms_of_missing_axes_are_left_out(equation, ndim):
    fields = {f.name for f in equation().fields_in(ndim)}
    assert {field for rate in equation().rates_in(ndim) for _, field in rate.terms} <= fields
    assert {m.target for m in equation().moduli_in(ndim)} == fields
