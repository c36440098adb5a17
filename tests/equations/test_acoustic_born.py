"""Scattered waves of AcousticBorn: equal to Born modelling by other equations, linear in mp, and differentiable."""

import numpy as np
import pytest
from laws import executors
from waves import misfit

import sweep_core as sweep
from sweep_core import Acoustic, AcousticBorn, AcousticVariableDensity, Shots, make_problem, ricker
from sweep_core.execution.answers import record_error
from sweep_core.testing import laws
from sweep_core.testing.cases import case, variant

reference = sweep.backend("reference")


def scattered(setup, models, equation=None, **options) -> np.ndarray:
    """Return the record of AcousticBorn with the grid, the layers and the shots of a case."""
    defaults = {"equation": equation or AcousticBorn(), "source_type": None, "receiver_type": None}
    return reference.forward(make_problem(**setup.arguments | defaults | options), setup.shots, models)


def reflectivity(shape, seed=5) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.2, 0.2, shape)


@pytest.mark.parametrize("has_density", [False, True])
@pytest.mark.parametrize(
    "name", ["free surface, between nodes", "an earth each", "3-D", "3-D, free surface, between nodes"]
)
def test_the_record_is_the_derivative_of_the_background(name, has_density):
    """Born modelling of AcousticVariableDensity by complex step, for dvp = mp vp / 2."""
    setup = variant(name, AcousticVariableDensity)
    vp, rho = setup.models
    rho = rho if has_density else np.ones_like(rho)
    mp = reflectivity(vp.shape)
    plain = make_problem(**setup.arguments | {"source_type": ["p"], "receiver_type": ["p"]})
    expected = reference.born(plain, setup.shots, [vp, rho], [mp * vp / 2, 0 * rho])
    record = scattered(setup, [vp, mp, rho][: 2 + has_density], AcousticBorn(has_density=has_density))
    assert record_error(record, expected) < 1e-12


@pytest.mark.parametrize("entry", executors("torch-c"))
def test_a_smooth_reflector_scatters_as_born_of_acoustic(entry):
    """The source of Acoustic is the time derivative of that of p; their Laplacians differ in truncation alone."""
    n, dt, nt = 60, 1e-3, 400
    z, x = np.indices((n, n))
    mp = 0.1 * np.exp(-((z - 40) ** 2 + (x - 33) ** 2) / 18)
    vp = 2000 + 5.0 * z
    wavelet = ricker(12.0, nt, dt)
    grid = {"shape": (n, n), "dh": 10.0, "dt": dt}
    at = np.array([[30, 10]]), np.array([(x, 8) for x in range(10, 51, 10)])
    acoustic = make_problem(Acoustic(8), **grid)
    expected = entry.executor_for(acoustic).born(acoustic, Shots(wavelet, *at), [vp], [mp * vp / 2])
    problem = make_problem(AcousticBorn(8), **grid)
    record = reference.forward(problem, Shots(np.cumsum(wavelet) * dt, *at), [vp, mp])
    # A sample of a source acts half a step earlier than the value of Acoustic that it changes.
    assert misfit(record, np.asarray(expected)) < 0.01


def test_the_record_is_linear_in_the_reflectivity():
    setup = case(AcousticBorn)
    vp, mp = setup.models
    one, other = (scattered(setup, [vp, x]) for x in (mp, mp + 0.3))
    assert record_error(scattered(setup, [vp, 3 * mp - 2 * (mp + 0.3)]), 3 * one - 2 * other) < 1e-12
    assert not scattered(setup, [vp, 0 * mp]).any()


def test_a_source_of_the_background_alone_scatters_outside_its_cells():
    """The two conventions differ if mp is not zero at the source, and agree if it is."""
    setup = case(AcousticBorn)
    vp, mp = setup.models
    assert record_error(scattered(setup, [vp, mp], source_type=["p"]), scattered(setup, [vp, mp])) > 1e-3
    for shot in setup.shots.sources:
        for x, z in shot:
            mp[z, x] = 0
    assert record_error(scattered(setup, [vp, mp], source_type=["p"]), scattered(setup, [vp, mp])) < 1e-12


@pytest.mark.parametrize("entry", executors("torch-eager"))
def test_gradients_of_speed_and_reflectivity(entry):
    setup = case(AcousticBorn, shape=(12, 13), nt=20, pml=(3, 0, 4, 2), nshots=2, nrec=4)
    laws.jacobian_and_adjoint(entry, setup)
    laws.gradient_equals_finite_difference(entry, setup)


def test_the_gradient_in_the_reflectivity_is_the_transpose_of_born():
    """<Born mp, d> = <mp, image of d> in an earth without contrasts at the source."""
    torch = pytest.importorskip("torch")
    from sweep_torch import PropTorch

    rng, shape = np.random.default_rng(0), (16, 18)
    solver = PropTorch(AcousticBorn(), shape=shape, dh=10.0, dt=1e-3, pml_width=4, impl="eager")
    vp, mp = (
        torch.full(shape, 2000.0, dtype=torch.float64),
        torch.tensor(rng.standard_normal(shape), requires_grad=True),
    )
    record = solver(
        torch.tensor(ricker(30.0, 40, 1e-3)), np.array([[4, 3]]), np.array([[12, 3], [9, 9]]), models=[vp, mp]
    )
    data = torch.tensor(rng.standard_normal(record.shape))
    (image,) = torch.autograd.grad(record, mp, data)
    assert float((record * data).sum().detach()) == pytest.approx(float((image * mp).sum().detach()), rel=1e-12)
