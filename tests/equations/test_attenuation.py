"""Equations with attenuation: quality, dispersion and decay against moduli of standard linear solids in closed form."""

import numpy as np
import pytest
from dispersion_relation import frequencies
from elastodynamics import Clock, line
from laws import has
from waves import misfit

from sweep_core import AcousticVariableDensity, OptionError, Shots, ViscoAcoustic, backend, make_problem, ricker
from sweep_core.execution.answers import record_error
from sweep_core.numerics.relaxation import relaxation
from sweep_core.testing.cases import variant

VP, RHO = 2000.0, 2200.0


def relative_modulus(equation, quality, omega):
    """Return M(w) over rho c^2, with c the phase speed at the reference frequency."""

    def relaxed(w):
        solids = equation.relaxation
        return 1 - sum(
            y * 2 * np.pi * f / (2 * np.pi * f + 1j * w)
            for f, y in zip(solids.frequencies, solids.fractions(quality), strict=True)
        )

    speed = 1 / np.real(1 / np.sqrt(relaxed(2 * np.pi * equation.reference_frequency)))
    return relaxed(omega) / speed**2


# --- the fit ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mechanisms", "largest"), [(2, 0.05), (3, 0.012), (5, 0.003)])
@pytest.mark.parametrize("quality", [5.0, 10.0, 30.0, 100.0, 1000.0])
def test_the_quality_is_constant_over_a_decade(mechanisms, largest, quality):
    m = relative_modulus(ViscoAcoustic(mechanisms=mechanisms), quality, 2 * np.pi * np.geomspace(10**0.5, 10**1.5))
    assert np.abs(m.real / m.imag / quality - 1).max() < largest


@pytest.mark.parametrize("quality", [5.0, 30.0])
def test_one_mechanism_has_the_quality_at_its_reference_frequency(quality):
    m = relative_modulus(ViscoAcoustic(mechanisms=1, reference_frequency=7.0), quality, 2 * np.pi * 7.0)
    assert m.real / m.imag == pytest.approx(quality, rel=1e-4)


@pytest.mark.parametrize("quality", [10.0, 30.0, 100.0])
def test_phase_speeds_are_those_of_constant_quality(quality):
    """Kjartansson 1979, J. Geophys. Res. 84: c = c0 (f / f0)^gamma, gamma = arctan(1 / Q) / pi. The bound is 2 % of their dispersion."""
    equation, f = ViscoAcoustic(mechanisms=5), np.geomspace(4, 25)
    speed = 1 / np.real(1 / np.sqrt(relative_modulus(equation, quality, 2 * np.pi * f)))
    assert np.abs(speed / (f / 10) ** (np.arctan(1 / quality) / np.pi) - 1).max() < 0.007 / quality


def test_mechanisms_take_energy_at_every_quality_and_the_relaxed_modulus_is_positive():
    for mechanisms in range(2, 7):
        fractions = np.array(relaxation(mechanisms, 2.0, 40.0).fractions(np.geomspace(4.0, 1e6, 200)))
        assert fractions.min() > 0 and fractions.sum(0).max() < 0.8


def test_other_options_are_refused():
    for options in ({"mechanisms": 0}, {"reference_frequency": -1.0}, {"band": (5.0, 2.0)}, {"band": (5.0, 5.0)}):
        with pytest.raises(OptionError, match=f"{next(iter(options))} is .*; expected"):
            ViscoAcoustic(**options)
    with pytest.raises(
        OptionError, match="mechanisms is 9; expected fewer, .* choose fewer mechanisms or a wider band"
    ):
        ViscoAcoustic(mechanisms=9, band=(9.0, 11.0))


