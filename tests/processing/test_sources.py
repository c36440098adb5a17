"""Records of the solver test two steps: the line source from a point source, and the wavelet from a record."""

import numpy as np
import pytest
from scipy.special import hankel2

from sweep_core import Acoustic, DomainError, DtypeError, OptionError, ShapeError, Shots, backend, make_problem, ricker
from sweep_core.io import Gathers
from sweep_core.processing import estimate_wavelet, half_integral, mute_time, to_line_source

NT, DT = 1000, 0.002
WAVELET = ricker(12, NT, DT, 0.15)


def waves(distance, velocity=2000.0):
    """Return the exact records of a point source and of a line source, (nt, nrec)."""
    length = 8 * NT
    omega = 2 * np.pi * np.fft.rfftfreq(length, DT)[:, None]
    spectrum = np.fft.rfft(WAVELET, length)[:, None]
    point = np.exp(-1j * omega * distance / velocity) / (4 * np.pi * distance)
    omega[0] = 1e-6
    line = -0.25j * hankel2(0, omega * distance / velocity)
    return [np.fft.irfft(spectrum * green, length, axis=0)[:NT] for green in (point, line)]


@pytest.mark.parametrize("kind", ["velocity", "offset"])
def test_a_point_source_becomes_a_line_source(kind):
    """The error is of order 1 / (k r), the next term of the Hankel function."""
    distance = np.array([400.0, 800.0, 1600.0])
    point, line = waves(distance)
    option = {"velocity": 2000.0} if kind == "velocity" else {"offset": -distance}
    result = to_line_source(
        point[None, ..., None], DT, delay=0.15, **({"offset": option["offset"][None]} if kind == "offset" else option)
    )
    error = np.linalg.norm(result[0, :, :, 0] - line, axis=0) / np.linalg.norm(line, axis=0)
    assert error[0] < 0.07 and error[2] < 0.02 and (error[1:] < 0.7 * error[:-1]).all()


def test_the_solver_records_a_line_source():
    """Amplitudes in two dimensions agree: a source has the convention of three dimensions."""
    problem = make_problem(Acoustic(8), (60, 110), 10.0, DT, pml_width=20)
    source, receivers = np.array([[15, 30]]), np.array([[75, 30], [95, 30]])
    record = backend("reference").forward(
        problem, Shots(WAVELET[:450], source, receivers), [np.full((60, 110), 2000.0)]
    )
    point, _ = waves(np.array([600.0, 800.0]))
    result = to_line_source(point[None, :450, :, None], DT, velocity=2000.0, delay=0.15)
    assert np.linalg.norm(result - record) / np.linalg.norm(record) < 0.07


def test_half_integrals_of_powers_are_exact():
    times = np.arange(500) * DT
    np.testing.assert_allclose(half_integral(times, DT, axis=-1), 4 / 3 * times**1.5 / np.sqrt(np.pi), atol=1e-12)
    twice = half_integral(half_integral(WAVELET, DT, axis=-1), DT, axis=-1)
    whole = DT * (np.cumsum(WAVELET) - 0.5 * WAVELET)
    np.testing.assert_allclose(twice, whole, atol=3e-3 * np.abs(whole).max())


def test_bad_conversions_are_refused():
    record = np.zeros((1, 20, 3, 1))
    for options in ({}, {"velocity": 1.0, "offset": np.ones((1, 3))}):
        with pytest.raises(OptionError, match="one of them"):
            to_line_source(record, DT, **options)
    with pytest.raises(ShapeError, match=r"offset does not fit a record whose other axes are \(1, 3, 1\)"):
        to_line_source(record, DT, offset=np.ones((1, 4)))
    with pytest.raises(DomainError, match="velocity is 0"):
        to_line_source(record, DT, velocity=0.0)
    for odd in (None, "0.1", np.zeros(2)):
        with pytest.raises(DtypeError, match="delay is .*; expected one number, seconds"):
            to_line_source(record, DT, velocity=1500.0, delay=odd)
    for odd in ("far", 1j, [[1], [2, 3]]):
        with pytest.raises(DtypeError, match="offset is .*; expected metres, a number or an array"):
            to_line_source(record, DT, offset=odd)
    with pytest.raises(DtypeError, match="data cannot be read as a NumPy array"):
        half_integral([[1.0, 2.0], [3.0]], DT)
    with pytest.raises(DomainError, match="offset holds NaN"):
        to_line_source(record, DT, offset=np.full((1, 3), np.nan))


