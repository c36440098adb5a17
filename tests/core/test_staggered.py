"""Tables of staggered equations refuse misspelt names, which would be left out like the missing axes of a grid."""

import pytest

from sweep_core import AcousticVariableDensity, Elastic, Field, OptionError
from sweep_core.equations.first_order import Contribution, DerivativeSum

TABLES = {
    "axis of a term": ({"rates": (DerivativeSum("ax", (("X", "p"),)),)}, "names the axis 'X'; there are"),
    "field of a term": ({"rates": (DerivativeSum("ax", (("x", "q"),)),)}, "names the field 'q'; there are"),
    "stagger": ({"fields": (Field("p", "Pa", ("w",)),)}, "names the axis 'w'; there are"),
    "target": ({"moduli": (Contribution("v", "ax", "bx"),)}, "names the field 'v'; there are"),
    "rate": ({"moduli": (Contribution("vx", "aq", "bx"),)}, "names the rate 'aq'; there are"),
    "coefficient": ({"moduli": (Contribution("vx", "ax", "b"),)}, "names the coefficient 'b'; there are"),
    "source": ({"source_coefficients": {"q": "bx"}}, "source_coefficients names the field 'q'; there are"),
    "source's coefficient": ({"source_coefficients": {"vx": "b"}}, "source_coefficients names the coefficient 'b'"),
    "place": (
        {"moduli": (Contribution("vz", "ax", "bx"),)},
        "adds the derivative of p along x, which is staggered along",
    ),
    "time": (
        {"fields": tuple(Field(n, "", tuple(s)) for n, s in (("p", ""), ("vx", "x"), ("vy", "y"), ("vz", "z")))},
        "adds the derivative of p along x, which is staggered along .'t', 'x'., to vx, along .'x'.",
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
