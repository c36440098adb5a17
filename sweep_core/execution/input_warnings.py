"""Warnings at the first call of a solver about values that are admissible but unlikely."""

import sys
import warnings
from math import ceil, inf

import numpy as np

from ..acquisition.wavelets import energy_below
from ..errors import SweepWarning
from ..numerics.cpml import known_types, layer_types
from ..numerics.numerical_dispersion import cells_needed, phase_error
from ..problem import Problem

SLOWEST, LIGHTEST = 30.0, 30.0
"""m/s and kg/m3: below the speed of shear waves in mud, below the density of snow."""
OF_ENERGY = 0.99
"""The wavelet's shortest period is that of the frequency below which this part of its energy lies."""
BAD = 0.1
"""Error of the phase speed from which on a call warns; :mod:`sweep_core.certify` is stricter."""
TRACES = 8
"""Wavelets of a call that are looked at."""


def slowest(problem: Problem, models) -> float:
    """Return the slowest wave speed (m/s).

    It is that of all parameters in m/s, zeros such as vs in water left out, or else that of the equation.
    """
    pairs = zip(problem.equation.parameters, models, strict=True)
    speeds = [m for p, m in pairs if p.unit == "m/s"] or [problem.equation.speed(*models)]
    least = min(float(m.min()) or float(np.min(m, where=m > 0, initial=inf)) for m in speeds)
    return least if least < inf else 0.0


def in_other_units(problem: Problem, models) -> list[str]:
    """Return a sentence for each parameter that looks like km/s or g/cm3."""
    texts, kinds = [], {"m/s": (SLOWEST, "km/s"), "kg/m3": (LIGHTEST, "g/cm3")}
    for parameter, model in zip(problem.equation.parameters, models, strict=True):
        least, other = kinds.get(parameter.unit, (0.0, ""))
        if least and 0 < (largest := float(model.max())) < least:
            texts.append(
                f"{parameter.name} is {largest:g} {parameter.unit} at most, which looks like {other}; expected "
                f"{parameter.unit}: multiply {parameter.name} by 1000, and state dh in m and dt in s"
            )
    return texts


def too_coarse(problem: Problem, models, wavelet: np.ndarray) -> str:
    """Return a sentence if the grid is much too coarse for the wavelet (..., nt), or an empty text."""
    signal = wavelet.reshape(-1, wavelet.shape[-1])
    frequency = energy_below(signal[:: max(1, len(signal) // TRACES)], problem.dt, OF_ENERGY)
    speed, h, ndim = slowest(problem, models), max(problem.grid.spacing), problem.grid.ndim
    if not frequency or not speed:
        return ""
    cells = speed / (frequency * h)
    error = phase_error(problem.equation, ndim, cells)
    if error <= BAD:
        return ""
    needed = cells_needed(problem.equation, ndim, 0.01)
    return (
        f"the slowest waves, of {speed:g} m/s, have {cells:.2g} cells of {h:g} m per wavelength at {frequency:.3g} Hz, "
        f"and {OF_ENERGY:.0%} of the wavelet's energy lies below: their speed is off by {min(error, 1):.0%}. "
        f"spatial_order {problem.equation.spatial_order} needs {needed:.2g} cells for 1 %: use dh of "
        f"{speed / (frequency * needed):.3g} m, a higher order, or a wavelet of lower frequencies"
    )


def too_fast(problem: Problem, models) -> str:
    """Return a sentence if waves at the edges are faster than a target of the echo assumes, or an empty text."""
    if problem.pml_target_db is None:
        return ""
    speeds = np.asarray(problem.equation.speed(*models))
    faces = zip(range(-problem.grid.ndim, 0), problem.pml, strict=True)
    edges = [
        np.take(speeds, at, axis) for axis, pair in faces for at, cells in zip((0, -1), pair, strict=True) if cells
    ]
    fastest, design = max(float(edge.max()) for edge in edges), problem.cpml.velocity
    if fastest <= design:
        return ""
    return (
        f"pml_target_db is {problem.pml_target_db:g}, which layers keep for waves of at most pml_velocity, "
        f"{design:g} m/s; the fastest waves at the edges have {fastest:.4g} m/s: pass pml_velocity="
        f"{ceil(fastest)}"
    )


def grows(problem: Problem) -> str:
    """Return a sentence if waves may grow in a layer that damps less than the equation's own, or an empty text."""
    ndim = problem.grid.ndim
    usual = layer_types(None, problem.equation, ndim, problem.free_surface)
    strength = known_types(problem.equation).index
    layers = zip(usual, problem.cpml.types, problem.pml, strict=True)
    if not any(strength(asked) < strength(own) and any(cells) for own, asked, cells in layers):
        return ""
    return (
        f"pml_type puts a layer where guided waves of {problem.equation.name} may grow without bound; leave pml_type "
        f"out, or pass {usual}"
    )


def caution(problem: Problem, models, wavelet: np.ndarray) -> None:
    """Warn by a SweepWarning of unlikely NumPy values and of an unlikely wavelet (..., nt). The values were checked."""
    if not wavelet.size or not all(m.size for m in models):
        return
    texts = in_other_units(problem, models)
    if not wavelet.any():
        texts.append("the wavelet is zero throughout, so the record is zero, too: pass one such as sweep_core.ricker")
    elif coarse := too_coarse(problem, models, wavelet):
        texts.append(coarse)
    texts += filter(None, (too_fast(problem, models), grows(problem)))
    for text in texts:
        warnings.warn(f"{text}; solver.certify(...) reports more", SweepWarning, stacklevel=_outside())


INSIDE = {"sweep_core", "sweep_torch", "sweep_jax", "torch", "jax"}


def _outside() -> int:
    """Return the stack level, for the caller of this function, of the line that called a solver."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    return level
