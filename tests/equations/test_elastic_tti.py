"""Elastic waves about a tilted axis: Christoffel's equation, limits without tilt, energy, reciprocity, long runs."""

import attrs
import numpy as np
import pytest
from christoffel import ROCK, SHALE, christoffel, stiffness
from dispersion_relation import frequencies
from laws import executors

import sweep_core as sweep
from sweep_core import Elastic, ElasticTTI, ElasticVTI, UnsupportedError, make_problem
from sweep_core.discretization.array_ops import NumpyOps, coefficients_of
from sweep_core.discretization.operators import heights, stencil_of, surface_rows
from sweep_core.execution.answers import record_error
from sweep_core.numerics.free_surface import closed_rows
from sweep_core.testing import entries
from sweep_core.testing.cases import case, layered_case, reference_record, variant
from sweep_core.testing.laws import Broken, fades, forward_equals_reference, jacobian_and_adjoint, reciprocity

(REFERENCE,) = entries.entries("reference")


def about_the_axis(direction, theta, phi) -> np.ndarray:
    """Return a direction (x, y, z) in axes that are turned by theta about y, then by phi about z."""
    tilt = np.array([[np.cos(theta), 0, np.sin(theta)], [0, 1, 0], [-np.sin(theta), 0, np.cos(theta)]])
    turn = np.array([[np.cos(phi), -np.sin(phi), 0], [np.sin(phi), np.cos(phi), 0], [0, 0, 1]])
    return (turn @ tilt).T @ direction


@pytest.mark.parametrize("angle", [0.4, 2.2])
@pytest.mark.parametrize(("theta", "phi"), [(0.4, 0.0), (-1.0, 0.7), (np.pi / 2, 2.0)])
def test_phase_speeds_are_those_of_christoffel(theta, phi, angle):
    k = 0.02 / 10.0
    models = (*ROCK, *SHALE[ElasticVTI], theta, phi)
    direction = np.array([np.sin(angle), 0.0, np.cos(angle)])
    expected = christoffel(stiffness(ElasticVTI), ROCK[2], about_the_axis(direction, theta, phi))
    speeds = frequencies(ElasticTTI(8), models, k, angle, 3).real / k
    np.testing.assert_allclose(speeds, expected, rtol=1e-6)
    assert speeds.max() <= ElasticTTI().speed(*models) * (1 + 1e-6)
    expected = christoffel(stiffness(ElasticVTI), ROCK[2], about_the_axis(direction, theta, 0.0))
    for speed in frequencies(ElasticTTI(8), models, k, angle, 2).real / k:
        assert np.abs(speed / expected - 1).min() < 1e-6, "the axis lies in the plane"


def like(name, plain, equation, *extra):
    """Return the error of the record of another equation, with models of the plain one and constants."""
    setup = variant(name, plain)
    arguments = setup.arguments | {"equation": equation(), "pml_type": "cpmls"}
    models = [*setup.models, *(np.full(setup.models[0].shape, value) for value in extra)]
    record = sweep.backend("reference").forward(make_problem(**arguments), setup.shots, models)
    expected = attrs.evolve(setup, arguments=setup.arguments | {"pml_type": "cpmls"})
    return record_error(record, reference_record(expected))


def test_without_anisotropy_the_record_is_that_of_elastic():
    """A tilt has no effect, and under a free surface all tractions vanish in the same way."""
    for name in ("between nodes", "free surface", "3-D, free surface, between nodes"):
        assert like(name, Elastic, ElasticTTI, 0.0, 0.0, 0.0, 0.7, 0.3) < 1e-12


def test_about_a_vertical_axis_the_record_is_that_of_vti():
    for name in ("free surface", "3-D, free surface, between nodes"):
        assert like(name, ElasticVTI, ElasticTTI, 0.0, 0.3) < 1e-12


def growth(equation, models, **options) -> float:
    """Return the largest magnitude of the eigenvalues of a step at 0.99 of the stated dt, minus one."""
    shape = models[0].shape
    problem = make_problem(equation, shape, 10.0, 1e-3, pml_width=0, **options)
    problem = attrs.evolve(problem, dt=0.99 * problem.largest_dt(*models))
    names, cells = equation.state_names(2), int(np.prod(shape))
    size = len(names) * cells
    state = {name: np.zeros((size, *shape)) for name in names}
    for i, name in enumerate(names):
        state[name].reshape(size, cells)[i * cells + np.arange(cells), np.arange(cells)] = 1
    coefficients = coefficients_of(problem, models, 1, np, np.real)
    state = equation.step(NumpyOps(problem, np.float64), state, coefficients, lambda field, x: x)
    matrix = np.concatenate([state[name].reshape(size, cells) for name in names], 1)
    return np.abs(np.linalg.eigvals(matrix)).max() - 1


