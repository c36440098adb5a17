"""Tests of ViscoAcoustic: speed and decay of its plane waves follow the modulus of a standard linear solid.

`test_plugins.py` runs this file with the package installed; ``python -m sweep_core.testing`` runs the laws.
"""

import numpy as np
import pytest
from dispersion_relation import frequencies
from refusals import refuses_to_run_backward

import sweep_core as sweep
from sweep_core import AcousticVariableDensity, make_problem, native
from sweep_core.execution.answers import record_error
from sweep_core.testing.cases import variant

ViscoAcoustic = sweep.equations()["standard_solid"]
VP, RHO, Q = 3000.0, 2200.0, 30.0


def modulus(omega, reference) -> complex:
    """Return the modulus M (1 + tau i w T / (1 + i w T)) with phase speed VP and quality Q at `reference` (Hz)."""
    tau, reference_omega = 2 / (Q - 1), 2 * np.pi * reference

    def relative(w):
        return 1 + tau * (1j * w / reference_omega) / (1 + 1j * w / reference_omega)

    return RHO * VP**2 * np.real(1 / np.sqrt(relative(reference_omega))) ** 2 * relative(omega)


def test_the_modulus_has_the_requested_speed_and_quality():
    at = 2 * np.pi * 10.0
    slowness = np.sqrt(RHO / modulus(at, 10.0))
    assert 1 / slowness.real == pytest.approx(VP, rel=1e-12)
    assert modulus(at, 10.0).real / modulus(at, 10.0).imag == pytest.approx(Q, rel=1e-12)


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("reference", [2.0, 10.0, 50.0])
def test_plane_waves_obey_the_modulus(reference, ndim):
    """rho w^2 = k^2 M(w), up to the error of the differences; without loss w would be wrong by 1 %."""
    k = 0.02 / 10.0
    omega = frequencies(ViscoAcoustic(8, frequency=reference), (VP, RHO, Q), k, 0.4, ndim)[0]
    assert RHO * omega**2 == pytest.approx(k**2 * modulus(omega, reference), rel=2e-7)
    assert omega.imag > 5e-4 * omega.real


@pytest.mark.parametrize("name", ["between nodes", "free surface", "3-D"])
def test_without_absorption_the_record_is_acoustic(name):
    plain = variant(name, AcousticVariableDensity)
    arguments = plain.arguments | {"source_type": ["vx"], "receiver_type": ["p", "vx", "vz"]}
    lossless_q = np.full_like(plain.models[0], 1e14)
    result, expected = (
        sweep.backend("reference").forward(make_problem(**arguments | {"equation": equation}), plain.shots, models)
        for equation, models in (
            (ViscoAcoustic(), [*plain.models, lossless_q]),
            (AcousticVariableDensity(), plain.models),
        )
    )
    assert record_error(result, expected) < 1e-12


def test_the_header_is_compiled():
    assert native.supports(ViscoAcoustic(), 2, "cpu") and native.supports(ViscoAcoustic(), 3, "cpu")


def test_boundary_strips_are_refused_for_a_lossy_equation():
    assert refuses_to_run_backward(ViscoAcoustic)
