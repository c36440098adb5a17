"""Acoustic waves about an axis of symmetry: phase speeds, the isotropic limit, sources, reciprocity and late growth."""

import numpy as np
import pytest
from dispersion_relation import frequencies

import sweep_core as sweep
from sweep_core import AcousticVariableDensity, AcousticVTI, make_problem
from sweep_core.execution.answers import record_error
from sweep_core.testing.cases import reference_record, variant

VP, EPSILON, DELTA = 3000.0, 0.25, 0.1
CELLS = 8
reference = sweep.backend("reference")


def phase_speed(angle) -> float:
    """Return the phase speed (m/s) at an angle from the axis (Alkhalifah 2000, Geophysics 65, eq. 2 of plane waves)."""
    sin2, cos2 = np.sin(angle) ** 2, np.cos(angle) ** 2
    half = (1 + 2 * EPSILON) * sin2 + cos2
    return VP * np.sqrt(0.5 * (half + np.sqrt(half**2 - 8 * (EPSILON - DELTA) * sin2 * cos2)))


def measured_speed(equation, models, angle, ndim=2) -> float:
    """Return the phase speed (m/s) of the step at eight cells per wavelength, the time step small."""
    wavenumber = 2 * np.pi / (CELLS * 10.0)
    return frequencies(equation, models, wavenumber, angle, ndim)[0].real / wavenumber


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("angle", np.linspace(0, np.pi / 2, 7))
def test_vti_phase_speeds_obey_the_christoffel_equation(angle, ndim):
    measured = measured_speed(AcousticVTI(8), (VP, EPSILON, DELTA), angle, ndim)
    assert measured == pytest.approx(phase_speed(angle), rel=5e-4)


@pytest.mark.parametrize("name", ["free surface", "between nodes", "3-D", "3-D, free surface, between nodes"])
def test_without_anisotropy_vti_records_are_acoustic(name):
    plain = variant(name, AcousticVariableDensity)
    zero = np.zeros_like(plain.models[0])
    arguments = plain.arguments | {"equation": AcousticVTI(4, has_density=True)}
    arguments["source_type"] = [*plain.problem.source_type, "ph"]
    record = reference.forward(make_problem(**arguments), plain.shots, [plain.models[0], zero, zero, plain.models[1]])
    assert record_error(record, reference_record(plain)) < 1e-13