# --- acoustic waves ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize(("mechanisms", "quality"), [(1, 30.0), (3, 30.0), (3, 5.0)])
def test_acoustic_plane_waves_obey_the_modulus(mechanisms, quality, ndim):
    """rho w^2 = k^2 M(w) for complex frequencies w of real wavenumbers k, up to the error of the differences."""
    equation, k = ViscoAcoustic(8, mechanisms=mechanisms, reference_frequency=0.7), 0.02 / 10.0
    omega = frequencies(equation, (VP, RHO, quality), k, 0.4, ndim)[0]
    assert omega**2 == pytest.approx((k * VP) ** 2 * relative_modulus(equation, quality, omega), rel=1e-6)
    assert omega.imag / omega.real == pytest.approx(0.5 / quality, rel=0.1)


@pytest.mark.parametrize("name", ["between nodes", "free surface", "3-D"])
def test_without_absorption_acoustic_records_are_lossless(name):
    plain = variant(name, AcousticVariableDensity)
    result, expected = (
        backend("reference").forward(make_problem(**plain.arguments | {"equation": equation}), plain.shots, models)
        for equation, models in (
            (ViscoAcoustic(), [*plain.models, np.full_like(plain.models[0], 1e14)]),
            (AcousticVariableDensity(), plain.models),
        )
    )
    assert record_error(result, expected) < 1e-12


def shoot(equation, models, columns, dt, nt, freq, **arguments):
    """Return traces (nt, nrec, nfield) along a row of a uniform medium, 20 columns from the source on."""
    executor = backend("torch") if has("torch") else backend("reference")
    problem = make_problem(equation, (24, columns), 10.0, dt, **arguments)
    receivers = np.stack([np.arange(20, columns - 10, 40), np.full(len(range(20, columns - 10, 40)), 12)], 1)
    shots = Shots(ricker(freq, nt, dt), np.array([[5, 12]]), receivers)
    models = [np.full(problem.grid.shape, m) for m in models]
    if executor.name != "reference":
        import torch

        shots = Shots(torch.tensor(shots.wavelet), shots.sources, shots.receivers)
        models = [torch.tensor(m) for m in models]
    return np.asarray(executor.forward(problem, shots, models))[0]


VOLUME = {"source_type": ["p", "r1", "r2", "r3"], "receiver_type": ["p"]}


def test_acoustic_records_equal_the_closed_form():
    """The source injects volume, p = i w rho g q with (lap + w^2 rho / M) g = -delta.

    A leapfrog has w = 2 / dt sin(omega dt / 2), and its mechanisms w = 2 / dt tan(omega dt / 2).
    """
    equation, dt, nt, quality = ViscoAcoustic(8, reference_frequency=15.0), 1e-3, 900, 20.0
    trace = shoot(equation, (VP, RHO, quality), 90, dt, nt, 15.0, **VOLUME)[:, 1, 0]

    def response(omega):
        relaxing = omega / np.sqrt(1 - (omega * dt / 2) ** 2)
        speed = VP * np.sqrt(relative_modulus(equation, quality, relaxing))
        return 1j * omega * RHO * line(omega, speed, 550.0, 0.0)[0]

    assert misfit(trace, Clock(ricker(15.0, nt, dt), dt, stepped=True).record(response, 0.5 * dt, 0.0)) < 1e-3


def test_acoustic_quality_by_spectral_ratio():
    """Q = pi f t / ln(ratio of amplitudes), geometry and source taken out by a run without loss."""
    quality, dt, nt = 30.0, 2e-3, 700
    equation = ViscoAcoustic(8)
    lossy, lossless = (shoot(equation, (VP, RHO, q), 160, dt, nt, 12.0)[..., 0] for q in (quality, 1e9))
    f = np.fft.rfftfreq(4 * nt, dt)
    used = (f > 10**0.5) & (f < 10**1.5)
    ratio = np.abs(np.fft.rfft(lossy, 4 * nt, axis=0) / np.fft.rfft(lossless, 4 * nt, axis=0))[used]
    # The first receivers are within a wavelength of the source.
    decay = np.log(ratio[:, 1] / ratio[:, -1]) / (400.0 * (ratio.shape[1] - 2))
    speed = VP * (f[used] / 10.0) ** (np.arctan(1 / quality) / np.pi)
    assert np.abs(np.pi * f[used] / speed / decay / quality - 1).max() < 0.03
