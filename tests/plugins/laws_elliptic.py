"""What is special to equation 'elliptic'. test_plugins.py runs this and tests/equations/test_laws.py over it."""

import numpy as np
import pytest
from laws import case, error

import sweep_core as sweep
from sweep_core import Acoustic, Shots, make_problem, ricker
from sweep_core.errors import DomainError, StabilityError, UnsupportedError
from sweep_core.ops import NumpyOps

reference = sweep.backend("reference")
Elliptic = sweep.equations()["elliptic"]


@pytest.mark.parametrize("shape", [(12, 15), (7, 8, 9)])
def test_standing_mode(shape):
    """In a closed box a product of sines swings as cos(omega k dt), with 4 sin(omega dt / 2)^2 = dt^2 c^2 k^2."""
    vp, epsilon, dt, dh = 2000.0, 0.2, 0.001, 10.0
    problem = make_problem(Elliptic(spatial_order=2), shape, dh, dt, pml_width=0)
    ops = NumpyOps(problem, np.float64)
    mode, squared = 1.0, 0.0
    for axis, n in enumerate(shape):
        half_phase = np.pi * (axis + 1) / (n + 1) / 2
        along = np.sin(2 * half_phase * np.arange(1, n + 1)).reshape((-1,) + (1,) * (len(shape) - 1 - axis))
        mode = mode * along
        squared += (4 * np.sin(half_phase) ** 2 / dh**2) * (vp**2 if axis == 0 else vp**2 * (1 + 2 * epsilon))
    omega = 2 * np.arcsin(dt * np.sqrt(squared) / 2) / dt
    coefficients = [np.full((1, *shape), c) for c in problem.equation.coefficients(None, vp, epsilon)]
    state = {name: np.zeros((1, *shape)) for name in problem.equation.state_names(len(shape))}
    state |= {"h1": mode[None], "h1_old": mode[None] * np.cos(omega * dt)}
    for k in range(1, 200):
        state = problem.equation.step(ops, state, tuple(coefficients), lambda field, x: x)
        assert np.abs(state["h1"] - mode * np.cos(omega * k * dt)).max() < 1e-11


def plain_loop(shots, vp, epsilon, dh, dt):
    """Second-order differences in a closed box, written without SWEEP."""
    ndim, nt = vp.ndim, shots.wavelet.shape[-1]
    record = np.zeros((len(shots), nt, len(shots.receivers), 1))
    for shot in range(len(shots)):
        u, old = np.zeros(vp.shape), np.zeros(vp.shape)
        at = tuple(shots.sources[shot][::-1])
        for k in range(nt):
            record[shot, k, :, 0] = u[tuple(shots.receivers.T[::-1])]
            around = np.pad(u, 1)
            change = np.zeros(vp.shape)
            for axis in range(ndim):
                inside = [slice(1, -1)] * ndim
                before, after = list(inside), list(inside)
                before[axis], after[axis] = slice(0, -2), slice(2, None)
                second = (around[tuple(before)] - 2 * u + around[tuple(after)]) / dh[axis] ** 2
                change += second * (1 if axis == 0 else 1 + 2 * epsilon)
            change[at] += shots.wavelet[k] / np.prod(dh)
            u, old = 2 * u - old + dt**2 * vp**2 * change, u
    return record


@pytest.mark.parametrize("shape", [(17, 20), (9, 10, 11)])
def test_forward_equals_a_plain_loop(shape):
    rng, nt, dt = np.random.default_rng(0), 80, 0.001
    dh = (10.0, 9.0, 8.0)[: len(shape)]
    vp, epsilon = rng.uniform(1800, 2200, shape), rng.uniform(-0.1, 0.3, shape)
    points = np.stack([rng.integers(0, n, 6) for n in shape[::-1]], axis=1)
    shots = Shots(ricker(40, nt, dt), points[:2], points)
    problem = make_problem(Elliptic(spatial_order=2), shape, dh, dt, pml_width=0)
    expected = plain_loop(shots, vp, epsilon, dh, dt)
    assert error(reference.forward(problem, shots, [vp, epsilon]), expected) < 1e-12