# --- the wavelet ------------------------------------------------------------------------------------------------------

NSAMPLES = 420
FIRST = ricker(15, NSAMPLES, DT)
TRUE = np.stack(
    [np.convolve(ricker(f, NSAMPLES, DT, 0.12), [1, 0, 0, 0, 0, -0.6, 0, 0, 0.3])[:NSAMPLES] for f in (12, 16)]
)


def shoot(wavelet, deep=2600.0, water=1500.0):
    """Model two shots in water over rock, with receivers along the water."""
    problem = make_problem(Acoustic(4), (50, 80), 10.0, DT, pml_width=12)
    vp = np.full((50, 80), water)
    vp[30:] = deep
    sources, receivers = np.array([[10, 4], [60, 4]]), np.stack([np.arange(5, 75, 10), np.full(7, 6)], axis=1)
    record = np.asarray(backend("reference").forward(problem, Shots(wavelet, sources, receivers), [vp]))
    return record, Gathers(sources.astype(float), np.tile(receivers.astype(float), (2, 1, 1)), record, dt=DT, dh=10.0)


def distance_to(result, expected):
    return np.linalg.norm(result - expected) / np.linalg.norm(expected)


def test_a_shared_wavelet_is_estimated():
    result = estimate_wavelet(shoot(TRUE[0])[0], shoot(FIRST)[0], FIRST, damping=1e-5)
    assert distance_to(result.wavelet, TRUE[0]) < 1e-3 and result.wavelet.shape == (NSAMPLES,)
    assert result.unexplained < 1e-6 and result.acausal < 1e-6


def test_each_shot_has_a_wavelet_of_its_own():
    observed, modelled = shoot(TRUE)[0], shoot(FIRST)[0]
    result = estimate_wavelet(observed, modelled, FIRST, shared=False, damping=1e-5)
    assert result.wavelet.shape == (2, NSAMPLES) and result.unexplained.shape == (2,)
    assert max(distance_to(result.wavelet[shot], TRUE[shot]) for shot in range(2)) < 1e-2
    assert estimate_wavelet(observed, modelled, FIRST, damping=1e-5).unexplained > 0.01


def test_the_direct_wave_is_enough_if_the_rock_is_unknown():
    """Reflections of a wrong rock spoil the wavelet; a window around the direct wave excludes them."""
    observed, gathers = shoot(TRUE[0])
    modelled = shoot(FIRST, deep=1900.0)[0]
    arrival = np.abs(gathers.offsets) / 1500
    weights = mute_time(gathers, end=arrival + 0.25, taper=0.02) * (arrival < 0.25)[:, None, :, None]
    spoilt, result = (estimate_wavelet(observed, modelled, FIRST, weights=w, damping=1e-4) for w in (None, weights))
    assert distance_to(result.wavelet, TRUE[0]) < 0.015 and distance_to(spoilt.wavelet, TRUE[0]) > 0.03


def test_late_modelled_waves_are_reported_as_acausal():
    early = np.roll(shoot(TRUE[0])[0], -60, axis=1)
    early[:, -60:] = 0
    assert estimate_wavelet(early, shoot(FIRST)[0], FIRST).acausal > 0.1


def test_bad_estimates_are_refused():
    record = np.ones((2, NSAMPLES, 3, 1))
    for observed, wavelet, options, kind, message in (
        (
            record[:1],
            FIRST,
            {},
            ShapeError,
            r"observed has shape \(1, 420, 3, 1\), modelled has shape \(2, 420, 3, 1\)",
        ),
        (record, FIRST[:9], {}, ShapeError, r"the wavelet has shape \(9,\); expected \(420,\), or \(2, 420\)"),
        (
            record,
            TRUE,
            {},
            ShapeError,
            "the wavelets of the shots differ; expected one wavelet for all shots, or set shared=False",
        ),
        (record, FIRST, {"damping": 0.0}, DomainError, "damping is 0.0"),
        (record, FIRST, {"weights": np.ones((5, NSAMPLES))}, ShapeError, r"weights have shape \(5, 420\)"),
        (0 * record, FIRST, {}, DomainError, "zero throughout"),
        (record, 0 * FIRST, {}, DomainError, "the wavelet is zero throughout; expected the wavelet of"),
        (record, FIRST, {"weights": 0 * record}, DomainError, "zero throughout"),
    ):
        with pytest.raises(kind, match=message):
            estimate_wavelet(observed, record, wavelet, **options)
