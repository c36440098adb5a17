"""Traced and transformed calls refuse an unstable dt with the text of plain calls."""

import numpy as np
import pytest

from sweep_core import Acoustic, AcousticVariableDensity, Elastic, StabilityError, ricker

SHAPE, DT = (24, 20), 2.9e-3
FAST = [np.full(SHAPE, 2900.0)]
OVER = np.arange(SHAPE[0])[:, None] < 12
AIR = [np.where(OVER, 340.0, 1500.0) + np.zeros(SHAPE), np.where(OVER, 1.2, 1000.0) + np.zeros(SHAPE)]
CASES = {
    "too fast": (Acoustic(8), FAST),
    "staggered, too fast": (AcousticVariableDensity(8), [*FAST, *FAST]),
    "air over water": (AcousticVariableDensity(16), AIR),
    "air over water, elastic": (Elastic(16), [AIR[0], 0 * AIR[0], AIR[1]]),
}
CALL = {
    "wavelet": ricker(10, 30, DT).astype(np.float32),
    "sources": np.array([[9, 5]]),
    "receivers": np.array([[4, 5], [9, 9]]),
}


def solver_of(front, case, dt=DT, impl="c"):
    equation, models = CASES[case]
    solver = front(equation, SHAPE, 10.0, dt, pml_width=4, free_surface=True, impl=impl)
    return solver, [m.astype(np.float32) for m in models]


@pytest.mark.parametrize("case", CASES)
def test_jit_refuses_with_the_text_of_plain_calls(case):
    jax, sweep_jax = pytest.importorskip("jax"), pytest.importorskip("sweep_jax")
    solver, models = solver_of(sweep_jax.PropJax, case)
    with pytest.raises(StabilityError, match="the largest stable dt is") as refusal:
        solver(**CALL, models=models)
    stated = float(str(refusal.value).split("the largest stable dt is ")[1].split()[0])

    def record(solver):
        return jax.jit(lambda models: solver(**CALL, models=models))(models)

    with pytest.raises(jax.errors.JaxRuntimeError) as traced:
        jax.block_until_ready(record(solver))
    assert str(refusal.value) in str(traced.value)
    assert np.isfinite(record(solver_of(sweep_jax.PropJax, case, stated)[0])).all()
    assert np.isnan(record(solver_of(sweep_jax.PropJax, case, impl="eager")[0])).all()


@pytest.mark.parametrize("case", CASES)
def test_vmap_refuses_with_the_text_of_plain_calls(case):
    torch, sweep_torch = pytest.importorskip("torch"), pytest.importorskip("sweep_torch")
    solver, models = solver_of(sweep_torch.PropTorch, case)
    call = CALL | {"wavelet": torch.tensor(CALL["wavelet"])}
    models = [torch.tensor(m) for m in models]

    def record(solver):
        return torch.vmap(lambda *models: solver(**call, models=list(models)))(*(m[None] for m in models))

    with pytest.raises(StabilityError, match="the largest stable dt is") as refusal:
        solver(**call, models=models)
    stated = float(str(refusal.value).split("the largest stable dt is ")[1].split()[0])
    with pytest.raises(StabilityError) as transformed:
        record(solver)
    assert str(transformed.value) == str(refusal.value)
    assert record(solver_of(sweep_torch.PropTorch, case, stated)[0]).isfinite().all()
    assert record(solver_of(sweep_torch.PropTorch, case, impl="eager")[0]).isnan().all()


def test_vmap_over_wavelets_still_checks_models():
    """Only the wavelet is transformed. No value is read, but no unstable step passes."""
    torch, sweep_torch = pytest.importorskip("torch"), pytest.importorskip("sweep_torch")
    wavelets = torch.tensor(CALL["wavelet"]).repeat(2, 1)

    def record(impl):
        solver, models = solver_of(sweep_torch.PropTorch, "air over water", impl=impl)
        call = CALL | {"models": [torch.tensor(m) for m in models]}
        return torch.vmap(lambda wavelet: solver(**call | {"wavelet": wavelet}))(wavelets)

    with pytest.raises(StabilityError, match="the largest stable dt is"):
        record("c")
    assert record("eager").isnan().all()