@pytest.mark.parametrize("order", [4, 8])
def test_it_is_an_isotropic_earth_seen_through_a_stretch(order):
    """u(x, z) of a uniform epsilon is that of Acoustic at x / sqrt(1 + 2 epsilon), where delta is as much larger."""
    (nz, nx), (dz, dx), dt, epsilon = (30, 34), (10.0, 12.0), 0.001, 0.3
    stretch = np.sqrt(1 + 2 * epsilon)
    vp = np.random.default_rng(0).uniform(1800, 2200, (nz, nx))
    shots = Shots(ricker(30, 120, dt), np.array([[5, 6]]), np.array([[30, 3], [6, 25], [17, 15]]))
    here = make_problem(Elliptic(order), (nz, nx), (dz, dx), dt, pml_width=0)
    there = make_problem(Acoustic(order), (nz, nx), (dz, dx / stretch), dt, pml_width=0)
    record = reference.forward(here, shots, [vp, np.full((nz, nx), epsilon)])
    assert error(record, reference.forward(there, shots, [vp]) / stretch) < 1e-12


def test_without_anisotropy_it_is_acoustic():
    made, plain = case(Elliptic), case(Acoustic)
    record = reference.forward(made.problem, plain.shots, [plain.models[0], np.zeros(plain.models[0].shape)])
    assert error(record, reference.forward(plain.problem, plain.shots, plain.models)) < 1e-13


def test_gradient_of_torch_equals_finite_differences():
    torch = pytest.importorskip("torch")
    from sweep_torch import PropTorch

    made = case(Elliptic)
    solver = PropTorch(**made.arguments, impl="eager")
    weights = torch.tensor(made.noise())

    def functional(vp, epsilon):
        return (solver(torch.tensor(made.shots.wavelet), *points, models=[vp, epsilon]) * weights).sum()

    points = made.shots.sources, made.shots.receivers
    models = [torch.tensor(m, requires_grad=True) for m in made.models]
    gradients = torch.autograd.grad(functional(*models), models)
    for i, h in enumerate((1e-2, 1e-5)):
        for cell in ((9, 11), (0, 11), (18, 22)):
            values = []
            for sign in (1, -1):
                moved = [m.detach().clone() for m in models]
                moved[i][cell] += sign * h
                values.append(functional(*moved).item())
            slope = (values[0] - values[1]) / (2 * h)
            near = 1e-6 * gradients[i].abs().max().item()
            assert slope == pytest.approx(gradients[i][cell].item(), rel=1e-5, abs=near)


def test_jax_agrees_with_the_reference():
    pytest.importorskip("jax")
    from sweep_jax import JaxExecutor

    made, eager = case(Elliptic), JaxExecutor("eager")
    record = np.asarray(eager.forward(made.problem, made.shots, made.models))
    assert error(record, reference.forward(made.problem, made.shots, made.models)) < 1e-12
    _, gradients = eager.misfit_and_gradient(made.problem, made.shots, made.models, record - made.noise())
    born = reference.born(made.problem, made.shots, made.models, made.direction())
    terms = np.concatenate([(d * np.asarray(g)).ravel() for d, g in zip(made.direction(), gradients, strict=True)])
    assert abs(terms.sum() - np.vdot(born, made.noise())) < 1e-12 * np.abs(terms).sum()


def test_compiled_code_is_refused_by_name_and_auto_is_eager():
    pytest.importorskip("torch")
    from sweep_torch import PropTorch

    with pytest.raises(UnsupportedError, match="impl='c' cannot run elliptic"):
        PropTorch(Elliptic(), shape=(20, 20), dh=10.0, dt=0.001, impl="c")
    solver = PropTorch(Elliptic(), shape=(20, 20), dh=10.0, dt=0.001)
    assert solver.impl == "eager" and "elliptic" in solver.explain()


def test_a_dimension_that_an_equation_does_not_state_is_refused_by_name():
    class Flat(Elliptic):
        ndims = (2,)

    assert make_problem(Flat(), (20, 20), 10.0, 0.001).grid.ndim == 2
    with pytest.raises(UnsupportedError, match=r"elliptic is supported in \(2,\) dimensions.*, not in 3"):
        make_problem(Flat(), (20, 20, 20), 10.0, 0.001)


def test_bounds_and_stability_follow_from_the_equation():
    made = case(Elliptic)
    vp, epsilon = made.models
    with pytest.raises(DomainError, match="epsilon is -0.6 .*; expected finite values above -0.5"):
        reference.forward(made.problem, made.shots, [vp, np.full_like(epsilon, -0.6)])
    fast = np.full_like(vp, 0.95 * made.problem.largest_speed)
    reference.forward(made.problem, made.shots, [fast, np.zeros_like(vp)])
    with pytest.raises(StabilityError, match="the largest stable dt is"):
        reference.forward(made.problem, made.shots, [fast, np.full_like(vp, 0.1)])
