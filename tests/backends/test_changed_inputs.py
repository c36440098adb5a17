"""Arguments change in place between forward and backward: the gradient is that of the call or is refused."""

import attrs
import numpy as np
import pytest
from laws import case, executors, shipped_equations, variant

from sweep_core import Acoustic

torch = pytest.importorskip("torch")
from sweep_torch import PropTorch  # noqa: E402


def masked(equation):
    setup = case(equation, nt=20)
    return attrs.evolve(setup, shots=attrs.evolve(setup.shots, mask=np.arange(15).reshape(3, 5) % 3 > 0))


CASES = {
    "on nodes": lambda equation: case(equation, nt=20),
    "between nodes": lambda equation: variant("between nodes", equation, nt=20),
    "no PML": lambda equation: case(equation, nt=20, pml=0),
    "masked": masked,
    "increments, an earth each": lambda equation: variant("increments between nodes, an earth each", equation, nt=20),
}


class Parameters(Acoustic):
    """An equation whose coefficient is the parameter itself: no arithmetic makes a copy."""

    name = "parameters"

    def coefficients(self, node_averages, vp):
        return (vp,)


def tensors(example):
    """Return each array of a call as a tensor by name; wavelet and models require a gradient."""
    named = {"wavelet": example.shots.wavelet} | {f"model {i}": m for i, m in enumerate(example.models)}
    arguments = {name: torch.tensor(x, requires_grad=True) for name, x in named.items()}
    positions = {name: getattr(example.shots, name) for name in ("sources", "receivers", "mask")}
    return arguments | {name: torch.tensor(x) for name, x in positions.items() if x is not None}


def gradients(example, impl, changed=None, wrap=lambda function: function):
    """Return gradients of wavelet and models; change the tensor named `changed` after the forward run."""
    arguments, solver = tensors(example), PropTorch(**example.arguments, impl=impl)
    leaves = [x for x in arguments.values() if x.requires_grad]

    def run(wavelet, *models):
        return solver(wavelet, arguments["sources"], arguments["receivers"], list(models), arguments.get("mask"))

    record = wrap(run)(*leaves)
    with torch.no_grad():
        if changed in ("sources", "receivers"):
            arguments[changed].copy_(arguments[changed].flip(0))
        elif changed == "mask":
            arguments[changed].logical_not_()
        elif changed:
            arguments[changed].mul_(0.5)
    cotangent = torch.tensor(np.random.default_rng(0).standard_normal(record.shape))
    return torch.autograd.grad(record, leaves, cotangent)


def assert_right_or_refused(example, impl, **options):
    expected = gradients(example, impl, **options)
    for name in tensors(example):
        try:
            result = gradients(example, impl, name, **options)
        except RuntimeError as refusal:
            assert "modified by an inplace operation" in str(refusal), name
        else:
            assert all(map(torch.equal, result, expected)), name


@pytest.mark.parametrize("strategy", ["full", "auto", "ckpt", "ckpt-7"])
@pytest.mark.parametrize("entry", executors("torch-c", "torch-eager"))
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("equation", shipped_equations())
def test_a_changed_input_does_not_change_the_gradient(equation, kind, entry, strategy):
    setup = CASES[kind](equation).remembering(strategy)
    assert_right_or_refused(setup, entry.executor_for(setup.problem).impl)


@pytest.mark.parametrize("strategy", ["full", "auto", "ckpt"])
def test_a_changed_coefficient_does_not_change_the_gradient(strategy):
    setup = case(Parameters, nt=20, pml=0).remembering(strategy)
    assert_right_or_refused(setup, "eager")


@pytest.mark.parametrize("impl", ["c", "eager"])
def test_a_changed_input_does_not_change_a_compiled_gradient(impl):
    assert_right_or_refused(masked(Acoustic), impl, wrap=lambda function: torch.compile(function, fullgraph=True))
    torch._dynamo.reset()
