"""Executor.pullback: one forward run, and the gradient of any misfit of its record."""

import attrs
import numpy as np
import pytest
from laws import case, executors, known_equations, numpy_of

from sweep_core import Acoustic, DtypeError, ShapeError, SweepError, UnsupportedError
from sweep_core.execution.reference import ReferenceExecutor
from sweep_core.native import CompiledCall

# JAX, which compiles each problem for seconds, has one.
some = pytest.mark.parametrize(
    ("entry", "equation", "strategy"),
    [
        pytest.param(*p.values, *e.values, s, id=f"{p.id}-{e.id}-{s}", marks=p.marks)
        for p in executors(gradient=True)
        for e in known_equations()
        for s in ("full", "ckpt")
        if "jax" not in p.id or (e.values[0] is Acoustic and s == "ckpt")
    ],
)


def pulled(entry, made):
    return entry.executor_for(made.problem).pullback(made.problem, made.shots, made.models)


@some
def test_that_of_the_residual_is_the_gradient_of_the_misfit(entry, equation, strategy):
    """To the last bit."""
    made = case(equation).remembering(strategy)
    record, pull = pulled(entry, made)
    np.testing.assert_array_equal(numpy_of(record), entry.forward(made))
    observed = entry.forward(made) - made.noise()
    misfit, gradients = entry.misfit_and_gradient(made, observed)
    residual = numpy_of(record) - observed
    assert misfit == pytest.approx(0.5 * (residual**2).sum(), rel=1e-13)
    for found, expected in zip(pull(residual), gradients, strict=True):
        np.testing.assert_array_equal(numpy_of(found), expected)


@pytest.mark.parametrize("entry", executors("torch-c", "torch-eager", "jax-c", "jax-eager"))
def test_a_cotangent_is_that_of_the_record(entry):
    """Of another dtype it is rounded to the record's, of another shape refused."""
    made = case(nt=20).typed(np.float32)
    record, pull = pulled(entry, made)
    y = made.noise().astype(np.float32)
    np.testing.assert_array_equal(numpy_of(pull(y.astype(np.float64))[0]), numpy_of(pull(y)[0]))
    observed = numpy_of(record).astype(np.float64)
    assert entry.misfit_and_gradient(made, observed)[0] == 0
    with pytest.raises(ShapeError, match="the cotangent has shape .* expected that of the record"):
        pull(y[:, 1:])


@some
def test_it_is_the_transpose_of_born(entry, equation, strategy):
    """<J dm, y> = <dm, J^T y>, again and again: neither the record nor the history is used up."""
    made = case(equation).remembering(strategy)
    record, pull = pulled(entry, made)
    kept, scattered = numpy_of(record).copy(), entry.born(made)
    for seed in (1, 2):
        y = made.noise(seed)
        parts = [numpy_of(g) * d for g, d in zip(pull(y), made.direction(), strict=True)]
        assert abs(np.vdot(scattered, y) - sum(p.sum() for p in parts)) <= 1e-12 * sum(abs(p).sum() for p in parts)
        np.testing.assert_array_equal(numpy_of(record), kept)


@pytest.mark.parametrize("entry", executors("torch-c", "torch-eager", "jax-c", "jax-eager"))
def test_it_is_at_the_models_of_the_call(entry):
    """Whatever a caller, such as an optimiser in place, writes into their arrays before it pulls."""
    made = case(nt=20, pml=0)  # where no PML is, nothing but what computes may make a copy
    y = made.noise()
    expected = numpy_of(pulled(entry, made)[1](y)[0])
    models = [m.copy() for m in made.models]
    record, pull = pulled(entry, attrs.evolve(made, models=models))
    for m in models:
        m *= 0.5
    np.testing.assert_array_equal(numpy_of(pull(y)[0]), expected)


