"""Acoustic waves about an axis of symmetry: phase speeds, limits, gradients, reciprocity and late growth."""

import attrs
import numpy as np
import pytest
from anisotropic_fluids import (
    DELTA,
    DH,
    EPSILON,
    LONG_RUNS,
    VP,
    christoffel_speed,
    late_amplitudes,
    layers,
    measured_speed,
)
from laws import executors

import sweep_core as sweep
from sweep_core import (
    AcousticTTI,
    AcousticVariableDensity,
    AcousticVTI,
    AcousticVTISecondOrder,
    OptionError,
    Shots,
    make_problem,
    ricker,
)
from sweep_core.execution.answers import record_error
from sweep_core.execution.input_warnings import grows
from sweep_core.testing import laws
from sweep_core.testing.cases import case, variant

reference = sweep.backend("reference")
torch_eager = executors("torch-eager")


def with_density(spatial_order=4):
    return AcousticVTI(spatial_order, has_density=True)


def with_azimuth(spatial_order=4):
    return AcousticTTI(spatial_order, has_density=True, has_azimuth=True)


@pytest.mark.parametrize(("kind", "bound"), [(AcousticVTI, 1e-4), (AcousticVTISecondOrder, 1e-3)])
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("angle", np.linspace(0, np.pi / 2, 7))
def test_vti_phase_speeds_obey_the_christoffel_equation(angle, ndim, kind, bound):
    measured = measured_speed(kind(8), (VP, EPSILON, DELTA), angle, ndim)
    assert measured == pytest.approx(christoffel_speed(angle), rel=bound)


@pytest.mark.parametrize("tilt", [0.0, 0.4, -1.0, 1.5])
@pytest.mark.parametrize("angle", np.linspace(0, np.pi, 6))
def test_tti_phase_speeds_obey_the_christoffel_equation(angle, tilt):
    """The bound is 0.5 % at order 4, and 1e-4 at order 8."""
    for order, bound in ((4, 5e-3), (8, 1e-4)):
        measured = measured_speed(AcousticTTI(order), (VP, EPSILON, DELTA, tilt), angle)
        assert measured == pytest.approx(christoffel_speed(angle - tilt), rel=bound)


@pytest.mark.parametrize("phi", [0.0, 0.7, -1.4])
@pytest.mark.parametrize("angle", [0.3, 1.2])
def test_tti_phase_speeds_depend_on_the_azimuth(angle, phi):
    axis = np.array([np.sin(0.6) * np.cos(phi), np.sin(0.6) * np.sin(phi), np.cos(0.6)])
    expected = christoffel_speed(np.arccos(axis @ [np.sin(angle), 0.0, np.cos(angle)]))
    equation = AcousticTTI(8, has_azimuth=True)
    measured = measured_speed(equation, (VP, EPSILON, DELTA, 0.6, phi), angle, 3)
    assert measured == pytest.approx(expected, rel=1e-4)


def pressure(setup, equation, models, **options) -> np.ndarray:
    """Return the record of p of a case with another equation and plain layers."""
    arguments = setup.arguments | {"equation": equation, "receiver_type": ["p"], "pml_type": "cpmls"} | options
    return reference.forward(make_problem(**arguments), setup.shots, models)


@pytest.mark.parametrize("name", ["free surface", "between nodes", "3-D", "3-D, free surface, between nodes"])
def test_without_anisotropy_records_are_acoustic(name):
    """The tilt is random: it has no effect."""
    plain = variant(name, AcousticVariableDensity)
    (vp, rho), zero = plain.models, np.zeros_like(plain.models[0])
    tilt = np.random.default_rng(0).uniform(-1, 1, zero.shape)
    expected = pressure(plain, AcousticVariableDensity(), [vp, rho], source_type=["p"])
    vti = pressure(plain, AcousticVTI(has_density=True), [vp, zero, zero, rho], source_type=["p", "ph"])
    tti = pressure(plain, AcousticTTI(has_density=True), [vp, zero, zero, tilt, rho], source_type=["p"])
    assert record_error(vti, expected) < 1e-13 and record_error(tti, expected) < 1e-13


@pytest.mark.parametrize("name", ["free surface", "3-D"])
def test_without_tilt_records_are_those_of_a_vertical_axis(name):
    setup = variant(name, AcousticVTI)
    expected = pressure(setup, AcousticVTI(), setup.models, source_type=None)
    tilted = pressure(setup, AcousticTTI(), [*setup.models, np.zeros_like(setup.models[0])], source_type=["p"])
    assert record_error(tilted, expected) < 1e-13


@pytest.mark.parametrize("turn", [1, 2])
def test_a_turned_earth_gives_the_turned_record(turn):
    """Quarter turns of the earth, its axis, the source and the receivers leave p unchanged."""
    rng, n, shots = (
        np.random.default_rng(1),
        21,
        Shots(ricker(20.0, 60, 1e-3), np.array([[10, 10]]), np.array([[4, 13]])),
    )
    models = AcousticTTI().example((n, n), rng)
    plain = make_problem(AcousticTTI(), (n, n), DH, 1e-3, pml_width=6)
    expected = reference.forward(plain, shots, models)
    turned = [np.rot90(m, turn) for m in models]
    turned[3] = turned[3] + turn * np.pi / 2
    x, z = 4, 13
    for _ in range(turn):
        x, z = z, n - 1 - x
    record = reference.forward(plain, attrs.evolve(shots, receivers=np.array([[x, z]])), turned)
    assert record_error(record, expected) < 1e-12
    assert record_error(reference.forward(plain, shots, [*models[:3], models[3] + 0.5]), expected) > 0.1


