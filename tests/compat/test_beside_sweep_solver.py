"""Records and gradients beside those of an installed sweep-solver, for equations, fields, dimensions and faces that
the scripts lack. No waves return from the absorbing layers, so that the results agree to rounding.
"""

import importlib

import numpy as np
import pytest

pytest.importorskip("sweep", reason="sweep-solver is not installed")
torch = pytest.importorskip("torch")

DH, DT, NT = 10.0, 0.001, 120
SHAPES = {2: (44, 52), 3: (22, 20, 24)}
SOURCE = {2: [[24, 20]], 3: [[11, 9, 10]]}
RECEIVERS = {2: [[[24, 20], [30, 17], [19, 24], [24, 15]]], 3: [[[11, 9, 10], [13, 11, 12], [8, 9, 11]]]}


def wavelet(nt):
    return importlib.import_module("sweep_compat.signal").ricker(np.arange(nt) * DT - 0.04, f=25.0)


def earth(names, ndim):
    """Return the models of the equation; they vary in all directions."""
    z, *others = np.indices(SHAPES[ndim], dtype=np.float32)
    values = {"vp": 2200 + 6 * z, "vs": 1200 + 4 * z, "rho": 2000 + 5 * z, "mp": 0.01 * np.sin(z)}
    values = {name: value + 2 * sum(others) * (name != "mp") for name, value in values.items()}
    if "mp" in values:  # zero on the edges: sweep-solver continues a reflectivity beyond them, but not its gradient
        inside = np.zeros(SHAPES[ndim], dtype=np.float32)
        inside[(slice(2, -2),) * ndim] = 1
        values["mp"] *= inside
    return [values[name].astype(np.float32) for name in names]


def outcome(package, equation, ndim, driven, recorded, framework="torch", order=4, nt=NT, survey=None, **arguments):
    """Return (record, gradient of its energy in the last model) of a package."""
    kind = getattr(importlib.import_module(f"{package}.equations"), equation)
    solver = getattr(importlib.import_module(f"{package}.propagator.{framework}"), f"Prop{framework.title()}")
    equation = kind(spatial_order=order, device="cpu", backend=framework)
    solver = solver(
        equation,
        shape=SHAPES[ndim],
        dh=DH,
        dt=DT,
        source_type=driven,
        receiver_type=recorded,
        **{"abcn": 20} | arguments,
    )
    wave, sources, receivers = survey or (wavelet(nt), np.array(SOURCE[ndim]), np.array(RECEIVERS[ndim]))
    models = earth(equation.models, ndim)
    if framework == "jax":
        import jax

        def energy(last):
            record = solver(wave.astype(np.float32), sources, receivers, models=[*models[:-1], last])
            scaled = record / jax.lax.stop_gradient(abs(record).max())
            return (scaled**2).sum(), record

        gradient, record = jax.grad(energy, has_aux=True)(jax.numpy.asarray(models[-1]))
        return np.asarray(record), np.asarray(gradient)
    models = [torch.tensor(m) for m in models]
    models[-1].requires_grad_()
    record = solver(wave.astype(np.float32), sources, receivers, models=models)
    (record / record.detach().abs().max()).pow(2).sum().backward()
    return record.detach().numpy(), models[-1].grad.numpy()


ENCODED = np.stack([wavelet(NT), -0.5 * wavelet(NT)]), np.array([[[20, 18], [30, 22]]]), np.array(RECEIVERS[2])
SHOTS = np.stack([wavelet(NT), 2 * wavelet(NT)]), np.array([[20, 18], [30, 22]]), np.repeat(RECEIVERS[2], 2, 0)
ABOVE = wavelet(NT), np.array([[24, 6]]), np.array([[[24, 0], [30, 1], [22, 9]]])
ABOVE_3D = wavelet(70), np.array([[11, 9, 2]]), np.array([[[11, 9, 0], [13, 11, 4]]])
CORNER = wavelet(NT), np.array([[4, 38]]), np.array([[[0, 41], [2, 43], [8, 35]]])
CASES = {
    "acoustic": ("Acoustic", 2, ["pressure"], ["h1"], {}),
    "acoustic, order 2": ("Acoustic", 2, ["h1"], ["h1"], {"order": 2}),
    "acoustic, wavelet by shot": ("Acoustic", 2, ["h1"], ["h1"], {"survey": SHOTS}),
    "acoustic, sources encoded": ("Acoustic", 2, ["h1"], ["h1"], {"survey": ENCODED}),
    "acoustic, free surface": ("Acoustic", 2, ["h1"], ["h1"], {"free_surface": True, "order": 8, "survey": ABOVE}),
    "acoustic, free faces": ("Acoustic", 2, ["h1"], ["h1"], {"free_surface": ["bottom", "left"], "survey": CORNER}),
    "acoustic in 3-D": ("Acoustic3D", 3, ["h1"], ["h1"], {"nt": 70}),
    "acoustic in 3-D, free surface": (
        "Acoustic3D",
        3,
        ["h1"],
        ["h1"],
        {"nt": 70, "free_surface": True, "survey": ABOVE_3D},
    ),
    "acoustic, jax": ("Acoustic", 2, ["h1"], ["h1"], {"framework": "jax"}),
    "first order": ("Acoustic1st", 2, ["pressure"], ["p"], {}),
    "first order, jax": ("Acoustic1st", 2, ["p"], ["p"], {"framework": "jax"}),
    "scattered": ("AcousticLSRTM", 2, ["h1"], ["sh1"], {}),
    "scattered, jax": ("AcousticLSRTM", 2, ["h1"], ["sh1"], {"framework": "jax"}),
    "elastic, explosion": ("Elastic", 2, ["sxx", "szz"], ["sxx", "szz"], {}),
    "elastic, velocities": ("Elastic", 2, ["sxx", "szz"], ["vx", "velocity_z"], {}),
    "elastic, force": ("Elastic", 2, ["vz"], ["vx", "vz"], {}),
    "elastic, two forces": ("Elastic", 2, ["vx", "vz"], ["vz"], {}),
    "elastic, shear stress": ("Elastic", 2, ["sxz"], ["vx"], {}),
    "elastic, jax": ("Elastic", 2, ["sxx", "szz"], ["vx", "vz"], {"framework": "jax"}),
    "elastic in 3-D": ("Elastic3D", 3, ["sxx", "syy", "szz"], ["vx", "vy", "vz"], {"nt": 50}),
    "scattered in 3-D": ("AcousticLSRTM3D", 3, ["h1"], ["sh1"], {"nt": 50}),
}


@pytest.mark.parametrize(("equation", "ndim", "driven", "recorded", "more"), CASES.values(), ids=CASES)
def test_record_and_gradient_equal_those_of_sweep_solver(equation, ndim, driven, recorded, more):
    if more.get("framework") == "jax":
        pytest.importorskip("jax")
    theirs, ours = (outcome(p, equation, ndim, driven, recorded, **more) for p in ("sweep", "sweep_compat"))
    for name, a, b in zip(("record", "gradient"), theirs, ours, strict=True):
        assert a.shape == b.shape and np.abs(a - b).max() < 2e-5 * np.abs(a).max(), (
            name,
            np.abs(a - b).max() / np.abs(a).max(),
        )
