"""SH waves: the Green function of a line source, and the same waves of Elastic in three dimensions."""

import numpy as np
import pytest
from elastodynamics import Clock, line

from sweep_core import SH, AcousticVariableDensity, Elastic, Shots, backend, make_problem, ricker
from sweep_core.execution.answers import record_error

VS, RHO, DH, DT, NT = 1700.0, 2000.0, 10.0, 1e-3, 500
reference = backend("reference")


def test_law5_a_force_radiates_the_green_function_of_a_line():
    """vy = i w g f / mu with (lap + w^2 / vs^2) g = -delta (Aki and Richards 2002, ch. 4): 400 m in several directions."""
    offsets = [(40, 0), (0, 40), (28, 28), (-24, 32)]
    problem = make_problem(SH(8), (110, 110), DH, DT, ["vy"], ["vy"], pml_width=20)
    receivers = np.array([[55 + x, 55 + z] for x, z in offsets])
    shots = Shots(ricker(8.0, NT, DT), np.array([[55, 55]]), receivers)
    record = reference.forward(problem, shots, [np.full((110, 110), value) for value in (VS, RHO)])[0, ..., 0]

    def response(omega):
        waves = [line(omega, VS, x * DH, z * DH)[0] for x, z in offsets]
        return 1j * omega[:, None] / (RHO * VS**2) * np.stack(waves, -1)

    exact = Clock(ricker(8.0, NT, DT), DT, stepped=True).record(response, 0.0, DT / 2)
    for trace, expected in zip(record.T, exact.T, strict=True):
        assert np.linalg.norm(trace - expected) < 1e-4 * np.linalg.norm(expected)


@pytest.mark.parametrize("surface", [False, True])
def test_the_waves_are_those_of_elastic_without_change_along_y(surface):
    """Elastic has as many rows along y as its differences reach; all of them are driven alike."""
    shape, rng, nt, rows = (20, 22), np.random.default_rng(0), 40, 2 * 40 + 41
    vs, rho = rng.uniform(800, 1200, shape), rng.uniform(1800, 2300, shape)
    vs[5:8] = 0
    options = {"free_surface": surface, "pml_type": ("cpmls", "cpmls")}
    receivers = np.array([[15, 12], [4, 3], [10, 9]])
    plane = make_problem(SH(2), shape, DH, 2e-3, ["vy"], ["vy"], pml_width=5, **options)
    wave = ricker(25.0, nt, 2e-3)
    sh = reference.forward(plane, Shots(wave, np.array([[11, 10]]), receivers), [vs, rho])

    def wide(model):
        return np.repeat(model[:, None], rows, 1)

    options["pml_type"] = ("cpmls",) * 3
    faces = (0 if surface else 5, 5, 0, 0, 5, 5)
    space = make_problem(Elastic(2), (20, rows, 22), DH, 2e-3, ["vy"], ["vy"], pml_width=faces, **options)
    middle = rows // 2
    sources = np.array([[[11, y, 10] for y in range(rows)]])
    wavelet = np.broadcast_to(wave, (1, rows, nt))
    shots = Shots(wavelet * DH, sources, np.insert(receivers, 1, middle, 1))
    solid = reference.forward(space, shots, [wide(2 * np.maximum(vs, 500)), wide(vs), wide(rho)])
    assert record_error(sh, solid) < 1e-12


def test_the_waves_are_those_of_sound_with_other_names():
    """1 / rho is the bulk modulus, 1 / mu the density (Virieux 1984); velocities are known half a step later."""
    rng, shape = np.random.default_rng(0), (30, 36)
    vs, rho = rng.uniform(800, 1200, shape), rng.uniform(1800, 2300, shape)
    shots = Shots(ricker(25.0, 150, DT), np.array([[18, 12]]), np.array([[5, 5], [30, 20]]))
    sh = make_problem(SH(), shape, DH, DT, ["vy"], ["vy"])
    sound = make_problem(AcousticVariableDensity(), shape, DH, DT, ["p"], ["p"])
    expected = reference.forward(sound, shots, [vs, 1 / (rho * vs**2)])[:, 1:]
    assert record_error(reference.forward(sh, shots, [vs, rho])[:, :-1], expected) < 1e-12
