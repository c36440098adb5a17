"""Law 5: signs and amplitudes of moment sources, beside the closed form of a whole space and sound in water."""

import numpy as np
import pytest
from laws import error
from waves import misfit, shoot

from sweep_core import AcousticVariableDensity, Elastic, Shots, make_problem, ricker
from sweep_core.execution.reference import ReferenceExecutor

VP, VS, RHO = 3000.0, 1700.0, 2000.0
FREQ, DELAY = 10.0, 0.11
DH, DT, NT = 15.0, 1e-3, 330
CELLS, SOURCE, RECEIVER = 18, 5, (8, 5, 7)
"""Cells of each axis, index of the source along each, and offset of the receiver, (x, y, z), from the source."""


def pulse(t) -> list[np.ndarray]:
    """Return a Gaussian and its first three derivatives at times t; the second derivative is the moment rate."""
    a = 2 * (np.pi * FREQ) ** 2
    t = t - DELAY
    bell = np.exp(-a * t**2 / 2)
    return [bell, -a * t * bell, a * (a * t**2 - 1) * bell, a**2 * t * (3 - a * t**2) * bell]


def velocity(moment, x, t) -> np.ndarray:
    """Return velocities (3, nt) at the offset x (m) from a moment source, near field included.

    The moment rate is `moment` (3, 3) times the pulse's second derivative. Aki and Richards (2002), Quantitative
    Seismology, eq. 4.29.
    """
    r = np.linalg.norm(x)
    g, one = x / r, np.eye(3)
    mgg, mg, trace = g @ moment @ g, moment @ g, np.trace(moment)
    near = 15 * g * mgg - 3 * g * trace - 6 * mg
    middle_p, middle_s = 6 * g * mgg - g * trace - 2 * mg, 6 * g * mgg - g * trace - 3 * mg
    far_p, far_s = g * mgg, (np.outer(g, g) - one) @ mg
    at_p, at_s = r / VP, r / VS
    (bell_p, first_p, rate_p, slope_p), (bell_s, first_s, rate_s, slope_s) = pulse(t - at_p), pulse(t - at_s)
    between = at_p * first_p - at_s * first_s + bell_p - bell_s  # integral of tau times the rate at t - tau
    return (
        np.outer(near / r**4, between)
        + np.outer(middle_p / (VP * r) ** 2, rate_p)
        - np.outer(middle_s / (VS * r) ** 2, rate_s)
        + np.outer(far_p / (VP**3 * r), slope_p)
        - np.outer(far_s / (VS**3 * r), slope_s)
    ) / (4 * np.pi * RHO)


def tensor(fields) -> np.ndarray:
    """Return the moment tensor with ones in the components of the fields."""
    moment = np.zeros((3, 3))
    for _, i, j in fields:
        moment["xyz".index(i), "xyz".index(j)] = moment["xyz".index(j), "xyz".index(i)] = 1
    return moment


def expected(fields, offset, t) -> np.ndarray:
    """Return velocities (3, nt) of a point source, or of a line source along y if the offset (m) has two components.

    The line is the sum of the points whose waves arrive by the last time.
    """
    if len(offset) == 3:
        return velocity(tensor(fields), np.asarray(offset), t)
    x, z = offset
    y = np.arange(-VP * t[-1], VP * t[-1], DH / 2)
    return sum(velocity(tensor(fields), np.array([x, at, z]), t) for at in y) * DH / 2


SOURCES = {
    "explosion": {2: ["sxx", "szz"], 3: ["sxx", "syy", "szz"]},
    "double couple": {2: ["sxz"], 3: ["sxz"]},
    "horizontal double couple": {3: ["sxy"]},
    "vertical dipole": {2: ["szz"], 3: ["szz"]},
}


@pytest.mark.parametrize(("name", "ndim"), [(name, ndim) for name, per_ndim in SOURCES.items() for ndim in per_ndim])
def test_law5_radiation_of_a_moment_source(name, ndim):
    """The relative L2 error of the velocities (near field, P and S) is below 1 %, signs included."""
    axes, fields = "xyz" if ndim == 3 else "xz", SOURCES[name][ndim]
    offset = [RECEIVER["xyz".index(axis)] for axis in axes]
    event = [f"v{axis}" for axis in axes]
    record = shoot(
        pulse((np.arange(NT) + 0.5) * DT)[2], [SOURCE] * ndim, [[SOURCE + n for n in offset]], [VP, VS, RHO],
        equation=Elastic(8), shape=(CELLS,) * ndim, dh=DH, dt=DT, pml_width=8, source_type=fields, receiver_type=event,
    )[:, 0]  # fmt: skip
    stagger_axes = fields[0][1:] if len(fields) == 1 and fields[0][1] != fields[0][2] else ""
    exact = np.empty_like(record)
    for i, axis in enumerate(axes):
        away = [DH * (n + 0.5 * (a == axis) - 0.5 * (a in stagger_axes)) for n, a in zip(offset, axes, strict=True)]
        exact[:, i] = expected(fields, away, (np.arange(NT) + 0.5) * DT)["xyz".index(axis)]
    assert misfit(record, exact) < 0.01


def test_law5_a_positive_explosion_pushes_outwards_and_compresses():
    """The moment grows from zero to one. The test checks the first motion on four sides, and the pressure."""
    nt, shape, at = 110, (41, 41), 20
    rate = pulse(np.arange(nt) * 1e-3)[0]
    record = shoot(
        rate, (at, at), [(at + 10, at), (at - 11, at), (at, at + 10), (at, at - 11)], [VP, VS, RHO],
        equation=Elastic(4), shape=shape, dh=DH, dt=1e-3, source_type=["sxx", "szz"], receiver_type=["vx", "vz", "p"],
    )  # fmt: skip
    (right, left, _, _), (_, _, down, up) = record[-1, :, 0], record[-1, :, 1]
    assert right > 0 > left and down > 0 > up
    np.testing.assert_allclose([left, up], [-right, -down], rtol=1e-6)
    assert (record[-1, :, 2] > 0).all()


@pytest.mark.parametrize("ndim", [2, 3])
def test_law5_a_moment_in_water_is_an_injection(ndim):
    """Elastic with vs = 0 and m = kappa q gives the same pressure and velocities as q in a fluid, to rounding.

    The water is rough and has a PML.
    """
    shape, axes = (14, 15, 13)[:ndim], "xyz" if ndim == 3 else "xz"
    vp, rho = AcousticVariableDensity().example(shape, np.random.default_rng(0))
    source, receivers = np.array([[5] * ndim]), np.array([[8, 4, 7][:ndim], [3, 9, 10][:ndim]])
    q, kappa = ricker(25.0, 60, 1e-3), (rho * vp**2)[(5,) * ndim]
    entries, records = ["p", *(f"v{a}" for a in axes)], []
    for equation, models, source_fields, wavelet in (
        (AcousticVariableDensity(4), [vp, rho], ["p"], q),
        (Elastic(4), [vp, 0 * vp, rho], [f"s{a}{a}" for a in axes], kappa * q),
    ):
        problem = make_problem(equation, shape, 10.0, 1e-3, source_fields, entries, pml_width=6)
        records.append(ReferenceExecutor().forward(problem, Shots(wavelet, source, receivers), models))
    sound, solid = records
    for i in range(len(entries)):
        assert error(solid[..., i], sound[..., i]) < 1e-12
