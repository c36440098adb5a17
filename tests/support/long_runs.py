"""Long runs in random earths, to measure the error of gradients with less memory."""

import numpy as np
from laws import Case

from sweep_core import Acoustic, AcousticVariableDensity, Elastic, Shots, ricker

SHAPE, DH = (60, 90), 10.0
RANGES = {"vp": (1800.0, 3000.0), "vs": (900.0, 1200.0), "rho": (1500.0, 2300.0)}
CASES = {
    "acoustic": (Acoustic, "h1", False, {"vp": 2e-6}),
    "acoustic, free surface": (Acoustic, "h1", True, {"vp": 2e-6}),
    "variable density": (AcousticVariableDensity, "p", False, {"vp": 2e-6, "rho": 2e-6}),
    # A vertical force radiates mostly shear waves: the gradient in vp is a small difference.
    "elastic": (Elastic, "vz", False, {"vp": 1e-4, "vs": 2e-6, "rho": 5e-6}),
    "elastic, free surface": (Elastic, "vz", True, {"vp": 2e-5, "vs": 2e-6, "rho": 5e-6}),
}
"""Equation, field of source and receivers, free surface, and bounds of the difference over the maximum, of float32."""


def long_run(equation, field, free_surface, edge, nt) -> Case:
    """Return a run in a random earth, with dt near its limit and receivers along the top."""
    rng, result = np.random.default_rng(0), equation(spatial_order=4)
    models = [rng.uniform(*RANGES[parameter.name], SHAPE) for parameter in result.parameters]
    dt = 0.95 * result.largest_speed((DH, DH), 1.0) / float(np.max(result.speed(*models)))
    arguments = {
        "equation": result, "shape": SHAPE, "dh": DH, "dt": dt, "source_type": [field], "receiver_type": [field],
        "free_surface": free_surface, "edge_gradient": edge,
    }  # fmt: skip
    receivers = np.stack([np.arange(0, SHAPE[1], 2), np.full(SHAPE[1] // 2, 3)], axis=1)
    shots = Shots(ricker(12.0, nt, dt), np.array([[SHAPE[1] // 2, 3]]), receivers)
    return Case(arguments, shots, models).typed(np.float32)


def gradient(entry, example) -> list:
    """Return the gradient of the misfit to zero data: the residual is the record."""
    nothing = np.zeros((1, example.shots.wavelet.shape[-1], len(example.shots.receivers), 1), np.float32)
    return entry.misfit_and_gradient(example, nothing)[1]
