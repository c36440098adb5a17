"""Tests of equation 'damped'. test_plugins.py runs this file and tests/equations/test_laws.py."""

import numpy as np
import pytest
from laws import case, error, reference_born
from refusals import refuses_to_run_backward

import sweep_core as sweep
from sweep_core import Acoustic, Shots, make_problem, native, ricker
from sweep_core.discretization.array_ops import NumpyOps
from sweep_core.errors import DomainError, NativeError, StabilityError, UnsupportedError
from sweep_core.native import library, structs
from sweep_core.native.codegen import statement
from sweep_core.native.selection import installed

reference = sweep.backend("reference")
Damped = sweep.equations()["damped"]


# --- the equation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(12, 15), (7, 8, 9)])
def test_a_standing_mode_decays_as_predicted(shape):
    """In a closed box the amplitude of a product of sines is r^k cos(omega k dt).

    r^2 = (1 - g) / (1 + g) with g = gamma dt, and sqrt(1 - g^2) cos(omega dt) = 1 - dt^2 vp^2 kappa^2 / 2.
    """
    vp, gamma, dt, dh = 2000.0, 40.0, 0.001, 10.0
    problem = make_problem(Damped(spatial_order=2), shape, dh, dt, pml_width=0)
    mode, squared = 1.0, 0.0
    for axis, n in enumerate(shape):
        half_phase = np.pi * (axis + 1) / (n + 1) / 2
        along = np.sin(2 * half_phase * np.arange(1, n + 1)).reshape((-1,) + (1,) * (len(shape) - 1 - axis))
        mode = mode * along
        squared += 4 * np.sin(half_phase) ** 2 / dh**2
    g = gamma * dt
    root = np.sqrt((1 - g) / (1 + g)) * np.exp(1j * np.arccos((1 - (dt * vp) ** 2 * squared / 2) / np.sqrt(1 - g**2)))
    coefficients = tuple(np.full((1, *shape), c) for c in (vp**2 / (1 + g), -g / (1 + g)))
    state = {name: np.zeros((1, *shape)) for name in problem.equation.state_names(len(shape))}
    state |= {"h1": mode[None], "h1_old": mode[None] * (1 / root).real}
    for k in range(1, 200):
        state = problem.equation.step(NumpyOps(problem, np.float64), state, coefficients, lambda field, x: x)
        assert np.abs(state["h1"] - mode * (root**k).real).max() < 1e-12


def plain_loop(shots, vp, gamma, dh, dt):
    """Return the record of second-order differences in a closed box, computed without SWEEP."""
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
                change += (around[tuple(before)] - 2 * u + around[tuple(after)]) / dh[axis] ** 2
            change[at] += shots.wavelet[k] / np.prod(dh)
            # vp^-2 ((new - 2 u + old) / dt^2 + 2 gamma (new - old) / (2 dt)) = change
            new = (vp**2 * change + 2 * u / dt**2 - old * (1 / dt**2 - gamma / dt)) / (1 / dt**2 + gamma / dt)
            u, old = new, u
    return record


@pytest.mark.parametrize("shape", [(17, 20), (9, 10, 11)])
def test_forward_equals_a_plain_loop(shape):
    rng, nt, dt = np.random.default_rng(0), 80, 0.001
    dh = (10.0, 9.0, 8.0)[: len(shape)]
    vp, gamma = rng.uniform(1800, 2200, shape), rng.uniform(0, 60, shape)
    points = np.stack([rng.integers(0, n, 6) for n in shape[::-1]], axis=1)
    shots = Shots(ricker(40, nt, dt), points[:2], points)
    problem = make_problem(Damped(spatial_order=2), shape, dh, dt, pml_width=0)
    expected = plain_loop(shots, vp, gamma, dh, dt)
    assert error(reference.forward(problem, shots, [vp, gamma]), expected) < 1e-12


def test_without_damping_the_record_is_acoustic():
    setup, plain = case(Damped), case(Acoustic)
    record = reference.forward(setup.problem, plain.shots, [plain.models[0], np.zeros(plain.models[0].shape)])
    assert error(record, reference.forward(plain.problem, plain.shots, plain.models)) < 1e-13


def test_bounds_and_stability_follow_from_the_equation():
    setup = case(Damped)
    vp, gamma = setup.models
    with pytest.raises(DomainError, match="gamma is -1.0 .*; expected finite values from 0"):
        reference.forward(setup.problem, setup.shots, [vp, np.full_like(gamma, -1)])
    reference.forward(setup.problem, setup.shots, [np.full_like(vp, 0.99 * setup.problem.largest_speed), gamma])
    with pytest.raises(StabilityError, match="the largest stable dt is"):
        reference.forward(setup.problem, setup.shots, [np.full_like(vp, 1.01 * setup.problem.largest_speed), gamma])


def test_an_unsupported_dimension_is_refused_by_name():
    class Flat(Damped):
        ndims = (2,)

    assert make_problem(Flat(), (20, 20), 10.0, 0.001).grid.ndim == 2
    with pytest.raises(UnsupportedError, match=r"of 3 dimensions; damped supports only \(2,\) yet"):
        make_problem(Flat(), (20, 20, 20), 10.0, 0.001)


