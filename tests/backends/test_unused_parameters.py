"""A parameter that 2-D does not use, such as c66 of a solid: its gradient is zero, not an error."""

from typing import ClassVar

import numpy as np
import pytest
from laws import STRATEGIES, case, error, executors, reference_record

from sweep_core import Acoustic
from sweep_core.equations.equation import Parameter
from sweep_core.testing.cases import INEXACT


class Unused(Acoustic):
    """The acoustic equation with an unused parameter on either side of vp."""

    parameters: ClassVar = (Parameter("before", "1"), *Acoustic.parameters, Parameter("after", "1"))

    def coefficients(self, node_averages, before, vp, after):
        return super().coefficients(node_averages, vp)

    def speed(self, before, vp, after):
        return vp


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if INEXACT.get(name, 0) < 1e-10])
@pytest.mark.parametrize("nt", [1, 2, 20])
@pytest.mark.parametrize("entry", executors("torch-c", "torch-eager"))
def test_the_gradient_is_zero_in_torch(entry, nt, strategy):
    assert_zero(entry, case(Unused, nt=nt).remembering(strategy))


@pytest.mark.parametrize("entry", executors("jax-c", "jax-eager"))
def test_the_gradient_is_zero_in_jax(entry):
    assert_zero(entry, case(Unused, nt=20))


def assert_zero(entry, example):
    """Check that unused gradients are zero and that of vp is that of the plain equation, also in a pullback."""
    plain = case(nt=example.shots.wavelet.shape[-1]).remembering("full")
    plain = plain.__class__(plain.arguments | {"dt": example.arguments["dt"]}, example.shots, example.models[1:2])
    assert error(entry.forward(example) + 1, reference_record(plain) + 1) < 1e-12
    y = np.random.default_rng(0).standard_normal(reference_record(plain).shape)
    before, vp, after = entry.misfit_and_gradient(example, y)[1]
    assert not before.any() and not after.any() and before.shape == after.shape == vp.shape
    np.testing.assert_allclose(vp, entry.misfit_and_gradient(plain, y)[1][0], rtol=1e-10, atol=1e-12 * abs(vp).max())
    before, _, after = entry.pulled_back(example, y)[1]
    assert not before.any() and not after.any()


@pytest.mark.parametrize("impl", ["c", "eager"])
@pytest.mark.parametrize("nshots", [3, 0])
def test_the_gradient_is_zero_under_transforms(impl, nshots):
    """This holds for torch.func and torch.compile, with shots and without."""
    torch = pytest.importorskip("torch")
    from sweep_torch import PropTorch

    setup = case(Unused, nt=20)
    solver = PropTorch(**setup.arguments, impl=impl)
    survey = [torch.tensor(x)[:nshots] for x in (setup.shots.wavelet, setup.shots.sources, setup.shots.receivers)]
    models = [torch.tensor(m, requires_grad=True) for m in setup.models]

    def misfit(*models):
        return solver(*survey, models=list(models)).square().sum()

    expected = torch.autograd.grad(misfit(*models), models)
    assert not expected[0].any() and not expected[2].any() and bool(expected[1].any()) == (nshots > 0)
    result = torch.func.grad(misfit, argnums=(0, 1, 2))(*models)
    assert all(error(a + 1, b.numpy() + 1) < 1e-12 for a, b in zip(result, expected, strict=True))
    compiled = torch.autograd.grad(torch.compile(misfit, fullgraph=True)(*models), models)
    assert all(error(a + 1, b.numpy() + 1) < 1e-12 for a, b in zip(compiled, expected, strict=True))
    torch._dynamo.reset()
