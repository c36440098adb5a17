"""Tests of the equations of sweep_vti: plane-wave speeds of their steps equal those of Thomsen (1986).

`test_plugins.py` runs this file with the package installed; ``python -m sweep_core.testing`` runs the laws.
"""

import numpy as np
import pytest
from dispersion_relation import frequencies

import sweep_core as sweep
from sweep_core import Elastic, OptionError, make_problem, native
from sweep_core.execution.answers import record_error
from sweep_core.native.selection import installed
from sweep_core.testing.cases import reference_record, variant
from sweep_core.testing.entries import entries
from sweep_core.testing.laws import strategies_agree

VTIAcoustic, VTIElastic = (sweep.equations()[f"vti_{kind}"] for kind in ("acoustic", "elastic"))
VP, VS, RHO, EPSILON, DELTA, GAMMA = 3000.0, 1500.0, 2200.0, 0.2, 0.1, 0.15
PARAMETERS = {VTIAcoustic: (VP, RHO, EPSILON, DELTA), VTIElastic: (VP, VS, RHO, EPSILON, DELTA, GAMMA)}


def speeds(equation, ndim, theta) -> np.ndarray:
    """Return phase speeds (m/s) at an angle theta from the vertical in the plane of x and z, the fastest first."""
    k = 0.02 / 10.0
    return frequencies(equation(8), PARAMETERS[equation], k, theta, ndim).real / k


@pytest.mark.parametrize("ndim", [2, 3])
def test_speeds_along_the_axes_of_a_solid(ndim):
    """Only 3-D has SH waves."""
    vertical, horizontal = [VP, VS, VS], [VP * np.sqrt(1 + 2 * EPSILON), VS * np.sqrt(1 + 2 * GAMMA), VS]
    if ndim == 2:
        vertical, horizontal = vertical[:2], [horizontal[0], VS]
    np.testing.assert_allclose(speeds(VTIElastic, ndim, 0.0), vertical, rtol=1e-6)
    np.testing.assert_allclose(speeds(VTIElastic, ndim, np.pi / 2), horizontal, rtol=1e-6)


@pytest.mark.parametrize("theta", [0.3, 0.7, 1.1])
def test_speeds_at_any_angle_of_a_solid(theta):
    """Thomsen's equation 10a, with f = 1 - vs^2 / vp^2: v^2 / vp^2 = 1 + epsilon sin^2 + D."""
    f, sin = 1 - VS**2 / VP**2, np.sin(theta)
    root = np.sqrt((f + 2 * EPSILON * sin**2) ** 2 - 2 * f * (EPSILON - DELTA) * np.sin(2 * theta) ** 2)
    expected = [VP * np.sqrt(1 + EPSILON * sin**2 - f / 2 + sign * root / 2) for sign in (1, -1)]
    np.testing.assert_allclose(speeds(VTIElastic, 2, theta), expected, rtol=1e-6)


@pytest.mark.parametrize("theta", [0.0, 0.3, 0.7, 1.1, np.pi / 2])
def test_speeds_at_any_angle_of_a_fluid(theta):
    """Thomsen's equation 10a with vs = 0."""
    root = np.sqrt((1 + 2 * EPSILON * np.sin(theta) ** 2) ** 2 - 2 * (EPSILON - DELTA) * np.sin(2 * theta) ** 2)
    expected = VP * np.sqrt(0.5 + EPSILON * np.sin(theta) ** 2 + root / 2)
    assert speeds(VTIAcoustic, 2, theta)[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("equation", [VTIAcoustic, VTIElastic])
def test_the_stated_speed_is_not_exceeded(equation):
    fastest = max(speeds(equation, 2, theta)[0] for theta in np.linspace(0, np.pi / 2, 7))
    assert fastest <= equation().speed(*PARAMETERS[equation]) * (1 + 1e-6)


@pytest.mark.parametrize("name", ["between nodes", "free surface", "3-D", "3-D, free surface, between nodes"])
def test_without_anisotropy_the_record_is_elastic(name):
    plain = variant(name, Elastic)
    zero = np.zeros(plain.models[0].shape)
    problem = make_problem(**plain.arguments | {"equation": VTIElastic()})
    result = sweep.backend("reference").forward(problem, plain.shots, [*plain.models, zero, zero, zero])
    assert record_error(result, reference_record(plain)) < 1e-12


@pytest.mark.parametrize("equation", [VTIAcoustic, VTIElastic])
def test_inadmissible_ranges_are_refused(equation):
    with pytest.raises(OptionError, match="none of 1000 draws"):
        equation().example((3, 3), np.random.default_rng(0), epsilon=(0.0, 0.01), delta=(2.0, 3.0))


@pytest.mark.parametrize("equation", [VTIAcoustic, VTIElastic])
def test_the_equation_is_compiled_on_first_use(equation):
    """The package brings no library."""
    library, reason = installed(equation(), 2, "cpu")
    assert library is None and f"{equation.name} has no compiled kernel in libsweep_cpu" in reason
    assert native.supports(equation(), 2, "cpu")


@pytest.mark.parametrize("name", ["free surface", "edges as given", "3-D"])
@pytest.mark.parametrize("equation", [VTIAcoustic, VTIElastic])
def test_boundary_strips_equal_the_full_history(equation, name):
    setup = variant(name, equation)
    assert native.supports(equation(), setup.problem.grid.ndim, "cpu", strips=True)
    (entry,) = entries("torch-c")
    strategies_agree(entry, setup, "boundary")