@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("order", [2, 4, 8])
def test_energy_does_not_grow_in_a_rough_earth_with_any_tilt(order, surface):
    """Fluids beside solids and density ratios of 50 are included.

    There are no layers. The eigenvalue one of a fluid at rest is multiple, which rounding turns into 1e-8.
    """
    equation, rng, shape = ElasticTTI(order), np.random.default_rng(order), (11, 10)
    models = equation.example(shape, rng, theta=(-3, 3), vs=(200, 1200))
    models[2] = np.exp(rng.uniform(0, np.log(50), shape))
    wet = rng.uniform(size=shape) < 0.2
    for i in (1, 3, 4):
        models[i] = np.where(wet, 0, models[i])
    assert growth(equation, models, free_surface=surface) < 1e-7


def under_a_surface(order, rows):
    return make_problem(ElasticTTI(order), (rows, order), 10.0, 1e-3, pml_width=0, free_surface=True)


@pytest.mark.parametrize("order", [2, 4, 8, 16])
def test_means_below_a_surface_are_transposes_by_the_heights_of_nodes(order):
    """With as many rows as the surface needs, and with more."""
    for rows in (closed_rows(ElasticTTI(order)), 40):
        problem, matrices = under_a_surface(order, rows), []
        for name in ("mxz", "nxz"):
            field = problem.field(name)
            stencil = stencil_of(problem, "mean", 0, field)
            matrix = np.zeros((rows, rows + 2 * order))
            for k, w in enumerate(stencil.weights, start=1):
                for shift in (k - stencil.back, stencil.ahead - k):
                    matrix += w * np.eye(rows, rows + 2 * order, shift + order)
            matrix = matrix[:, order : rows + order]
            first = surface_rows(problem, "mean", field)
            matrix[: len(first)] = 0
            matrix[: len(first), : first.shape[1]] = first
            matrices.append(matrix)
        half, whole = (heights(problem, problem.field(name)) for name in ("mxz", "nxz"))
        energy, transposed = whole[:, None] * matrices[0], half[:, None] * matrices[1]
        np.testing.assert_allclose(energy[1:], transposed.T[1:], rtol=0, atol=1e-14)
        np.testing.assert_allclose(matrices[1][:, 0], 0)  # zero on the surface


@pytest.mark.parametrize("order", [4, 8])
def test_waves_in_the_thinnest_earth_under_a_surface_keep_the_laws(order):
    (param,), rows = executors("torch-c"), closed_rows(ElasticTTI(order))
    setup = variant("free surface", ElasticTTI, order, shape=(rows, 14))
    setup = attrs.evolve(setup, arguments=setup.arguments | {"pml_width": (0, 0, 3, 3)})
    forward_equals_reference(param.values[0], setup)
    jacobian_and_adjoint(param.values[0], setup)


def test_the_mean_of_a_field_that_is_not_odd_is_refused_under_a_surface():
    problem = under_a_surface(4, 20)
    with pytest.raises(UnsupportedError, match="mean of mxz along z has no closure .* expected D, or the mean of a"):
        surface_rows(problem, "mean", attrs.evolve(problem.field("mxz"), parity=0))


def test_source_and_receiver_change_places_between_walls():
    """In a multi-axial layer the means of stretched fields differ: reciprocity holds to 1e-6 there."""
    for options, bound in (({"pml_width": 0}, 1e-12), ({"pml_type": "mpmls"}, 1e-6)):
        setup = case(ElasticTTI)
        setup = attrs.evolve(setup, arguments=setup.arguments | options)
        for field in ("vx", "vz"):
            try:
                assert reciprocity(REFERENCE, setup, field).value < bound
            except Broken as broken:
                assert float(str(broken).split("maximum: ")[1].split(";")[0]) < bound


def tilted_case(order, seed, nt):
    ranges = (("vs", (350.0, 1250.0)), ("theta", (-1.5, 1.5)))
    return layered_case(ElasticTTI, order, nt=nt, shape=(40, 44), seed=seed, nshots=2, ranges=ranges)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "seed", "surface"), [(2, 0, True), (2, 1, True), (4, 0, True), (4, 1, False), (8, 2, True)]
)
def test_law5_waves_fade_in_tilted_layers(order, seed, surface):
    """20,000 steps with sponges; in the second earth waves grow in a multi-axial layer."""
    setup = tilted_case(order, seed, 20_000)
    setup = attrs.evolve(setup, arguments=setup.arguments | {"free_surface": surface})
    (param,) = executors("torch-c")
    assert fades(param.values[0], setup).value < 1
