"""The echo of the edges, measured on a homogeneous earth."""

import math

import numpy as np

from ..acquisition.shots import Shots
from ..acquisition.wavelets import energy_below, ricker
from ..errors import UnsupportedError
from ..execution.answers import forward
from ..problem import make_problem
from .certificate import Finding, finding
from .excerpt import Excerpt

DEPTH = 6
"""Cells from the edge to the source, and from the source to the receiver beside it."""
WAVELENGTH = (6, 16)
"""Bounds of the wavelength of the test, in cells. Between them it is that of the call."""
PERIODS = 3
"""Length of the wavelet of the test, in periods."""


def absorption(executor, part: Excerpt) -> Finding:
    """Measure the echo of the narrowest layer, relative to that of a mirror in the place of the edge.

    The test is two-dimensional, or one-dimensional as the model, in the fastest earth of the model. The box is so large
    that no other echo returns in time.

    Raises
    ------
    UnsupportedError
        There is nothing to measure.
    """
    problem, equation = part.problem, part.problem.equation
    axes = zip(problem.pml, problem.grid.spacing, problem.cpml.types, strict=True)
    layers = [(w, h, layer_type) for pair, h, layer_type in axes for w in pair if w]
    frequency = energy_below(part.signals, problem.dt, 0.5)
    if not layers or not frequency or min(problem.grid.ndim, 2) not in equation.ndims:
        raise UnsupportedError("no face has a layer, the wavelet is zero, or the equation is not two-dimensional")
    along = min(problem.grid.ndim, 2) - 1  # axes along the layer
    width, h, layer_type = min(layers)
    speeds = np.asarray(equation.speed(*part.models))
    fastest = np.unravel_index(speeds.argmax(), speeds.shape)
    earth, speed = [np.broadcast_to(m, speeds.shape)[fastest] for m in part.models], float(speeds[fastest])
    length = float(np.clip(speed / (frequency * h), *WAVELENGTH))
    cells = PERIODS * length + 3 * DEPTH + 2 * width  # path of the wave until the whole echo has returned
    nt, margin = math.ceil(cells * h / speed / problem.dt), math.ceil(cells / 2) + equation.spatial_order
    wavelet = ricker(speed / (length * h), nt, problem.dt).astype(part.dtype)

    def record(before, layer):
        """Return the record with `before` cells of earth, or `layer` cells of PML, before the place of the edge."""
        shape = (*(2 * margin + DEPTH,) * along, before + DEPTH + margin)
        source = np.array([before + DEPTH, *(margin,) * along])
        box = make_problem(
            equation, shape, (*(max(problem.grid.spacing),) * along, h), problem.dt,
            pml_width=(0, 0) * along + (layer, 0), pml_velocity=problem.cpml.velocity,
            pml_freq=problem.cpml.freq, pml_type=layer_type, check_finite=False,
        )  # fmt: skip
        shots = Shots(wavelet, source[None], source[None] + np.array([0, *(DEPTH,) * along]))
        models = [np.full(shape, value, part.dtype) for value in earth]
        return forward(executor, Excerpt(box, shots, models, (0,), np.arange(1))).astype(np.float64)

    unbounded = record(margin, 0)
    echo, mirror_echo = (float(np.linalg.norm(record(0, layer) - unbounded)) for layer in (width, 0))
    ratio = echo / mirror_echo
    return finding(
        "absorption", ratio, (0.02, 0.1),
        f"a layer of {width} cells reflects {ratio:.1%} of waves with {speed:.4g} m/s and a wavelength of "
        f"{length:.2g} cells",
        "at most 2 %",
        "echoes of the edges look like reflections of the earth: set pml_width=20 or more, pml_velocity to the speed "
        "of the waves, and pml_freq to about half the wavelet's peak (the defaults are 20, 3000 m/s and 5 Hz)",
    )  # fmt: skip
