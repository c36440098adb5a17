"""The part of a wave that the edges send back, measured on a homogeneous earth."""

import math

import numpy as np

from ..acquisition.shots import Shots
from ..acquisition.wavelets import energy_below, ricker
from ..errors import UnsupportedError
from ..execution.answers import forward
from ..numerics.cpml import known_types
from ..problem import make_problem
from .certificate import Finding, finding
from .excerpt import Part

DEPTH = 6
"""Cells from the edge to the source, and from the source to the receiver beside it."""
WAVELENGTH = (6, 16)
"""Shortest and longest wave that is sent, in cells; the waves of the call where they lie between."""
PERIODS = 3
"""Length of the wavelet that is sent."""


def absorption(executor, part: Part) -> Finding:
    """Measure the echo of the narrowest layer, over that of a mirror in the place of the edge.

    In two dimensions, in the fastest earth of the model. The box ends so far away that nothing else comes back in time.

    Raises
    ------
    UnsupportedError
        Where there is nothing to measure.
    """
    problem, equation = part.problem, part.problem.equation
    axes = zip(problem.pml, problem.grid.spacing, problem.cpml.multiaxial, strict=False)
    layers = [(w, h, multiaxial) for pair, h, multiaxial in axes for w in pair if w]
    frequency = energy_below(part.signals, problem.dt, 0.5)
    if not layers or not frequency or 2 not in equation.ndims:
        raise UnsupportedError("no face has a layer, the wavelet is zero, or the equation has no two dimensions")
    width, h, multiaxial = min(layers)
    speeds = np.asarray(equation.speed(*part.models))
    fastest = np.unravel_index(speeds.argmax(), speeds.shape)
    earth, speed = [np.broadcast_to(m, speeds.shape)[fastest] for m in part.models], float(speeds[fastest])
    length = float(np.clip(speed / (frequency * h), *WAVELENGTH))
    cells = PERIODS * length + 3 * DEPTH + 2 * width  # that the wave goes until all has come back
    nt, margin = math.ceil(cells * h / speed / problem.dt), math.ceil(cells / 2) + equation.spatial_order
    wavelet = ricker(speed / (length * h), nt, problem.dt).astype(part.dtype)

    def record(before, layer):
        """Return the record with so many cells of earth, or of a layer, before the place of the edge."""
        shape, at = (2 * margin + DEPTH, before + DEPTH + margin), np.array([before + DEPTH, margin])
        box = make_problem(
            equation, shape, (max(problem.grid.spacing), h), problem.dt, pml_width=(0, 0, layer, 0),
            pml_velocity=problem.cpml.velocity, pml_freq=problem.cpml.freq,
            pml_type=known_types(equation)[multiaxial], check_finite=False,
        )  # fmt: skip
        shots = Shots(wavelet, at[None], at[None] + np.array([0, DEPTH]))
        models = [np.full(shape, value, part.dtype) for value in earth]
        return forward(executor, Part(box, shots, models, (0,), np.arange(1))).astype(np.float64)

    whole = record(margin, 0)
    echo, mirrored = (float(np.linalg.norm(record(0, layer) - whole)) for layer in (width, 0))
    share = echo / mirrored
    return finding(
        "absorption", share, (0.02, 0.1),
        f"a layer of {width} cells sends back {share:.1%} of waves of {speed:.4g} m/s and {length:.2g} cells",
        "at most 2 %",
        "echoes of the edges pass for reflections of the earth: give pml_width=20 or more, a pml_velocity like the "
        "speed of the waves, and a pml_freq of about half the wavelet's peak, as the defaults are",
    )  # fmt: skip
