"""The reference is linear, causal and differentiable; law 5 checks its text."""

import attrs
import numpy as np
import pytest
from laws import case, error, known_equations, reference_born, reference_record

from sweep_core import Executor, Shots, UnsupportedError, backend
from sweep_core.execution.reference import ReferenceExecutor

equation = pytest.mark.parametrize("equation", known_equations())
reference = ReferenceExecutor()


def run(example, **changes):
    shots = attrs.evolve(example.shots, **changes)
    return reference.forward(example.problem, shots, example.models)


def test_the_reference_is_a_registered_executor():
    assert isinstance(backend("reference"), ReferenceExecutor)
    assert isinstance(reference, Executor) and reference.supports(case().problem)


@equation
def test_the_record_is_linear_in_the_wavelet(equation):
    setup, rng = case(equation), np.random.default_rng(5)
    a, b = rng.standard_normal((2, *setup.shots.wavelet.shape))
    both = run(setup, wavelet=2 * a - 3 * b)
    assert error(both, 2 * run(setup, wavelet=a) - 3 * run(setup, wavelet=b)) < 1e-12


@equation
def test_the_record_is_causal_and_time_invariant(equation):
    setup = case(equation)
    wavelet = np.zeros(setup.shots.wavelet.shape)
    wavelet[..., 5] = 1
    late = run(setup, wavelet=wavelet)
    early = run(setup, wavelet=np.roll(wavelet, -5, axis=-1))
    for i, field in enumerate(setup.problem.receiver_type):
        first = 6 - setup.problem.at_half_step(field)
        assert not late[:, :first, :, i].any(), "record[k] is the field before wavelet[k] acts, but half a step later"
    np.testing.assert_array_equal(late[:, 5:], early[:, :-5])


@equation
def test_the_records_of_several_sources_add_up(equation):
    setup = case(equation, nsrc=2)
    one, two = (run(setup, sources=setup.shots.sources[:, [i]], wavelet=setup.shots.wavelet[:, [i]]) for i in range(2))
    assert error(one + two, reference_record(setup)) < 1e-12


def test_sources_may_share_a_cell():
    setup = case(nsrc=2)
    twice = np.repeat(setup.shots.sources[:, :1], 2, axis=1)
    once = run(setup, sources=setup.shots.sources[:, :1], wavelet=setup.shots.wavelet.sum(1, keepdims=True))
    assert error(run(setup, sources=twice), once) < 1e-12


@equation
def test_born_equals_a_finite_difference(equation):
    setup = case(equation)

    def record_at(h):
        models = [m + h * d for m, d in zip(setup.models, setup.direction(), strict=True)]
        return reference.forward(setup.problem, setup.shots, models)

    h = 1e-4 / 3
    difference = (8 * (record_at(h) - record_at(-h)) - (record_at(2 * h) - record_at(-2 * h))) / (12 * h)
    assert error(difference, reference_born(setup)) < 1e-8


@equation
def test_born_is_linear(equation):
    setup = case(equation)
    a, b = setup.direction(3), setup.direction(4)
    both = [2 * x - y for x, y in zip(a, b, strict=True)]
    first, second, sum_of = (reference.born(setup.problem, setup.shots, setup.models, d) for d in (a, b, both))
    assert error(sum_of, 2 * first - second) < 1e-12


def test_the_field_is_zero_outside_without_a_layer():
    """A wall of zeros equals a mirror source of opposite sign."""
    setup = case(shape=(30, 20), pml=0, order=2, nt=60)
    model, wavelet = [np.full((30, 20), 2000.0)], setup.shots.wavelet[0, 0]
    mirrored = attrs.evolve(setup, arguments=setup.arguments | {"shape": (61, 20)}, models=[np.full((61, 20), 2000.0)])
    walled = attrs.evolve(setup, shots=Shots(wavelet, np.array([[7, 26]]), np.array([[12, 20]])), models=model)
    pair = Shots(np.stack([wavelet, -wavelet])[None], np.array([[[7, 26], [7, 34]]]), np.array([[12, 20], [3, 30]]))
    record = run(attrs.evolve(mirrored, shots=pair))
    assert error(run(walled)[..., 0, :], record[..., 0, :]) < 1e-12
    assert np.abs(record[:, :, 1]).max() < 1e-12 * np.abs(record).max()


def test_the_reference_refuses_gradients_by_name():
    setup = case()
    with pytest.raises(UnsupportedError, match="reference backend computes no gradient; use backend 'torch' or 'jax'"):
        reference.misfit_and_gradient(setup.problem, setup.shots, setup.models, setup.noise())
