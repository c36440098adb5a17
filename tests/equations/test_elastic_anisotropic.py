"""Elastic waves in anisotropic solids: plane waves beside Christoffel's equation, and limits that are isotropic."""

import numpy as np
import pytest
from dispersion_relation import frequencies

import sweep_core as sweep
from sweep_core import Elastic, ElasticOrthorhombic, ElasticVTI, make_problem
from sweep_core.execution.answers import record_error
from sweep_core.testing.cases import reference_record, variant

ROCK = (3000.0, 1500.0, 2200.0)
SHALE = {ElasticVTI: (0.2, 0.1, 0.15), ElasticOrthorhombic: (0.2, 0.25, 0.1, -0.05, 0.08, 0.15, 0.05)}
VOIGT = {"xx": 0, "yy": 1, "zz": 2, "yz": 3, "zy": 3, "xz": 4, "zx": 4, "xy": 5, "yx": 5}


def stiffness(equation) -> np.ndarray:
    """Return the stiffnesses (6, 6) of `ROCK` with the anisotropy `SHALE`, from the definitions of the parameters."""
    vp, vs, rho = ROCK
    c33, c55 = rho * vp**2, rho * vs**2
    if equation is ElasticVTI:
        epsilon, delta, gamma = SHALE[equation]
        e1 = e2 = epsilon
        d1 = d2 = delta
        c66 = c55 * (1 + 2 * gamma)
        c44 = c55
    else:
        e1, e2, d1, d2, d3, g1, g2 = SHALE[equation]
        c66 = c55 * (1 + 2 * g1)
        c44 = c66 / (1 + 2 * g2)
    c11, c22 = c33 * (1 + 2 * e2), c33 * (1 + 2 * e1)
    c13 = np.sqrt((c33 - c55) ** 2 + 2 * d2 * c33 * (c33 - c55)) - c55
    c23 = np.sqrt((c33 - c44) ** 2 + 2 * d1 * c33 * (c33 - c44)) - c44
    c12 = c11 - 2 * c66 if equation is ElasticVTI else np.sqrt((c11 - c66) ** 2 + 2 * d3 * c11 * (c11 - c66)) - c66
    result = np.diag([c11, c22, c33, c44, c55, c66])
    result[0, 1] = result[1, 0] = c12
    result[0, 2] = result[2, 0] = c13
    result[1, 2] = result[2, 1] = c23
    return result


def christoffel(c: np.ndarray, rho: float, direction) -> np.ndarray:
    """Return the phase speeds (m/s) along a direction (x, y, z), the fastest first: v^2 of c_ijkl n_j n_l / rho."""
    axes = "xyz"
    gamma = np.array([
        [sum(c[VOIGT[i + j], VOIGT[k + m]] * direction[axes.index(j)] * direction[axes.index(m)]
             for j in axes for m in axes) for k in axes]
        for i in axes
    ])  # fmt: skip
    return np.sqrt(np.linalg.eigvalsh(gamma)[::-1] / rho)


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
