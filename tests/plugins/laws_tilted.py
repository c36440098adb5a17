"""Tests of Tilted: phase speeds of its plane waves lie on the stated ellipse.

`test_plugins.py` runs this file with the package installed; ``python -m sweep_core.testing`` runs the laws.
"""

import numpy as np
import pytest
from dispersion_relation import frequencies
from refusals import refuses_to_run_backward

import sweep_core as sweep
from sweep_core import Acoustic, OptionError, make_problem, native
from sweep_core.execution.answers import record_error
from sweep_core.testing.cases import variant

Tilted = sweep.equations()["tilted"]
VP, EPSILON = 3000.0, 0.2


@pytest.mark.parametrize("tilt", [0.0, 0.5, -1.0, np.pi / 2])
@pytest.mark.parametrize("theta", [0.0, 0.4, 1.2, 2.0, np.pi / 2])
def test_phase_speeds_lie_on_the_ellipse(tilt, theta):
    k = 0.02 / 10.0
    omega = frequencies(Tilted(8), (VP, EPSILON, tilt), k, theta)[0]
    expected = VP * np.sqrt(1 + 2 * EPSILON * np.sin(theta - tilt) ** 2)
    assert omega.real / k == pytest.approx(expected, rel=1e-6) and abs(omega.imag) < 1e-6 * omega.real


@pytest.mark.parametrize("theta", [0.3, 1.3])
def test_phase_speeds_lie_on_the_ellipse_in_3d(theta):
    omega = frequencies(Tilted(8), (VP, EPSILON, 0.7), 0.02 / 10.0, theta, ndim=3)[0]
    expected = VP * np.sqrt(1 + 2 * EPSILON * np.sin(theta - 0.7) ** 2)
    assert omega.real * 10.0 / 0.02 == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ["between nodes", "3-D"])
def test_without_anisotropy_the_tilt_has_no_effect(name):
    """epsilon is zero."""
    plain = variant(name, Acoustic, order=8)
    models = [np.full_like(plain.models[0], x) for x in (2500.0, 0.0)]
    results = [
        sweep.backend("reference").forward(
            make_problem(**plain.arguments | {"equation": Tilted(8), "source_type": ["w"], "receiver_type": ["u"]}),
            plain.shots,
            [*models, np.full_like(models[0], tilt)],
        )
        for tilt in (0.0, 1.0)
    ]
    assert record_error(*results) < 1e-12


@pytest.mark.parametrize("kind", ["source_type", "receiver_type"])
def test_fields_within_a_step_have_no_sources_or_receivers(kind):
    with pytest.raises(OptionError, match=f"{kind} names 'gx', which tilted does not have; its fields are .'u', 'w'."):
        make_problem(Tilted(), (20, 20), 10.0, 1e-3, **{kind: ["gx"]})


def test_the_header_is_compiled():
    assert native.supports(Tilted(), 2, "cpu") and native.supports(Tilted(), 3, "cpu")


def test_boundary_strips_are_refused_for_fields_within_a_step():
    assert refuses_to_run_backward(Tilted)
