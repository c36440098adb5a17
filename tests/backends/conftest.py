"""PropTorch and PropJax, eager and compiled, behind one interface for tests of bad input."""

import attrs
import pytest
from laws import has

from sweep_core import Acoustic, UnsupportedError

SETTING = {"equation": Acoustic(4), "shape": (30, 40), "dh": 10.0, "dt": 0.001, "pml_width": 5}


@attrs.frozen
class Torch:
    """Solvers and arrays of torch."""

    impl: str
    framework = "torch"

    def solver(self, options):
        from sweep_torch import PropTorch

        return PropTorch(**(SETTING | {"impl": self.impl} | options))

    def convert(self, x):
        import torch

        return torch.tensor(x)


@attrs.frozen
class Jax:
    """Solvers and arrays of JAX."""

    impl: str
    framework = "jax"

    def solver(self, options):
        from sweep_jax import PropJax

        return PropJax(**(SETTING | {"impl": self.impl} | options))

    def convert(self, x):
        import jax.numpy as jnp

        return jnp.asarray(x)


def fronts(*kinds):
    return [
        pytest.param(kind(impl), id=f"{kind.framework}-{impl}")
        for kind in kinds
        if has(kind.framework)
        for impl in ("eager", "c")
    ]


def skip_without_compiled_code(front):
    """Return the front, or skip the test if there is no compiled code."""
    try:
        front.solver({})
    except UnsupportedError as reason:
        pytest.skip(str(reason))
    return front


@pytest.fixture(params=fronts(Torch, Jax))
def front(request):
    return skip_without_compiled_code(request.param)


@pytest.fixture(params=fronts(Jax))
def jax_front(request):
    return skip_without_compiled_code(request.param)
