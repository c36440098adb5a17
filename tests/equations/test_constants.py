"""Constants: factors of a step that are one number for all cells, and take the place of arrays."""

import attrs
import numpy as np
import pytest
from building import COMPILER
from laws import TABLE, executors, variant

from sweep_core import Acoustic, OptionError, ViscoAcoustic, make_problem
from sweep_core.execution.answers import record_error
from sweep_core.testing.cases import case, reference_born, reference_record


@attrs.frozen
class WithArrays(ViscoAcoustic):
    """The same equation with an array for each of its constants."""

    name = "with_arrays"

    @property
    def coefficient_names(self):
        return (*super().coefficient_names, *super().constant_names)

    @property
    def constant_names(self):
        return ()

    def constants(self, dt):
        return ()

    def coefficients(self, node_averages, *parameters):
        plain = ViscoAcoustic(self.spatial_order)
        return (*plain.coefficients(node_averages, *parameters), *plain.constants(node_averages.dt))


def driven(equation=ViscoAcoustic, surface=False, **options):
    """Return a case whose sources act on memory variables too, through a constant."""
    example = variant("free surface", ViscoAcoustic) if surface else case(ViscoAcoustic, nt=24)
    fields = {"source_type": ["p", "r1", "r3", "vx"], "equation": equation(example.problem.equation.spatial_order)}
    return attrs.evolve(example, arguments=example.arguments | fields | options)


OPTIONS = {
    "physical": {},
    "increment": {"source_scaling": "increment"},
    "surface": {"surface": True},
}
EAGER = executors("reference", "torch-eager")
RUNS = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


@RUNS
@pytest.mark.parametrize("entry", EAGER)
def test_records_are_those_of_an_equation_with_arrays(entry, options):
    record, expected = (entry.forward(driven(equation, **options)) for equation in (ViscoAcoustic, WithArrays))
    assert np.abs(expected).max() > 0 and record_error(record, expected) < 1e-14


def test_neither_tables_nor_models_have_arrays_of_constants():
    problem = driven().problem
    assert [*problem.constants] == ["loss_1", "loss_2", "loss_3"] and not {*problem.constants} & {
        *problem.coefficient_names
    }
    assert len(driven(WithArrays).problem.coefficient_names) == len(problem.coefficient_names) + 3


@pytest.mark.slow
@pytest.mark.further
@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
@RUNS
def test_compiled_code_with_constants_equals_the_reference(options):
    """Record, Born, and the gradients in the models and in the wavelet of each source."""
    (entry,) = [e for e in TABLE if e.name == "torch-c"]
    example = driven(**options)
    assert record_error(entry.forward(example), reference_record(example)) < 1e-12
    direction, noise, born = example.direction(), example.noise(), reference_born(example)
    assert record_error(entry.born(example), born) < 1e-12
    of_wavelet, of_models = entry.pulled_back(example, noise)
    terms = [d * g for d, g in zip(direction, of_models, strict=True)]
    assert abs((born * noise).sum() - sum(t.sum() for t in terms)) < 1e-12 * sum(abs(t).sum() for t in terms)
    products = example.shots.wavelet * of_wavelet
    assert abs((reference_record(example) * noise).sum() - products.sum()) < 1e-12 * abs(products).sum()


def wrong(base=ViscoAcoustic, **members):
    return make_problem(attrs.frozen(type("Wrong", (base,), members))(), (24, 24), 10.0, 1e-3)


REFUSED = {
    "too few": ({"constants": lambda self, dt: (0.1,)}, "constants gives 1 values; expected a tuple of 3"),
    "an array": (
        {"constants": lambda self, dt: (np.ones(3),) * 3},
        "constant 'loss_1' gives .*; expected a finite number",
    ),
    "infinite": ({"constants": lambda self, dt: (0.1, float("inf"), 0.1)}, "constant 'loss_2' gives inf"),
    "a coefficient": (
        {"constant_names": ("kappa",)},
        "constant_names is .*; expected names of no coefficients, unlike",
    ),
}


@pytest.mark.parametrize(("members", "message"), REFUSED.values(), ids=REFUSED)
def test_wrong_constants_are_refused_by_name(members, message):
    with pytest.raises(OptionError, match=message):
        wrong(**members)


def test_an_equation_of_second_order_takes_no_constants():
    members = {"constant_names": ("c",), "constants": lambda self, dt: (0.1,), "source_coefficients": {"h1": "c"}}
    moduli = tuple(attrs.evolve(m, coefficient="c") for m in Acoustic.moduli)
    with pytest.raises(OptionError, match="is 'c'; expected one of .'vp2'., because the equation is of second order"):
        wrong(Acoustic, moduli=moduli, **members)
