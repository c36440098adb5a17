"""A class never runs compiled code of other tables: a library states the hash of the tables that it was compiled from."""

import re

import attrs
import numpy as np
import pytest
from abi import cpu_library

from sweep_core import Acoustic, AcousticVariableDensity, Elastic, UnsupportedError, native
from sweep_core.equations.first_order import Contribution, DerivativeSum
from sweep_core.native.codegen import refusal, statement
from sweep_core.native.selection import installed

torch = pytest.importorskip("torch")
from sweep_torch import PropTorch  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def library():
    return cpu_library()


def variant(base, **attributes):
    """Return a subclass with the name of its base and other attributes."""
    return type(f"Other{base.__name__}", (base,), {"__slots__": (), "__annotations__": {}, **attributes})


def field(base, name, **changes):
    return variant(base, fields=tuple(attrs.evolve(f, **changes) if f.name == name else f for f in base.fields))


def slow_step(self, ops, state, coefficients, inject):
    return Acoustic.step(self, ops, state, coefficients, inject)


VD = AcousticVariableDensity
FLIPPED = tuple(attrs.evolve(r, sign=1) if r.name == "e" else r for r in VD.rates)
STIFF = tuple(Contribution(m.target, m.rate, "pi") if m.target == "sxx" else m for m in Elastic.moduli)
OTHERS = {
    "sources": variant(VD, source_coefficient=lambda self, f: None),
    "parity": field(VD, "vx", parity=1),
    "stagger": field(VD, "vx", stagger=("x",)),
    "order in time": field(VD, "vx", order=0),
    "dimensions of a field": field(VD, "vz", ndims=(2,)),
    "order of fields": variant(VD, fields=VD.fields[::-1]),
    "sign": variant(VD, rates=FLIPPED),
    "operator": variant(VD, rates=(attrs.evolve(VD.rates[0], operator="D1"), *VD.rates[1:])),
    "stretch": variant(VD, rates=(attrs.evolve(VD.rates[0], stretched=False), *VD.rates[1:])),
    "term": variant(VD, rates=(*VD.rates[:3], DerivativeSum("e", (("x", "vx"),), -1))),
    "modulus": variant(Elastic, moduli=STIFF),
    "source": variant(VD, source_coefficients={"p": "kappa", "vx": "bx", "vz": "bx"}),
    "range": variant(VD, coefficient_ranges={}),
    "dimensions": variant(VD, ndims=(2,)),
}
"""Classes with the name of another class and one other table."""
UNSTATED = {
    "step": (variant(Acoustic, step=slow_step), "OtherAcoustic has a step() of its own"),
    "step of a table": (variant(Elastic, step=lambda *a: Elastic.step(*a)), "OtherElastic has a step() of its own"),
    "name": (variant(VD, name="my equation"), "its name is 'my equation'; expected an identifier"),
    "terms": (
        variant(VD, rates=(*VD.rates[:3], attrs.evolve(VD.rates[3], terms=(*VD.rates[3].terms, ("x", "vz"))))),
        "rate e of acoustic_variable_density has 4 terms; compiled code adds up 3",
    ),
    "fields": (
        variant(VD, fields=VD.fields * 16),
        "acoustic_variable_density has 64 fields; compiled code has room for 62",
    ),
}
"""Classes that no header can state, with the reason."""


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_every_table_counts_in_the_statement(other):
    (base,) = other.__bases__
    assert statement(other()) != statement(base())
    library, reason = installed(other(), 2, "cpu")
    assert library is None and "holds another" in reason


@pytest.mark.parametrize(("other", "reason"), UNSTATED.values(), ids=UNSTATED)
def test_a_class_that_no_header_can_state_is_refused_by_name(other, reason):
    assert reason in refusal(other())
    support = native.supports(other(), 2, "cpu")
    assert not support and reason in support.reason


def test_the_solver_of_a_class_with_its_own_step_runs_eager():
    other, reason = UNSTATED["step"]
    solver = PropTorch(other(), (20, 20), 10.0, 1e-3)
    assert solver.impl == "eager" and reason in solver.explain()
    with pytest.raises(UnsupportedError, match=re.escape(reason)):
        PropTorch(other(), (20, 20), 10.0, 1e-3, impl="c")


def test_a_function_may_state_the_coefficients_of_sources():
    same = variant(Acoustic, source_coefficient=lambda self, f: "vp2")
    assert statement(same()) == statement(Acoustic()) and installed(same(), 2, "cpu")[0] is not None


def test_the_parametrisation_may_differ_from_the_library():
    """Python computes coefficients, so another parametrisation needs no kernel."""

    class Slowness(Acoustic):
        def coefficients(self, node_averages, slowness):
            return super().coefficients(node_averages, 1 / slowness)

        def speed(self, slowness):
            return 1 / slowness

    assert installed(Slowness(), 2, "cpu")[0] is not None
    arrays = torch.ones(30, dtype=torch.float64), torch.tensor([[8, 9]]), torch.tensor([[11, 12]])
    vp = torch.full((20, 20), 2000.0, dtype=torch.float64)
    records = [
        PropTorch(equation, (20, 20), 10.0, 1e-3, impl="c")(*arrays, models=[model])
        for equation, model in ((Acoustic(), vp), (Slowness(), 1 / vp))
    ]
    np.testing.assert_allclose(*records, rtol=1e-12)
