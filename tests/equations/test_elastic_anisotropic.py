"""Elastic waves in anisotropic solids: plane waves beside Christoffel's equation, and limits that are isotropic."""

import numpy as np
import pytest
from christoffel import ROCK, SHALE, christoffel, stiffness
from dispersion_relation import frequencies

import sweep_core as sweep
from sweep_core import Elastic, make_problem
from sweep_core.execution.answers import record_error
from sweep_core.testing.cases import reference_record, variant


@pytest.mark.parametrize("theta", [0.0, 0.3, 0.7, 1.1, np.pi / 2])
@pytest.mark.parametrize("equation", SHALE)
def test_phase_speeds_are_those_of_christoffel(equation, theta):
    """The three waves of 3-D, and the two of 2-D, which have no motion along y."""
    k, c = 0.02 / 10.0, stiffness(equation)
    exact = christoffel(c, ROCK[2], (np.sin(theta), 0.0, np.cos(theta)))
    for ndim in (2, 3):
        speeds = frequencies(equation(8), (*ROCK, *SHALE[equation]), k, theta, ndim).real / k
        across = np.sqrt((c[5, 5] * np.sin(theta) ** 2 + c[3, 3] * np.cos(theta) ** 2) / ROCK[2])
        expected = exact if ndim == 3 else np.delete(exact, np.argmin(np.abs(exact - across)))
        np.testing.assert_allclose(speeds, expected, rtol=1e-6)
        assert speeds.max() <= equation().speed(*ROCK, *SHALE[equation]) * (1 + 1e-6)


@pytest.mark.parametrize("name", ["between nodes", "free surface", "3-D", "3-D, free surface, between nodes"])
@pytest.mark.parametrize("equation", SHALE)
def test_without_anisotropy_the_record_is_that_of_elastic(equation, name):
    plain = variant(name, Elastic)
    zero = np.zeros(plain.models[0].shape)
    problem = make_problem(**plain.arguments | {"equation": equation()})
    models = [*plain.models, *[zero] * len(SHALE[equation])]
    result = sweep.backend("reference").forward(problem, plain.shots, models)
    assert record_error(result, reference_record(plain)) < 1e-12
