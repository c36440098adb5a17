"""AcousticVTISecondOrder: limits, gradients and reciprocity; the rules of coupled fields."""

import attrs
import numpy as np
import pytest
from anisotropic_fluids import DH
from laws import executors

import sweep_core as sweep
from sweep_core import Acoustic, AcousticVTI, AcousticVTISecondOrder, OptionError, Shots, make_problem, ricker
from sweep_core.equations.terms import Contribution, DerivativeSum
from sweep_core.execution.answers import record_error
from sweep_core.testing import laws
from sweep_core.testing.cases import case, reference_born, reference_record, variant

reference = sweep.backend("reference")
compiled = executors("torch-eager", "torch-c")
ELLIPTIC = (("epsilon", (0.1, 0.1)), ("delta", (0.1, 0.1)))


@pytest.mark.parametrize("source", ["p", "ph"])
@pytest.mark.parametrize("name", ["free surface", "increments between nodes, an earth each", "3-D"])
def test_without_anisotropy_both_pressures_are_acoustic(name, source):
    plain = variant(name, Acoustic)
    zero = np.zeros_like(plain.models[0])
    arguments = plain.arguments | {"equation": AcousticVTISecondOrder(), "source_type": [source]}
    problem = make_problem(**arguments | {"receiver_type": ["p", "ph"]})
    record = reference.forward(problem, plain.shots, [plain.models[0], zero, zero])
    expected = reference_record(plain)
    assert max(record_error(record[..., i : i + 1], expected) for i in (0, 1)) < 1e-13


def test_records_are_those_of_the_first_order_system():
    """The error falls with the size of the cells; the sources and receivers are apart, and the source is elliptic."""
    errors = []
    for cells in (1, 2):
        shape, dt = (40 * cells, 50 * cells), 1e-3 / cells
        z, x = ((np.arange(n) + 0.5) / n for n in shape)
        bump = np.exp(-(((z[:, None] - 0.65) / 0.12) ** 2) - ((x - 0.6) / 0.15) ** 2)
        models = [2500 + 300 * bump, 0.1 + 0.15 * bump, 0.1 + 0 * bump]
        wavelet = ricker(12.0, 350 * cells, dt)
        source, receivers = (cells * np.array(at) for at in ([[20, 10]], [[40, 12], [35, 36], [12, 30]]))
        records = [
            reference.forward(
                make_problem(equation, shape, 20.0 / cells, dt, receiver_type=["p"], pml_width=20),
                Shots(samples, source, receivers),
                models,
            )
            for equation, samples in (
                (AcousticVTISecondOrder(8), wavelet),
                (AcousticVTI(8), np.cumsum(wavelet) * dt),
            )
        ]
        errors.append(record_error(*records))
    assert errors[0] < 0.03 and errors[1] < 0.4 * errors[0], errors


@pytest.mark.parametrize("fields", [("p", "ph"), ("p", "p"), ("ph", "ph")])
def test_a_source_and_a_receiver_may_change_places(fields):
    """Also from one pressure to the other, and between nodes."""
    models = AcousticVTISecondOrder().example((24, 26), np.random.default_rng(3))
    wavelet, places = ricker(25.0, 120, 1e-3), (np.array([[6.4, 7.3]]), np.array([[18.0, 15.8]]))
    records = [
        reference.forward(
            make_problem(AcousticVTISecondOrder(), (24, 26), DH, 1e-3, source_type=[a], receiver_type=[b], pml_width=5),
            Shots(wavelet, *at),
            models,
        )
        for (a, b), at in ((fields, places), (fields[::-1], places[::-1]))
    ]
    assert record_error(*records) < 1e-12


@pytest.mark.parametrize("ranges", [(), ELLIPTIC], ids=["rough", "elliptic"])
@pytest.mark.parametrize("name", ["free surface, between nodes", "3-D, free surface, between nodes"])
@pytest.mark.parametrize("entry", compiled)
def test_gradients_are_transposed_derivatives(entry, name, ranges):
    """The matrix of the elliptic earth is singular; the derivative leaves the earths in which waves are stable."""
    setup = variant(name, AcousticVTISecondOrder, ranges=ranges)
    y, directions = setup.noise(), setup.direction()
    terms = [d * g for d, g in zip(directions, entry.jacobian_transposed(setup, y), strict=True)]
    difference = (reference_born(setup) * y).sum() - sum(t.sum() for t in terms)
    assert abs(difference) < 1e-12 * sum(np.abs(t).sum() for t in terms)
    assert record_error(entry.forward(setup), reference_record(setup)) < 1e-12


@pytest.mark.parametrize("entry", compiled)
def test_gradients_of_all_parameters(entry):
    """By finite differences in every cell's direction, with layers of other widths, at faces and in corners."""
    setup = case(AcousticVTISecondOrder, shape=(12, 13), nt=20, pml=(3, 0, 4, 2), nshots=2, nrec=4)
    laws.jacobian_and_adjoint(entry, setup)
    laws.gradient_equals_finite_difference(entry, setup)
    laws.gradient_in_every_region(entry, setup)


ACROSS, ALONG = AcousticVTISecondOrder.rates
MODULI = AcousticVTISecondOrder.moduli
WRONG = {
    "another coefficient back": {"moduli": (*MODULI[:3], Contribution("ph", "along", "kv"))},
    "none back": {"moduli": MODULI[:3]},
    "twice": {"moduli": (*MODULI, Contribution("p", "across", "kv"))},
    "a rate of two fields": {"rates": (attrs.evolve(ACROSS, terms=(("x", "ph"), ("y", "p"))), ALONG)},
    "no layer": {"rates": (ACROSS, attrs.evolve(ALONG, stretched=False))},
    "two rates of a field": {"rates": (ACROSS, attrs.evolve(ALONG, terms=(("z", "ph"),)))},
    "losses": {
        "rates": (ACROSS, ALONG, DerivativeSum("change", (("", "p"),), operator="change")),
        "moduli": (*MODULI, Contribution("p", "change", "kv")),
    },
    "no coefficient": {"moduli": (*MODULI[:3], Contribution("ph", "along"))},
    "another source": {"source_coefficients": {"p": "kn", "ph": "kh"}},
    "no source": {"source_coefficients": {"p": "kv"}},
    "an even field": {
        "fields": (attrs.evolve(AcousticVTISecondOrder.fields[0], parity=1), AcousticVTISecondOrder.fields[1])
    },
}
SAID = {
    "another coefficient back": "changes by the rate of 'p' with 'kv'; expected the same coefficient once",
    "none back": "with None; expected the same coefficient once",
    "twice": "expected the same coefficient once",
    "no coefficient": "with None; expected the same coefficient once",
    "another source": r"source_coefficients\['p'\] is 'kn'; expected 'kv'",
    "no source": r"source_coefficients\['ph'\] is None; expected 'kh'",
    "an even field": "no stagger and parity -1",
}


@pytest.mark.parametrize("fault", WRONG)
def test_couplings_without_symmetry_are_refused_by_name(fault):
    wrong = type("Wrong", (AcousticVTISecondOrder,), {"name": "wrong", **WRONG[fault]})
    with pytest.raises(OptionError, match=SAID.get(fault, "expected one rate for each field, D2 of that field alone")):
        make_problem(wrong(), (12, 14), DH, 1e-3)
