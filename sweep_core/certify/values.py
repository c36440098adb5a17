"""Checks of models, wavelets and positions, without a run."""

import numpy as np

from ..acquisition.wavelets import energy_below, energy_spectrum
from ..execution.input_warnings import OF_ENERGY, grows, in_other_units, slowest
from ..numerics.numerical_dispersion import cells_needed, phase_error
from .certificate import Finding, about, finding
from .excerpt import Excerpt

GOOD, DOUBTFUL = 0.01, 0.03
"""Relative errors of the phase speed up to which a grid is good, and doubtful."""
FASTEST = 10000.0
"""A speed (m/s) that no rock has."""


def units(part: Excerpt) -> list[Finding]:
    """Check the units of speeds (m/s) and densities (kg/m3) by their size."""
    warnings = in_other_units(part.problem, part.models)
    findings = []
    for p, model in zip(part.problem.equation.parameters, part.models, strict=True):
        if p.unit not in ("m/s", "kg/m3"):
            continue
        low, high = float(model.min()), float(model.max())
        wrong = [text for text in warnings if text.startswith(f"{p.name} is")]
        is_fast = p.unit == "m/s" and high > FASTEST
        advice = wrong[0] if wrong else "no rock is this fast: check whether the unit is feet or millimetres per second"
        verdict = "wrong" if wrong else "doubtful" if is_fast else "good"
        expected = f"{'30 to 10000' if p.unit == 'm/s' else '30 or more'} {p.unit} in rocks"
        measured = f"{low:.6g} to {high:.6g} {p.unit}"
        findings.append(
            Finding(f"unit of {p.name}", verdict, measured, expected, "" if verdict == "good" else advice, high)
        )
    return findings


def guided_waves(part: Excerpt) -> list[Finding]:
    """Find PML layers in which guided waves may grow."""
    growth = grows(part.problem)
    return (
        [Finding("guided waves", "wrong", "a layer that damps too little", "the equation's own layer", growth)]
        if growth
        else []
    )


def axes(part: Excerpt) -> list[Finding]:
    """Check whether x and z look swapped in models or positions."""
    signs, shape = [], part.problem.grid.shape
    for p, model in zip(part.problem.equation.parameters, part.models, strict=True):
        model = model.reshape(-1, *shape)[0].astype(np.float64)
        by_depth = np.var(model.mean(axis=tuple(range(1, model.ndim))))
        by_distance = np.var(model.mean(axis=tuple(range(model.ndim - 1))))
        # An isotropic body, such as a lens, varies more along x, by the ratio of the width and depth of the model.
        isotropic = by_depth * max(1.0, shape[-1] / shape[0])
        if by_distance > 4 * isotropic and by_distance > 1e-6 * np.mean(model) ** 2:
            signs.append(f"{p.name} varies more along x than along z: depth comes first")
    size = np.array(shape[::-1])[[0, -1]] - 1
    places = np.concatenate(_unmasked_positions(part))[:, [0, -1]]
    wide, deep = np.ptp(places, axis=0) / np.maximum(size, 1)
    middle = places[:, 0].mean() / max(size[0], 1)
    if deep > 0.5 and wide < 0.1 and not 0.1 <= middle <= 0.9:
        signs.append("sources and receivers stand along z at one side of the model: columns are (x, z)")
    return [
        Finding(
            "x and z", "doubtful" if signs else "good", "; ".join(signs) or "no sign that axes are swapped",
            "models (nz, .., nx) and positions (x, .., z)",
            "swap the axes, unless a well at the side or steep layers are meant" if signs else "", len(signs),
        )
    ]  # fmt: skip


def _unmasked_positions(part: Excerpt) -> list[np.ndarray]:
    """Return the positions (n, ndim) of all sources, and of all receivers that are not masked."""
    (sources, receivers), mask = (part.shots.sources, part.shots.receivers), part.shots.mask
    if mask is not None:
        receivers = np.broadcast_to(receivers, (*mask.shape, receivers.shape[-1]))[mask]
    return [x.reshape(-1, x.shape[-1]).astype(np.float64) for x in (sources, receivers)]


def wavelet(part: Excerpt) -> list[Finding]:
    """Check that the wavelet is not zero, begins and ends with silence, and has no zero frequency."""
    problem, signal = part.problem, part.signals.astype(np.float64)
    loud = signal.any(axis=1)
    dead = int((~loud).sum())
    findings = [
        finding(
            "wavelet", dead / len(signal), (0, 0.99),
            f"{dead} of {len(signal)} wavelets are zero; the largest sample is {np.abs(signal).max():.4g}",
            "no wavelet of zeros",
            "such a shot sends no wave: pass a wavelet, such as sweep_core.ricker, or leave the shot out",
        )
    ]  # fmt: skip
    if not loud.any():
        return findings
    signal = signal[loud]
    largest = np.abs(signal).max(axis=1)
    for name, position, sample, advice in (
        ("beginning", "first", 0, "a jump sends out frequencies that no grid carries: delay the wavelet (ricker's "
         "default is 1.5 / freq) or taper it"),
        ("end", "last", -1, "the wavelet is cut off: add samples, or taper it"),
    ):  # fmt: skip
        ratio = float((np.abs(signal[:, sample]) / largest).max())
        findings.append(
            finding(
                f"wavelet's {name}",
                ratio,
                (0.01, 0.2),
                f"the {position} sample is {about(ratio)} of the maximum",
                "at most 0.01",
                advice,
            )
        )
    if problem.equation.levels == 2:
        spectrum = np.abs(np.fft.rfft(signal, axis=1))
        zero = float((spectrum[:, 0] / spectrum.max(axis=1)).max())
        findings.append(
            finding(
                "zero frequency", zero, (0.05, 2),
                f"the spectrum at 0 Hz is {about(zero)} of its maximum", "at most 0.05",
                "the record drifts and does not come to rest, above all in 2-D: subtract the mean, or use a Ricker",
            )
        )  # fmt: skip
    return findings