@pytest.mark.parametrize("entry", executors("torch-c", *(p.id for p in executors(gradient=True) if "-" not in p.id)))
def test_no_other_run_is_needed(entry, monkeypatch):
    """For a correlation of the record with the observed one, of which least squares know nothing."""
    made, ran, run = case(), [], CompiledCall.run
    observed = made.noise()
    monkeypatch.setattr(
        CompiledCall, "run", lambda self, name, *a, **k: (ran.append(name), run(self, name, *a, **k))[1]
    )
    record, pull = pulled(entry, made)
    length = np.linalg.norm(numpy_of(record))
    alike = np.vdot(numpy_of(record), observed) / length
    (gradient,) = pull((alike * numpy_of(record) / length - observed) / length)
    assert ran == ["forward", "adjoint"]
    assert abs(np.vdot(numpy_of(gradient), made.models[0])) > 0


def test_the_reference_refuses_by_name():
    made = case()
    with pytest.raises(
        UnsupportedError, match="the reference backend computes no gradient; use backend 'torch' or 'jax'"
    ):
        ReferenceExecutor().pullback(made.problem, made.shots, made.models)


NO_MODELS = {
    "a dictionary": lambda model: {"vp": model},
    "a name": lambda model: "vp",
    "None": lambda model: None,
    "None in a list": lambda model: [None],
    "a name in a list": lambda model: ["vp"],
    "text in an array": lambda model: [np.full(model.shape, "fast")],
    "whole numbers": lambda model: [model.astype(np.int64)],
}


@pytest.mark.parametrize("entry", executors("torch-c", "jax-c"))
@pytest.mark.parametrize("make", NO_MODELS.values(), ids=NO_MODELS)
def test_law7_an_executor_refuses_what_is_no_list_of_models(entry, make):
    """By what is wrong with them, not by a TypeError of torch from within."""
    made = case(nt=4)
    executor, given, bad = entry.executor_for(made.problem), (made.problem, made.shots), make(made.models[0])
    for call in (
        lambda: executor.forward(*given, bad),
        lambda: executor.pullback(*given, bad),
        lambda: executor.misfit_and_gradient(*given, bad, made.noise()),
        lambda: executor.born(*given, bad, made.models),
    ):
        with pytest.raises(DtypeError, match=r"models? .*; expected"):
            call()
    with pytest.raises(SweepError, match=r"perturbation.*; expected"):
        executor.born(*given, made.models, bad)


def test_law7_the_reference_refuses_what_is_no_list_of_perturbations():
    made = case(nt=4)
    for bad in ({"vp": made.models[0]}, None, [None], 2 * made.models):
        with pytest.raises(ShapeError, match=r"perturbation.*; expected"):
            ReferenceExecutor().born(made.problem, made.shots, made.models, bad)


@pytest.mark.parametrize("entry", [*executors("torch-c", "torch-eager", "jax-c"), ReferenceExecutor()])
@pytest.mark.parametrize("bad", [None, "marmousi", (1, 2)], ids=str)
def test_law7_an_executor_refuses_what_is_no_problem_and_no_shots(entry, bad):
    made = case(nt=4)
    executor = entry if isinstance(entry, ReferenceExecutor) else entry.executor_for(made.problem)
    verbs = (
        lambda *given: executor.forward(*given, made.models),
        lambda *given: executor.born(*given, made.models, made.models),
        lambda *given: executor.misfit_and_gradient(*given, made.models, made.noise()),
        lambda *given: executor.pullback(*given, made.models),
    )
    kind = type(bad).__name__
    for call in verbs[: 2 if executor.name == "reference" else None]:
        with pytest.raises(DtypeError, match=f"problem is a {kind}; expected a sweep_core.Problem: what make_problem"):
            call(bad, made.shots)
        with pytest.raises(DtypeError, match=rf"shots is a {kind}; expected a sweep_core.Shots: Shots\(wavelet, sou"):
            call(made.problem, bad)
    with pytest.raises(DtypeError, match=f"problem is a {kind}"):
        executor.supports(bad)
