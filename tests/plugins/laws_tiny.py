"""Tests of backend 'tiny' beyond tests/equations/test_laws.py. test_plugins.py runs both with the package installed."""

import attrs
import numpy as np
import pytest
from laws import VARIANTS, case, error, reference_born, variant

import sweep_core as sweep
from sweep_core import ShotPlan, Shots, make_problem
from sweep_core.errors import DomainError, DtypeError, ShapeError, StabilityError, UnsupportedError
from sweep_core.testing.entries import entries
from sweep_core.testing.laws import no_shots, pullback_is_the_gradient


@pytest.fixture
def tiny():
    return sweep.backend("tiny")


def call(executor, example, observed=None):
    if observed is None:
        return executor.forward(example.problem, example.shots, example.models)
    return executor.misfit_and_gradient(example.problem, example.shots, example.models, observed)


def test_tiny_is_an_executor(tiny):
    assert isinstance(tiny, sweep.Executor) and tiny.name == "tiny"
    assert tiny.supports(case().problem)


def test_pullback_is_the_gradient(tiny):
    """A later change of the caller's list has no effect. Cotangents must have the shape of the record."""
    (entry,) = entries("tiny")
    for name in (None, "increments between nodes, an earth each", "no time dispersion, masked"):
        assert pullback_is_the_gradient(entry, variant(name) if name else case()).value < 1e-12
    setup = case()
    models = list(setup.models)
    record, pull = tiny.pullback(setup.problem, setup.shots, models)
    (expected,) = pull(setup.noise())
    models.clear()
    np.testing.assert_array_equal(pull(setup.noise()), [expected])
    with pytest.raises(ShapeError, match="the cotangent has shape .*; expected that of the record"):
        pull(record[:1])
    assert no_shots(entry, setup).value == 0


def test_the_wavelet_gradient_is_the_adjoint():
    """<F x, y> = <x, F^T y> for the run inside misfit_and_gradient."""
    setup = case()
    shape = sweep.check_arrays(setup.problem, setup.shots, setup.models)
    run = sweep.NumpyRun(setup.problem, shape, setup.shots, setup.models, gradient=True)
    record, y = run.forward(), setup.noise()
    run.gradient(y)
    x, back = run.buffers["wavelet"], run.buffers["gradient_wavelet"]
    assert abs(np.vdot(record, y) - np.vdot(x, back)) <= 1e-12 * np.abs(x * back).sum()


@pytest.mark.parametrize("strategy", ["recursive", "disk", "boundary-disk"])
def test_memory_strategies_agree(tiny, strategy):
    """A staggered equation with slices of time and history on disk. A second pull has the bits of the first."""
    setup, gradients = variant("free surface", sweep.Elastic), []
    for example in (setup, setup.remembering(strategy)):
        _, pull = tiny.pullback(example.problem, example.shots, example.models)
        gradients.append(pull(setup.noise()))
        np.testing.assert_array_equal(gradients[-1], pull(setup.noise()))
    assert all(error(g, expected) < 1e-11 for expected, g in zip(*gradients, strict=True))


@pytest.mark.parametrize("size", [1, 2, 5, 7])
def test_ranks_add_up(tiny, size):
    """5 shots on any number of ranks, evenly split or not, give the gradient of one rank."""
    setup = case(nshots=5)
    observed = call(tiny, setup) - setup.noise()
    misfit, (gradient,) = call(tiny, setup, observed)
    plan = ShotPlan(5, size)
    parts = [list(plan.part(rank)) for rank in range(size) if len(plan.part(rank))]
    answers = [call(tiny, attrs.evolve(setup, shots=setup.shots.take(i)), observed[i]) for i in parts]
    assert sum(m for m, _ in answers) == pytest.approx(misfit, rel=1e-13)
    assert error(sum(g[0] for _, g in answers), gradient) < 1e-13


def test_the_number_of_threads_changes_no_bit(tiny, monkeypatch):
    setup, gradients = case(nshots=5), []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        gradients.append(call(tiny, setup, setup.noise())[1][0])
    assert all(np.array_equal(g, gradients[0]) for g in gradients)


def test_arguments_do_not_change(tiny):
    example = case()
    saved = [example.shots.wavelet.copy(), example.models[0].copy(), example.noise()]
    observed = example.noise()
    call(tiny, example, observed)
    assert all(
        np.array_equal(a, b) for a, b in zip(saved, (example.shots.wavelet, example.models[0], observed), strict=True)
    )


def test_bad_input_is_refused(tiny):
    setup = case()
    p, shots, (vp,) = setup.problem, setup.shots, setup.models
    with pytest.raises(DomainError, match=r"outside 0..22"):
        tiny.forward(p, Shots(shots.wavelet, shots.sources + 23, shots.receivers), [vp])
    with pytest.raises(StabilityError, match="the largest stable dt is"):
        tiny.forward(p, shots, [vp * 10])
    with pytest.raises(DtypeError, match="expected a list or tuple"):
        tiny.forward(p, shots, vp)
    with pytest.raises(DtypeError, match="give both in one dtype"):
        tiny.forward(p, shots, [vp.astype(np.float32)])


@pytest.mark.parametrize("name", [None, *VARIANTS])
def test_born_equals_the_reference(tiny, name):
    setup = variant(name) if name else case()
    born = tiny.born(setup.problem, setup.shots, setup.models, setup.direction())
    assert error(born, reference_born(setup)) < 1e-12


@pytest.mark.parametrize("name", VARIANTS)
def test_single_precision_equals_double(tiny, name):
    setup, y = variant(name), variant(name).noise()
    single = setup.typed(np.float32)
    _, (double,) = call(tiny, setup, call(tiny, setup) - y)
    _, (gradient,) = call(tiny, single, call(tiny, single) - y.astype(np.float32))
    assert gradient.dtype == np.float32 and error(gradient, double) < 1e-5


def test_bad_perturbations_are_refused(tiny):
    setup = case()
    with pytest.raises(ShapeError, match=r"perturbation 0 has shape \(18, 23\); expected \(19, 23\)"):
        tiny.born(setup.problem, setup.shots, setup.models, [setup.models[0][1:]])


def test_an_equation_without_compiled_code_is_refused_by_name(tiny):
    class Unknown(sweep.Acoustic):
        name = "unknown"

        def step(self, *arguments):
            return super().step(*arguments)

    setup = case(Unknown)
    support = tiny.supports(setup.problem)
    assert not support and "Unknown has a step() of its own" in support.reason
    with pytest.raises(UnsupportedError, match="Unknown has a step"):
        call(tiny, setup)


def test_every_dimension_of_compiled_code_is_supported(tiny):
    """The package of `damped` has no library here; the compiler of this machine makes one."""
    damped = sweep.equations()["damped"]
    for shape in ((9, 9), (9, 9, 9)):
        assert tiny.supports(make_problem(sweep.Acoustic(), shape, 10.0, 0.001))
        assert tiny.supports(make_problem(damped(), shape, 10.0, 0.001))
