"""Sources and receivers between nodes beside a free surface: the continuation of each field above it."""

import numpy as np
import pytest
from laws import error, known_equations, record_error

from sweep_core import AcousticVariableDensity, Elastic, Shots, make_problem
from sweep_core.acquisition.positions import points_of
from sweep_core.execution.reference import ReferenceExecutor

reference = ReferenceExecutor()
NT, DEPTHS = 40, (0.01, 0.3, 0.5, 0.8, 1.5, 2.6, 3.4, 6.0)
"""Depths (cells); at the last one no interpolation weight lies above the surface."""


def run(equation, shape, models, wavelet, sources, receivers, **options):
    fields = [f.name for f in equation.fields_in(len(shape))]
    problem = make_problem(equation, shape, 10.0, 8e-4, fields, fields, **options)
    return reference.forward(problem, Shots(wavelet, sources, receivers), models)


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("equation", known_equations())
def test_law5_a_free_surface_is_the_middle_of_a_doubled_earth(equation, ndim):
    """Sources and receivers of every field lie between nodes; the field's parity mirrors it, in a rough earth."""
    result, rng = equation(spatial_order=4), np.random.default_rng(0)
    fields = result.fields_in(ndim)
    if not all(field.mirrored for field in fields):
        pytest.skip(f"differences of {result.name} are closed at the surface, which has no image")
    shape = (26, 13, 14)[:ndim]
    models = result.example(shape, rng)
    wavelet = rng.standard_normal((1, 1, NT, len(fields)))
    source = np.array([[[6.3, 5.8, 1.3][-ndim:]]])
    receivers = np.array([[*rng.uniform(4, 9, ndim - 1), z] for z in DEPTHS])
    pml = [0, 4, 4, 4, 4, 4][: 2 * ndim]
    output = run(result, shape, models, wavelet, source, receivers, free_surface=True, pml_width=pml)

    doubled = [np.concatenate([m[:0:-1], m]) for m in models]
    down, up = np.zeros(ndim), np.ones(ndim)
    down[-1], up[-1] = shape[0] - 1, -1
    both = np.concatenate([source + down, source * up + down], 1)
    mirrored = wavelet * [field.parity for field in fields]
    waves = np.concatenate([wavelet, mirrored], 1)
    shape = doubled[0].shape
    expected = run(result, shape, doubled, waves, both, receivers + down, pml_width=[4, *pml[1:]])
    assert record_error(output, expected) < 1e-12


@pytest.mark.parametrize("source", [0.4, 5.0])
def test_law5_elastic_water_under_a_free_surface_equals_the_acoustic_equation(source):
    """Fields of a solid are neither odd nor even; those of water are, and must be right too.

    The acoustic equation on the same grid has an exact mirror as its surface. There are 20 cells per wavelength.
    """
    dh, dt, nt, shape = 10.0, 1e-3, 260, (36, 50)
    vp, rho = np.full(shape, 2000.0), np.full(shape, 1000.0)
    times = (np.arange(nt) * dt - 0.12) * np.pi * 10
    wavelet = (1 - 2 * times**2) * np.exp(-(times**2))
    at, receivers = np.array([[18.0, source]]), np.array([[30.0, z] for z in DEPTHS])
    records = {}
    for equation, models in ((AcousticVariableDensity(8), [vp, rho]), (Elastic(8), [vp, 0 * vp, rho])):
        source_fields = ["p"] if equation.name != "elastic" else ["sxx", "szz"]
        problem = make_problem(equation, shape, dh, dt, source_fields, ["p", "vx", "vz"], free_surface=True)
        # q of p_t = kappa q is a moment of kappa q.
        signal = wavelet if source_fields == ["p"] else wavelet * (rho[0, 0] * vp[0, 0] ** 2)
        records[equation.name] = reference.forward(problem, Shots(signal, at, receivers), models)
    for i in range(3):
        for j, depth in enumerate(DEPTHS):
            a, b = (records[name][0, :, j, i] for name in ("elastic", "acoustic_variable_density"))
            deep = np.abs(records["acoustic_variable_density"][0, :, :, i]).max()
            assert np.abs(a - b).max() < 0.02 * deep, (i, depth)


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_fields_without_parity_are_continued_above_the_surface_as_cubics(dtype):
    """A slope at the surface is right half a cell below it. A surface does not change the sum of a row of weights."""
    shape, dh = (30, 30), 10.0
    rough = np.array([[12, z] for z in (DEPTHS if dtype == "float64" else range(4))], dtype)
    free, whole = (
        make_problem(Elastic(4), shape, dh, 1e-3, pml_width=w, free_surface=f) for w, f in ((6, True), (6, False))
    )
    for field in ("vx", "vz", "sxx"):
        below, everywhere = (points_of(np, p, [field], rough[None], 1)[0] for p in (free, whole))
        np.testing.assert_allclose(below.weights.sum(-1), everywhere.weights.sum(-1), rtol=1e-14)
        depth = np.arange(free.padded_shape[0]) + 0.5 * ("z" in free.field(field).stagger)
        for wave in (lambda z: 1 + 0.4 * z, lambda z: np.exp(-0.25 * z) * np.cos(0.3 * z)):
            values = np.repeat(wave(depth)[:, None], free.padded_shape[1], 1).ravel()
            result = (below.weights * values[below.cells]).sum(-1)
            at = rough[:, 1] + 0.5 * ("z" in free.field(field).stagger) * (dtype == "int64")
            assert error(result[0], wave(at)) < 0.006