def test_a_source_and_a_receiver_of_pressure_may_change_places():
    """AcousticVTI has the source of volume in both pressures, and the receiver in one."""
    models = AcousticVTI().example((24, 26), np.random.default_rng(3))
    problem = make_problem(AcousticVTI(), (24, 26), DH, 1e-3, pml_width=5)
    wavelet, here, there = ricker(25.0, 120, 1e-3), np.array([[5, 7]]), np.array([[20, 15]])
    one, other = (
        reference.forward(problem, Shots(wavelet, *places), models) for places in ((here, there), (there, here))
    )
    assert record_error(one, other) < 1e-12


@pytest.mark.parametrize("entry", torch_eager)
@pytest.mark.parametrize("field", ["p", "r", "vx", "vz"])
def test_tti_fields_are_reciprocal(entry, field):
    laws.reciprocity(entry, case(AcousticTTI), field)


@pytest.mark.parametrize("entry", torch_eager)
@pytest.mark.parametrize(
    "equation", [AcousticVTI, with_density, AcousticTTI, pytest.param(with_azimuth, marks=pytest.mark.slow)]
)
def test_gradients_of_all_parameters(entry, equation):
    """By the dot product with Born, and by finite differences, both in a rough earth with layers of other widths."""
    shape, nt = ((8, 7, 9), 12) if equation is with_azimuth else ((12, 13), 20)
    setup = case(equation, shape=shape, nt=nt, pml=(3, 0, 4, 2, 2, 1), nshots=2, nrec=4)
    laws.jacobian_and_adjoint(entry, setup)
    laws.gradient_equals_finite_difference(entry, setup)


@pytest.mark.parametrize("kind", [AcousticVTI, AcousticVTISecondOrder, AcousticTTI])
def test_epsilon_below_delta_is_refused_by_name(kind):
    problem = make_problem(kind(), (12, 12), DH, 1e-3)
    models = kind().example((12, 12), np.random.default_rng(0))
    models[1][5, 5], models[2][5, 5] = 0.0, 0.01
    with pytest.raises(sweep.DomainError, match="epsilon >= delta, without which strain would set energy free"):
        reference.forward(problem, Shots(np.ones(3), np.array([[3, 3]]), np.array([[4, 4]])), models)


def test_options_that_are_no_flags_are_refused():
    with pytest.raises(OptionError, match="has_density is 1; expected True or False"):
        AcousticVTI(has_density=1)
    with pytest.raises(OptionError, match="has_azimuth is 'yes'; expected True or False"):
        AcousticTTI(has_azimuth="yes")
    with pytest.raises(sweep.UnsupportedError, match=r"supports only \(3,\)"):
        make_problem(AcousticTTI(has_azimuth=True), (12, 12), DH, 1e-3)


@pytest.mark.parametrize(("entry", "steps"), LONG_RUNS)
@pytest.mark.parametrize("free_surface", [False, True])
@pytest.mark.parametrize("kind", [AcousticVTI, AcousticVTISecondOrder, AcousticTTI])
def test_nothing_grows_in_layers(kind, free_surface, entry, steps):
    models = layers((30, 32), seed=2)[: len(kind().parameters)]
    pml = (0 if free_surface else 12, 12, 12, 12)
    parts = late_amplitudes(kind, models, steps, entry=entry, free_surface=free_surface, pml_width=pml)
    assert parts[-1] < 0.5 and parts[-1] < 1.01 * parts[2]


def test_nothing_grows_in_a_box():
    """Without layers and under a free surface, the energy of tilted waves is conserved."""
    parts = late_amplitudes(AcousticTTI, layers((25, 26), seed=4), 3000, order=4, free_surface=True, pml_width=0)
    assert parts.max() < 10


def test_plain_and_multiaxial_layers_of_tilted_waves_grow():
    """A sponge does not: the same earth decays in it."""
    models = [np.full((24, 24), v) for v in (2500.0, 0.4, -0.1, 0.78)]
    late = {
        name: late_amplitudes(AcousticTTI, models, 1500, pml_type=name, pml_width=20)[-1]
        for name in ("cpmls", "mpmls", "sponge")
    }
    assert late["cpmls"] > 1e3 and late["mpmls"] > 10 and late["sponge"] < 0.1


def test_layers_in_which_tilted_waves_grow_are_warned_of():
    problems = [make_problem(AcousticTTI(), (20, 20), DH, 1e-3, pml_type=name) for name in ("cpmls", "mpmls", "sponge")]
    assert [bool(grows(problem)) for problem in problems] == [True, True, False]
    assert not grows(make_problem(AcousticVTI(), (20, 20), DH, 1e-3))
