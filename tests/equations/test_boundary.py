"""Gradients from boundary strips beside gradients from the full history: in long runs and in thin models."""

import numpy as np
import pytest
from laws import case, error, executors, known_equations, variant
from long_runs import CASES, gradient, long_run

from sweep_core import DomainError
from sweep_core.numerics.free_surface import closed_rows
from sweep_core.testing import laws


def differences(entry, name, edge, nt, exact="full") -> dict[str, float]:
    setup = long_run(*CASES[name][:3], edge, nt)
    full, result = (gradient(entry, setup.remembering(memory)) for memory in (exact, "boundary"))
    return {
        parameter: error(*pair) for parameter, pair in zip(CASES[name][3], zip(result, full, strict=True), strict=True)
    }


@pytest.mark.parametrize("edge", ["exact", "interior"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("entry", executors("torch-c", "torch-c-cuda"))
def test_rounding_stays_small_over_2000_steps(entry, name, edge):
    for parameter, result in differences(entry, name, edge, 2000).items():
        assert 0 < result < CASES[name][3][parameter], parameter


@pytest.mark.slow
@pytest.mark.parametrize("name", ["acoustic, free surface", "elastic, free surface"])
@pytest.mark.parametrize("entry", executors("torch-c", "torch-c-cuda"))
def test_rounding_does_not_grow_with_the_steps(entry, name):
    for parameter, result in differences(entry, name, "exact", 8000, exact="ckpt").items():
        assert 0 < result < CASES[name][3][parameter], parameter


def fewest_rows(equation, order) -> int:
    """Return the fewest rows of a model between a free surface and a PML."""
    solid = not all(field.mirrored for field in equation(order).fields)
    return order + (solid and order == 4)


@pytest.mark.parametrize("equation", known_equations())
@pytest.mark.parametrize("order", [2, 4, 6])
@pytest.mark.parametrize("entry", executors("torch-c", "torch-c-cuda"))
def test_law2_in_thin_models_under_a_free_surface(entry, order, equation):
    """The first PML nodes lie beside rows with differences of their own."""
    first = fewest_rows(equation, order)
    if first > order:
        with pytest.raises(DomainError, match=f"has {order} cells along z above a PML; expected at least {first}"):
            variant("free surface", equation, order, shape=(order, 20)).problem  # noqa: B018
    for nz in (first, first + 1):
        laws.jacobian_and_adjoint(entry, variant("free surface", equation, order, shape=(nz, 20), nt=20))


@pytest.mark.parametrize("equation", known_equations())
@pytest.mark.parametrize("order", range(2, 17, 2))
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("entry", executors("torch-c", "torch-c-cuda"))
def test_law4_strips_in_thin_models_under_a_free_surface(entry, ndim, order, equation):
    """Stencils of rows next to the surface reach into the PML below. Models thinner than the order are refused."""
    across = (order + 14,) if ndim == 2 else (order, order + 1)
    with pytest.raises(
        DomainError, match=f"has {order - 1} cells along z; expected at least {order}, as spatial_order"
    ):
        case(equation, order, shape=(order - 1, *across)).problem  # noqa: B018
    for nz in range(fewest_rows(equation, order), closed_rows(equation(order)) + 2):
        setup = variant("free surface", equation, order, shape=(nz, *across), nt=20)
        silence = np.zeros(entry.forward(setup).shape)
        full, result = (entry.misfit_and_gradient(setup.remembering(m), silence)[1] for m in ("full", "boundary"))
        assert max(map(error, result, full)) < 1e-11, nz
