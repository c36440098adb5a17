"""A class never runs a compiled header that differs: the solver refuses and names the difference, or runs eager."""

import re

import attrs
import numpy as np
import pytest
from abi import cpu_library

from sweep_core import Acoustic, AcousticVariableDensity, Elastic, UnsupportedError, native
from sweep_core.equations.first_order import Contribution, DerivativeSum

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
    "step": (variant(Acoustic, step=slow_step), "OtherAcoustic has a step() of its own"),
    "step of a table": (variant(Elastic, step=lambda *a: Elastic.step(*a)), "OtherElastic has a step() of its own"),
    "sources": (
        variant(Acoustic, source_coefficient=lambda self, f: None),
        "sources into h1 are multiplied by None, those of Acoustic by vp2",
    ),
    "another class": (type("Mine", (VD,), {"name": "elastic"}), "fields: ['p', 'vx', 'vz'] in the class"),
    "parity": (field(VD, "vx", parity=1), "parity of vx: 1 in the class, -1 in the header"),
    "order of fields": (variant(VD, fields=VD.fields[::-1]), "fields: ['vz', 'vx', 'p'] in the class"),
    "sign": (
        variant(VD, rates=FLIPPED),
        "rates: ['dvx/dx + dvz/dz'] in the class, ['-(dvx/dx + dvz/dz)'] in the header",
    ),
    "term": (
        variant(VD, rates=(*VD.rates[:3], DerivativeSum("e", (("x", "vx"),), -1))),
        "rates: ['-(dvx/dx)'] in the class, ['-(dvx/dx + dvz/dz)'] in the header",
    ),
    "modulus": (variant(Elastic, moduli=STIFF), "['sxx += pi * (dvz/dz)'] in the class, ['sxx += lam * (dvz/dz)']"),
    "source": (
        variant(VD, source_coefficients={"p": "kappa", "vx": "bx", "vz": "bx"}),
        "coefficient of sources into vz: bx in the class, bz",
    ),
}
SAME = {
    "order of moduli": variant(Elastic, moduli=Elastic.moduli[::-1]),
    "order of rates": variant(VD, rates=VD.rates[::-1]),
    "sources by a function": variant(Acoustic, source_coefficient=lambda self, f: "vp2"),
}
"""Classes with the same content in another form."""


@pytest.mark.parametrize(("other", "difference"), OTHERS.values(), ids=OTHERS)
def test_a_class_that_differs_from_its_header_is_refused(other, difference):
    support = native.supports(other(), 2, "cpu")
    assert not support and difference in support.reason and "holds another" in support.reason
    solver = PropTorch(other(), (20, 20), 10.0, 1e-3)
    assert solver.impl == "eager" and difference in solver.explain()
    with pytest.raises(UnsupportedError, match=re.escape(difference)):
        PropTorch(other(), (20, 20), 10.0, 1e-3, impl="c")


@pytest.mark.parametrize("other", SAME.values(), ids=SAME)
def test_a_class_with_the_same_content_in_another_order_is_compiled(other):
    assert native.supports(other(), 2, "cpu") and native.supports(other(), 3, "cpu")


def test_supports_accepts_a_name():
    """supports() with a name compares no tables."""
    assert native.supports("acoustic", 2, "cpu") and native.supports("elastic", 3, "cpu", "sweep_core.native")
    assert not native.supports("abacus", 2, "cpu")


def test_the_parametrisation_may_differ_from_the_header():
    """Python computes coefficients, so another parametrisation needs no kernel."""

    class Slowness(Acoustic):
        def coefficients(self, node_averages, slowness):
            return super().coefficients(node_averages, 1 / slowness)

        def speed(self, slowness):
            return 1 / slowness

    assert native.supports(Slowness(), 2, "cpu")
    arrays = torch.ones(30, dtype=torch.float64), torch.tensor([[8, 9]]), torch.tensor([[11, 12]])
    vp = torch.full((20, 20), 2000.0, dtype=torch.float64)
    records = [
        PropTorch(equation, (20, 20), 10.0, 1e-3, impl="c")(*arrays, models=[model])
        for equation, model in ((Acoustic(), vp), (Slowness(), 1 / vp))
    ]
    np.testing.assert_allclose(*records, rtol=1e-12)
