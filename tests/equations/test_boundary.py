"""How far a gradient from boundary strips is from that of the whole history: in single precision, after long runs."""

import numpy as np
import pytest
from laws import Case, error, executors

from sweep_core import Acoustic, AcousticVariableDensity, Elastic, Shots, ricker

SHAPE, DH = (60, 90), 10.0
RANGES = {"vp": (1800.0, 3000.0), "vs": (900.0, 1200.0), "rho": (1500.0, 2300.0)}
CASES = {
    "acoustic": (Acoustic, "h1", False, {"vp": 2e-6}),
    "acoustic, free surface": (Acoustic, "h1", True, {"vp": 2e-6}),
    "variable density": (AcousticVariableDensity, "p", False, {"vp": 2e-6, "rho": 2e-6}),
    # A vertical force sends mostly shear waves: the gradient in vp is a small difference.
    "elastic": (Elastic, "vz", False, {"vp": 1e-4, "vs": 2e-6, "rho": 5e-6}),
    "elastic, free surface": (Elastic, "vz", True, {"vp": 2e-5, "vs": 2e-6, "rho": 5e-6}),
}
"""Equation, field of source and receivers, free surface, and bounds of the difference over the maximum, of float32."""


def long_run(equation, field, free_surface, edge, nt) -> Case:
    """Random earths, dt near its limit, receivers along the top; the residual is the record."""
    rng, made = np.random.default_rng(0), equation(spatial_order=4)
    models = [rng.uniform(*RANGES[parameter.name], SHAPE) for parameter in made.parameters]
    dt = 0.95 * made.largest_speed((DH, DH), 1.0) / float(np.max(made.speed(*models)))
    arguments = {
        "equation": made, "shape": SHAPE, "dh": DH, "dt": dt, "source_type": [field], "receiver_type": [field],
        "free_surface": free_surface, "edge_gradient": edge,
    }  # fmt: skip
    receivers = np.stack([np.arange(0, SHAPE[1], 2), np.full(SHAPE[1] // 2, 3)], axis=1)
    shots = Shots(ricker(12.0, nt, dt), np.array([[SHAPE[1] // 2, 3]]), receivers)
    return Case(arguments, shots, models).typed(np.float32)


def differences(entry, name, edge, nt, exact="full") -> dict[str, float]:
    made = long_run(*CASES[name][:3], edge, nt)
    nothing = np.zeros((1, nt, len(made.shots.receivers), 1), np.float32)
    full, found = (entry.misfit_and_gradient(made.remembering(memory), nothing)[1] for memory in (exact, "boundary"))
    return {
        parameter: error(*pair) for parameter, pair in zip(CASES[name][3], zip(found, full, strict=True), strict=True)
    }


@pytest.mark.parametrize("edge", ["exact", "interior"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("entry", executors("torch-c", "torch-c-cuda"))
def test_rounding_stays_small_over_2000_steps(entry, name, edge):
    for parameter, found in differences(entry, name, edge, 2000).items():
        assert 0 < found < CASES[name][3][parameter], parameter


@pytest.mark.slow
@pytest.mark.parametrize("name", ["acoustic, free surface", "elastic, free surface"])
@pytest.mark.parametrize("entry", executors("torch-c", "torch-c-cuda"))
def test_rounding_does_not_grow_with_the_steps(entry, name):
    for parameter, found in differences(entry, name, "exact", 8000, exact="ckpt").items():
        assert 0 < found < CASES[name][3][parameter], parameter
