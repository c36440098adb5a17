"""Small correct calls of solvers, to certify unchanged or with a mistake."""

import importlib

import attrs
import numpy as np

from sweep_core import Acoustic, AcousticVariableDensity, Elastic, ricker

LOUD = {"acoustic": 1e4, "acoustic_variable_density": 1e4, "elastic": 1e11}
"""Amplitudes that give records and gradients of usual size."""


@attrs.define(eq=False)
class Call:
    """Arguments of a solver and of a call of the solver; a test may change them."""

    options: dict
    arguments: dict
    framework: str = "torch"
    dtype: str = "float32"

    def solver(self):
        kind = {"torch": "PropTorch", "jax": "PropJax"}[self.framework]
        return getattr(importlib.import_module(f"sweep_{self.framework}"), kind)(**self.options)

    def array(self, x):
        """Return an array of the framework, in the precision of the call."""
        x = np.array(x, self.dtype)
        return importlib.import_module("torch").from_numpy(x) if self.framework == "torch" else x

    def placed(self) -> dict:
        inputs = dict(self.arguments)
        return inputs | {"wavelet": self.array(inputs["wavelet"]), "models": [self.array(m) for m in inputs["models"]]}

    def certify(self, **more):
        return self.solver().certify(**self.placed(), **more)

    def record(self) -> np.ndarray:
        return np.asarray(self.solver()(**self.placed())).copy()


def sound(equation=Acoustic, order=4, shape=(40, 48), framework="torch", dtype="float32", between=False, **options):
    """Return a call of two shots over flat layers, up to 20 Hz, with 18 receivers that all record waves."""
    eq, ndim = equation(spatial_order=order), len(shape)
    dt, nt = (1.5e-3, 340) if ndim == 2 else (1.2e-3, 290)
    depth = np.arange(shape[0]).reshape(-1, *(1,) * (ndim - 1))
    vp = np.broadcast_to(2000.0 + 400 * depth / shape[0], shape)
    models = {Acoustic: [vp], AcousticVariableDensity: [vp, vp], Elastic: [vp, vp / 1.6, vp]}[equation]
    across = np.linspace(4, shape[-1] - 5, 18).astype(int)
    middle = [] if ndim == 2 else [shape[1] // 2]
    receivers = np.array([[x, *middle, 4] for x in across])
    sources = np.array([[shape[-1] // 4, *middle, 3], [3 * shape[-1] // 4, *middle, 3]])
    if between:
        receivers, sources = receivers + 0.3, sources + 0.25
    wavelet = LOUD[eq.name] * ricker(10.0, nt, dt)
    solver_options = {"equation": eq, "shape": shape, "dh": 10.0, "dt": dt, "pml_width": 10, **options}
    arguments = {"wavelet": wavelet, "sources": sources, "receivers": receivers, "models": list(models)}
    return Call(solver_options, arguments, framework, dtype)
