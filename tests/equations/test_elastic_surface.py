"""Law 5 under an elastic free surface: Garvin's and Lamb's problems, and water over a solid."""

import numpy as np
import pytest
from elastodynamics import Clock, Solid, half_space
from laws import has
from waves import misfit, shoot, slopes

from sweep_core import Elastic, ricker

ROCK = Solid(3000.0, 1700.0, 2000.0)
NODES = {"vx": (0.5, 0.0), "vz": (0.0, 0.5), "p": (0.0, 0.0)}
NEAR = [("vx", 400.0, 0.0), ("vz", 400.0, 0.0)]
FAR = [("vx", 800.0, 0.0), ("vz", 800.0, 0.0)]
BELOW = [("vx", 200.0, 100.0), ("vz", 200.0, 100.0)]


def under_a_surface(order, dh, source, depth, receivers, freq=10.0, duration=0.8, dt=1e-3, solid=ROCK, layers=0):
    """Return (traces, exact traces of the leapfrog) of receivers (name, x, z), x from the source.

    Reflections from other edges arrive after the end. Source and receivers lie on the nodes of their own fields, in the
    exact solution too: a vertical force at depth 0 acts half a cell below the surface.
    """
    wavelet = ricker(freq, round(duration / dt), dt)
    far = max(x for _, x, _ in receivers)
    rows = int(solid.vp * duration / 2 / dh) + 4
    side = rows if not layers else 20
    shape, zs = (rows, 2 * side + round(far / dh)), round(depth / dh)
    names = list(dict.fromkeys(name for name, _, _ in receivers))
    record = shoot(
        wavelet, (side, zs), [(side + round(x / dh), round(z / dh)) for _, x, z in receivers], solid.models,
        equation=Elastic(order), shape=shape, dh=dh, dt=dt, pml_width=layers, free_surface=True,
        source_type=["sxx", "szz"] if source == "p" else [source], receiver_type=names,
    )  # fmt: skip
    traces = np.stack([record[:, i, names.index(name)] for i, (name, _, _) in enumerate(receivers)], 1)
    nodes = [
        (name, (round(x / dh) + NODES[name][0] - NODES[source][0]) * dh, (round(z / dh) + NODES[name][1]) * dh)
        for name, x, z in receivers
    ]
    response = half_space(solid, source, (zs + NODES[source][1]) * dh, nodes)
    exact = Clock(wavelet, dt, stepped=True).record(response, 0.5 * dt * (source == "p"), 0.5 * dt)
    return traces, exact


def misfits(traces, exact):
    return [misfit(a, b) for a, b in zip(traces.T, exact.T, strict=True)]


@pytest.mark.parametrize("order", [4, 6, 8])
def test_law5_error_in_garvins_problem(order):
    """The relative L2 error is below 2 %, on the surface and in the solid.

    An explosion lies 100 m deep; the peak S wavelength has 17 points. With images of the stresses above the surface,
    the error of vz at 800 m would be 5 %.
    """
    assert max(misfits(*under_a_surface(order, 10.0, "p", 100.0, NEAR + FAR + BELOW))) < 2e-2


@pytest.mark.parametrize(("source", "depth"), [("vz", 0.0), ("vx", 20.0)])
@pytest.mark.parametrize("order", [4, 8])
def test_law5_error_in_lambs_problem(source, depth, order):
    """The relative L2 error is below 5 % for a force on the node nearest to the surface, or just below it.

    The peak Rayleigh wavelength has 20 points.
    """
    receivers = [r for r in NEAR + FAR if source == "vz" or r[0] == "vz"]
    assert max(misfits(*under_a_surface(order, 10.0, source, depth, receivers, freq=8.0))) < 5e-2


@pytest.mark.parametrize(("order", "least"), [(2, 1.9), (4, 2.8), (8, 2.8)])
def test_law5_order_of_convergence_under_a_free_surface(order, least):
    """From order 4 on the surface, where derivatives are exact for parabolas, limits the order to three."""
    spacings = [12.5, 8.0 + 1 / 3, 6.25]
    errors = [max(misfits(*under_a_surface(order, dh, "p", 100.0, NEAR, dt=0.75e-3))) for dh in spacings]
    assert slopes(errors, spacings).min() > least


def test_law5_a_horizontal_force_on_the_surface_has_full_amplitude():
    """Its node has less than the volume of a cell, so that the same force is a larger force density."""
    traces, exact = under_a_surface(4, 10.0, "vx", 0.0, BELOW)
    for a, b in zip(traces.T, exact.T, strict=True):
        assert (a * b).sum() / (b * b).sum() == pytest.approx(1, abs=0.02)


def seafloor_gradient(depth=6):
    """Return (gradient of each model, misfit function, models) of water over a solid, by torch in float64."""
    import torch

    from sweep_torch import PropTorch

    shape, nt, dt = (22, 24), 110, 1.2e-3
    truth = [np.full(shape, v) for v in (2600.0, 1200.0, 2100.0)]
    for model, water in zip(truth, (1500.0, 0.0, 1000.0), strict=True):
        model[:depth] = water
    solver = PropTorch(
        Elastic(4), shape, 10.0, dt, source_type=["sxx", "szz"], receiver_type=["p", "vx"], pml_width=6, impl="auto",
        pml_freq=8.0,
    )  # fmt: skip
    wavelet = torch.tensor(ricker(25.0, nt, dt))
    receivers = np.array([[x, 3] for x in range(0, 24, 4)])

    def record(models):
        return solver(wavelet, np.array([[4, 3]]), receivers, models=models)

    observed = record([torch.tensor(1.02 * m) for m in truth]).detach()
    scale = observed.abs().amax((0, 1, 2))

    def value(models):
        return 0.5 * (((record(models) - observed) / scale) ** 2).sum()

    models = [torch.tensor(m, requires_grad=True) for m in truth]
    return (
        torch.autograd.grad(value(models), models),
        lambda changed: float(value([torch.tensor(m) for m in changed])),
        truth,
    )


@pytest.mark.skipif(not has("torch"), reason="torch is not installed")
def test_law5_the_gradient_across_the_seafloor_equals_finite_differences():
    """Cells on both sides and at the seafloor. The gradient in vs of the water is zero, because vs enters squared."""
    gradient, value, truth = seafloor_gradient()
    assert all(np.isfinite(np.asarray(g)).all() for g in gradient)
    assert not np.asarray(gradient[1])[:6].any()
    for z in (4, 5, 6, 7):
        for i, h in enumerate((0.5, 0.5, 0.5)):
            if i == 1 and z < 6:
                continue
            ends = []
            for step in (h, -h):
                moved = [m.copy() for m in truth]
                moved[i][z, 12] += step
                ends.append(value(moved))
            assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(float(gradient[i][z, 12]), rel=1e-4, abs=1e-9)