# --- torch and JAX ----------------------------------------------------------------------------------------------------


def test_transforms_of_torch_agree_with_autograd():
    """Results of torch.func and torch.compile equal those of autograd and the reference."""
    torch = pytest.importorskip("torch")
    from sweep_torch import PropTorch

    setup = case(Damped)
    solver = PropTorch(**setup.arguments, impl="c")
    call = [torch.tensor(x) for x in (setup.shots.wavelet, setup.shots.sources, setup.shots.receivers)]
    models = [torch.tensor(m) for m in setup.models]

    def record(*models):
        return solver(*call, models=list(models))

    directions = tuple(torch.tensor(d) for d in setup.direction())
    assert error(torch.func.jvp(record, tuple(models), directions)[1], reference_born(setup)) < 1e-12

    def misfit(vp, gamma):
        return record(vp, gamma).square().sum()

    leaves = [m.clone().requires_grad_() for m in models]
    expected = torch.autograd.grad(misfit(*leaves), leaves)
    compiled = torch.compile(misfit, fullgraph=True, backend="aot_eager")
    answers = torch.func.grad(misfit, (0, 1))(*models), torch.autograd.grad(compiled(*leaves), leaves)
    for gradients in answers:
        for result, reference_gradient in zip(gradients, expected, strict=True):
            assert error(result, reference_gradient.numpy()) < 1e-12
    with pytest.raises(StabilityError):
        torch.func.grad(misfit)(models[0] * 5, models[1])


@pytest.mark.parametrize("impl", ["eager", "c"])
def test_jax_agrees_with_the_reference(impl):
    """A call of SWEEP's own library, whose functions have the same names, comes first."""
    pytest.importorskip("jax")
    from sweep_jax import JaxExecutor

    backend = JaxExecutor(impl)
    for result in (*((case(Damped), case(Acoustic)) if impl == "c" else ()), case(Damped, 2)):
        record = np.asarray(backend.forward(result.problem, result.shots, result.models))
        assert error(record, reference.forward(result.problem, result.shots, result.models)) < 1e-12
    _, gradients = backend.misfit_and_gradient(result.problem, result.shots, result.models, record - result.noise())
    born = backend.born(result.problem, result.shots, result.models, result.direction())
    assert error(born, reference_born(result)) < 1e-12
    terms = np.concatenate([(d * np.asarray(g)).ravel() for d, g in zip(result.direction(), gradients, strict=True)])
    assert abs(terms.sum() - np.vdot(reference_born(result), result.noise())) < 1e-12 * np.abs(terms).sum()


# --- the library ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ndim", Damped.ndims)
def test_the_library_holds_the_class(ndim):
    (compiled,) = native.load("cpu", Damped.library).describe(ndim)
    assert compiled.name.decode() == Damped.name and compiled.ndim_mask == sum(1 << n for n in Damped.ndims)
    assert compiled.statement.decode() == statement(Damped())


def test_boundary_strips_are_refused_for_a_lossy_equation():
    assert refuses_to_run_backward(Damped)


def test_a_class_with_other_tables_does_not_run_the_library():
    class Undamped(Damped):
        moduli = Damped.moduli[:1]

    library, reason = installed(Undamped(), 2, "cpu")
    assert library is None and "libsweep_cpu of sweep_damped holds another damped, with other tables" in reason


def test_auto_uses_compiled_code_and_names_its_library():
    pytest.importorskip("torch")
    from sweep_torch import PropTorch

    solver = PropTorch(Damped(), shape=(20, 20), dh=10.0, dt=0.001)
    assert solver.impl == "c" and "libsweep_cpu of sweep_damped" in solver.explain()


def test_a_library_of_other_sources_works_but_another_abi_is_refused(monkeypatch):
    path = library.find("cpu", Damped.library)
    monkeypatch.setattr(library, "source_id", lambda: "other sources")
    monkeypatch.delenv("SWEEP_NATIVE_DIR", raising=False)
    native.Library(path, Damped.library)
    with pytest.raises(NativeError, match="is stale"):
        native.Library(path)
    with monkeypatch.context() as patch:
        patch.setattr(structs, "ABI_VERSION", structs.ABI_VERSION + 1)
        with pytest.raises(
            NativeError, match=r"ABI version of .* is \d+; expected \d+; rebuild sweep_damped with this SWEEP"
        ):
            native.Library(path, Damped.library)
    monkeypatch.setattr(structs, "layout", lambda: [0])
    with pytest.raises(NativeError, match="layout of the structs of .* is .*; rebuild sweep_damped with this SWEEP"):
        native.Library(path, Damped.library)


@pytest.mark.parametrize("package", ["sweep_absent", "sweep_absent.native", "json.decoder", "json"])
def test_a_package_without_the_library_is_named(package):
    class Elsewhere(Damped):
        library = package

    library, reason = installed(Elsewhere(), 2, "cpu")
    assert library is None and f"package {package} holds no libsweep_cpu" in reason
