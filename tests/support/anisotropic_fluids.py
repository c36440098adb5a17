"""Phase speeds of acoustic waves about an axis of symmetry, and long runs in layers."""

import warnings

import numpy as np
import pytest
from dispersion_relation import frequencies
from laws import executors, numpy_of

import sweep_core as sweep
from sweep_core import Shots, make_problem, ricker

VP, EPSILON, DELTA = 3000.0, 0.25, 0.1
CELLS, DH = 8, 10.0
reference = sweep.backend("reference")
LONG_RUNS = [
    *(pytest.param(*entry.values, 1500, id="1500") for entry in executors("reference")),
    *(pytest.param(*entry.values, 20_000, id="20000", marks=pytest.mark.slow) for entry in executors("torch-c")),
]
"""Executors and numbers of time steps of tests of late growth."""


def christoffel_speed(angle) -> float:
    """Return the phase speed (m/s) of P waves at an angle from the axis, from the eigenvalues of a stiffness.

    The stiffness has c11 = (1 + 2 epsilon) c33, c13^2 = (1 + 2 delta) c33^2 and no shear modulus.
    """
    c11, c13 = (1 + 2 * EPSILON) * VP**2, np.sqrt(1 + 2 * DELTA) * VP**2
    x, z = np.sin(angle), np.cos(angle)
    christoffel = np.array([[c11 * x * x, c13 * x * z], [c13 * x * z, VP**2 * z * z]])
    return float(np.sqrt(np.linalg.eigvalsh(christoffel)[-1]))


def measured_speed(equation, models, angle, ndim=2) -> float:
    """Return the phase speed (m/s) of the step at eight cells per wavelength; the time step is small."""
    wavenumber = 2 * np.pi / (CELLS * DH)
    return frequencies(equation, models, wavenumber, angle, ndim)[0].real / wavenumber


def layers(shape, seed):
    """Return vp, epsilon, delta and theta of flat layers of five cells, with strong contrasts and tilts."""
    rng, rows = np.random.default_rng(seed), shape[0]
    at = np.arange(rows)[:, None] // 5 + np.zeros(shape, int)
    vp, epsilon, tilt = rng.uniform((1500, 0.0, -1.5), (4500, 0.4, 1.5), (rows // 5 + 1, 3)).T
    delta = epsilon * rng.uniform(-0.5, 1.0, len(epsilon))
    return [m[at] for m in (vp, epsilon, delta, tilt)]


def late_amplitudes(equation, models, nt, order=8, entry=None, **options) -> np.ndarray:
    """Return the largest |record| in each of ten parts of the time, at 0.99 of the largest time step."""
    shape = models[0].shape
    dt = 0.99 * make_problem(equation(order), shape, DH, 1e-4).largest_dt(*models)
    names = [f.name for f in equation().waves_in(2)]
    problem = make_problem(equation(order), shape, DH, dt, receiver_type=names, **options)
    rows, columns = shape
    at = np.array([(x, z) for x in (1, columns // 2, columns - 2) for z in (1, rows // 2, rows - 2)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sweep.SweepWarning)
        executor = entry.executor_for(problem) if entry else reference
        record = numpy_of(executor.forward(problem, Shots(ricker(0.03 / dt, nt, dt), at[4:5], at), models))
    record = np.abs(record / np.abs(record[:, : nt // 5]).max((0, 1, 2)))
    return np.array([part.max() for part in np.array_split(record[0], 10)])