def sampling(part: Excerpt) -> list[Finding]:
    """Check the cells per wavelength, the time step, and the energy above the limit of the grid."""
    problem, equation, ndim = part.problem, part.problem.equation, part.problem.grid.ndim
    signal = part.signals
    frequency = energy_below(signal, problem.dt, OF_ENERGY)
    speed, limit = slowest(problem, part.models), problem.dt / problem.largest_dt(*part.models)
    share = f"dt is {limit:.3g} of its limit"
    if not frequency or not speed:
        return [finding("time step", 0 if limit > 0.1 else 1, (0, 1), share, "0.1 to 1", "a larger dt costs less")]
    h = max(problem.grid.spacing)
    cells = speed / (frequency * h)
    error = phase_error(equation, ndim, cells)
    needed = cells_needed(equation, ndim, GOOD)
    grid = finding(
        "cells a wavelength", error, (GOOD, DOUBTFUL),
        f"{cells:.3g} at {speed:.5g} m/s and {frequency:.3g} Hz; there waves are {error:.2%} too slow",
        f"{needed:.2g} or more (at most 1 %, by the dispersion relation of order {equation.spatial_order})",
        f"use dh of {h * cells / needed:.3g} m, a higher spatial_order, or a wavelet of frequencies below "
        f"{frequency * cells / needed:.3g} Hz",
    )  # fmt: skip
    frequencies, energy = energy_spectrum(signal, problem.dt)
    beyond = float(energy[frequencies > speed / (2 * h)].sum() / energy.sum())
    above = finding(
        "above the grid", beyond, (1e-4, 1e-2),
        f"the energy above {speed / (2 * h):.3g} Hz (two cells a wavelength) is {about(beyond)} of the total",
        "at most 0.0001", "low-pass the wavelet: energy above this limit stays at the source or arrives as noise",
    )  # fmt: skip
    return [grid, above, _time_step(problem, frequency, share, limit)]


def _time_step(problem, frequency, share, limit):
    phase = np.pi * frequency * problem.dt
    is_corrected = problem.time_dispersion == "corrected"
    error = 0.0 if is_corrected else float(np.arcsin(min(phase, 1.0)) / phase - 1)
    remedy = "" if any("t" in f.stagger for f in problem.fields) else ", or time_dispersion='corrected'"
    small = limit < 0.05
    if small and error <= GOOD:
        return Finding(
            "time step", "doubtful", share, "0.05 or more",
            f"each run takes many more steps than it needs: dt of {problem.dt / limit / 2:.2g} s is stable", limit,
        )  # fmt: skip
    return finding(
        "time step", error, (GOOD, DOUBTFUL),
        f"{share}; waves of {frequency:.3g} Hz are {error:.2%} too fast", "at most 1 %",
        f"use a smaller dt{remedy}",
    )  # fmt: skip


def positions(part: Excerpt) -> list[Finding]:
    """Find sources and receivers in the outermost cells of a face without a PML, and receivers that share one cell."""
    problem, (sources, receivers) = part.problem, _unmasked_positions(part)
    x = np.concatenate([sources, receivers])
    size, faces = np.array(problem.grid.shape[::-1]) - 1, np.array(problem.pml[::-1])
    edge = np.stack([x < 0.5, x > size - 0.5], axis=-1)
    edge[:, -1, 0] &= not problem.free_surface
    outermost, bare = (int(e.any(axis=(1, 2)).sum()) for e in (edge, edge & (faces == 0)))
    if part.shots.receivers.shape[-2] > 1 and len(receivers) and np.all(np.ptp(receivers, axis=0) < 1):
        return [
            Finding(
                "positions", "doubtful", f"all {len(receivers)} receivers lie within one cell", "a line, or an area",
                "positions are numbers of cells, not kilometres or degrees: divide metres by dh", len(receivers),
            )
        ]  # fmt: skip
    return [
        finding(
            "positions", bare, (0, np.inf),
            f"{outermost} of {len(x)} in the outermost cells, {bare} of them at a face without a PML",
            "none at such a face",
            "the field is zero one cell further out: move these positions inwards, or give the face a PML or a free "
            "surface",
        )
    ]  # fmt: skip
