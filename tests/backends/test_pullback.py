"""Executor.pullback: one forward run, and the gradient of any misfit of its record."""

import attrs
import numpy as np
import pytest
from laws import case, executors, known_equations, numpy_of

from sweep_core import Acoustic, DtypeError, ShapeError, SweepError, UnsupportedError
from sweep_core.execution.reference import ReferenceExecutor
from sweep_core.native import CompiledCall

# JAX compiles each problem for seconds, so it has one case.
some = pytest.mark.parametrize(
    ("entry", "equation", "strategy"),
    [
        pytest.param(*p.values, *e.values, s, id=f"{p.id}-{e.id}-{s}", marks=[*p.marks, *e.marks])
        for p in executors(gradient=True)
        for e in known_equations()
        for s in ("full", "ckpt")
        if "jax" not in p.id or (e.values[0] is Acoustic and s == "ckpt")
    ],
)


def pullback_of(entry, example):
    return entry.executor_for(example.problem).pullback(example.problem, example.shots, example.models)


@some
def test_the_pullback_of_the_residual_is_the_gradient_of_the_misfit(entry, equation, strategy):
    """The two agree to the last bit."""
    setup = case(equation).remembering(strategy)
    record, pull = pullback_of(entry, setup)
    np.testing.assert_array_equal(numpy_of(record), entry.forward(setup))
    observed = entry.forward(setup) - setup.noise()
    misfit, gradients = entry.misfit_and_gradient(setup, observed)
    residual = numpy_of(record) - observed
    assert misfit == pytest.approx(0.5 * (residual**2).sum(), rel=1e-13)
    for result, expected in zip(pull(residual), gradients, strict=True):
        np.testing.assert_array_equal(numpy_of(result), expected)


@pytest.mark.parametrize("entry", executors("torch-c", "torch-eager", "jax-c", "jax-eager"))
def test_a_cotangent_has_the_shape_of_the_record(entry):
    """Another dtype is rounded to that of the record; another shape is refused."""
    setup = case(nt=20).typed(np.float32)
    record, pull = pullback_of(entry, setup)
    y = setup.noise().astype(np.float32)
    np.testing.assert_array_equal(numpy_of(pull(y.astype(np.float64))[0]), numpy_of(pull(y)[0]))
    observed = numpy_of(record).astype(np.float64)
    assert entry.misfit_and_gradient(setup, observed)[0] == 0
    with pytest.raises(ShapeError, match="the cotangent has shape .* expected that of the record"):
        pull(y[:, 1:])


@some
def test_the_pullback_is_the_transpose_of_born(entry, equation, strategy):
    """<J dm, y> = <dm, J^T y> for repeated calls, which leave record and history intact."""
    setup = case(equation).remembering(strategy)
    record, pull = pullback_of(entry, setup)
    remaining, scattered = numpy_of(record).copy(), entry.born(setup)
    for seed in (1, 2):
        y = setup.noise(seed)
        parts = [numpy_of(g) * d for g, d in zip(pull(y), setup.direction(), strict=True)]
        assert abs(np.vdot(scattered, y) - sum(p.sum() for p in parts)) <= 1e-12 * sum(abs(p).sum() for p in parts)
        np.testing.assert_array_equal(numpy_of(record), remaining)


@pytest.mark.parametrize("entry", executors("torch-c", "torch-eager", "jax-c", "jax-eager"))
def test_later_changes_of_models_do_not_change_the_pullback(entry):
    """An in-place optimiser may write into the arrays before it calls the pullback."""
    setup = case(nt=20, pml=0)  # without a PML, no padding copies the models
    y = setup.noise()
    expected = numpy_of(pullback_of(entry, setup)[1](y)[0])
    models = [m.copy() for m in setup.models]
    record, pull = pullback_of(entry, attrs.evolve(setup, models=models))
    for m in models:
        m *= 0.5
    np.testing.assert_array_equal(numpy_of(pull(y)[0]), expected)


@pytest.mark.parametrize("entry", executors("torch-c", *(p.id for p in executors(gradient=True) if "-" not in p.id)))
def test_a_pullback_takes_one_forward_and_one_adjoint_run(entry, monkeypatch):
    """The misfit is a correlation of the two records, not least squares."""
    setup, runs, run = case(), [], CompiledCall.run
    observed = setup.noise()
    monkeypatch.setattr(
        CompiledCall, "run", lambda self, name, *a, **k: (runs.append(name), run(self, name, *a, **k))[1]
    )
    record, pull = pullback_of(entry, setup)
    length = np.linalg.norm(numpy_of(record))
    correlation = np.vdot(numpy_of(record), observed) / length
    (gradient,) = pull((correlation * numpy_of(record) / length - observed) / length)
    assert runs == ["forward", "adjoint"]
    assert abs(np.vdot(numpy_of(gradient), setup.models[0])) > 0


def test_the_reference_refuses_a_pullback():
    setup = case()
    with pytest.raises(
        UnsupportedError, match="the reference backend computes no gradient; use backend 'torch' or 'jax'"
    ):
        ReferenceExecutor().pullback(setup.problem, setup.shots, setup.models)


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
def test_law7_an_executor_refuses_bad_models(entry, make):
    """The message names the fault; no TypeError of torch escapes."""
    setup = case(nt=4)
    executor, arguments, bad = entry.executor_for(setup.problem), (setup.problem, setup.shots), make(setup.models[0])
    for call in (
        lambda: executor.forward(*arguments, bad),
        lambda: executor.pullback(*arguments, bad),
        lambda: executor.misfit_and_gradient(*arguments, bad, setup.noise()),
        lambda: executor.born(*arguments, bad, setup.models),
    ):
        with pytest.raises(DtypeError, match=r"models? .*; expected"):
            call()
    with pytest.raises(SweepError, match=r"perturbation.*; expected"):
        executor.born(*arguments, setup.models, bad)


def test_law7_the_reference_refuses_bad_perturbations():
    setup = case(nt=4)
    for bad in ({"vp": setup.models[0]}, None, [None], 2 * setup.models):
        with pytest.raises(ShapeError, match=r"perturbation.*; expected"):
            ReferenceExecutor().born(setup.problem, setup.shots, setup.models, bad)


@pytest.mark.parametrize("entry", [*executors("torch-c", "torch-eager", "jax-c"), ReferenceExecutor()])
@pytest.mark.parametrize("bad", [None, "marmousi", (1, 2)], ids=str)
def test_law7_an_executor_checks_the_classes_of_problem_and_shots(entry, bad):
    setup = case(nt=4)
    executor = entry if isinstance(entry, ReferenceExecutor) else entry.executor_for(setup.problem)
    verbs = (
        lambda *arguments: executor.forward(*arguments, setup.models),
        lambda *arguments: executor.born(*arguments, setup.models, setup.models),
        lambda *arguments: executor.misfit_and_gradient(*arguments, setup.models, setup.noise()),
        lambda *arguments: executor.pullback(*arguments, setup.models),
    )
    kind = type(bad).__name__
    for call in verbs[: 2 if executor.name == "reference" else None]:
        with pytest.raises(
            DtypeError, match=f"problem is a {kind}; expected a sweep_core.Problem, the result of make_problem"
        ):
            call(bad, setup.shots)
        with pytest.raises(DtypeError, match=rf"shots is a {kind}; expected a sweep_core.Shots: Shots\(wavelet, sou"):
            call(setup.problem, bad)
    with pytest.raises(DtypeError, match=f"problem is a {kind}"):
        executor.supports(bad)
