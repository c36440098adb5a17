"""Filters, spectra and gains act on traces along the named axis."""

import numpy as np
import pytest

from sweep_core import DomainError, DtypeError, OptionError, ShapeError, ricker
from sweep_core.processing import agc, balance, bandpass, half_integral, lowpass, spectrum, time_gain

NT, DT = 400, 0.002
TIMES = np.arange(NT) * DT


def tone(freq):
    return np.cos(2 * np.pi * freq * (TIMES - 0.4)) * np.exp(-(((TIMES - 0.4) / 0.1) ** 2))


@pytest.mark.parametrize(("freq", "passes"), [(5, 0.0), (10, 0.0), (40, 1.0), (120, 0.0), (200, 0.0)])
def test_a_bandpass_keeps_frequencies_between_its_corners_in_place(freq, passes):
    result = bandpass(tone(freq), DT, 20, 80, order=8, axis=-1)
    np.testing.assert_allclose(result, passes * tone(freq), atol=0.02)


def test_a_corner_frequency_is_halved():
    freq = 50.0
    long = np.cos(2 * np.pi * freq * np.arange(8000) * DT)
    for options in ({"low": freq}, {"high": freq}):
        middle = bandpass(long, DT, axis=-1, **options)[3000:5000]
        np.testing.assert_allclose(middle, 0.5 * long[3000:5000], atol=1e-3)


def test_the_end_of_a_trace_does_not_reach_its_beginning():
    spike = np.zeros(NT)
    spike[-1] = 1
    assert np.abs(lowpass(spike, DT, 40, axis=-1)[:200]).max() < 1e-6


def test_a_filter_is_its_own_adjoint():
    x, y = np.random.default_rng(0).standard_normal((2, 3, NT, 2, 1))
    left, right = np.vdot(bandpass(x, DT, 5, 60), y), np.vdot(x, bandpass(y, DT, 5, 60))
    assert left == pytest.approx(right, rel=1e-12)


def test_a_filtered_wavelet_makes_a_filtered_record():
    """The run is linear and does not depend on when it begins."""
    response = np.random.default_rng(1).standard_normal(40)
    wavelet = ricker(30, NT, DT, 0.3)
    products = [np.convolve(w, response)[:NT] for w in (lowpass(wavelet, DT, 25, axis=-1), wavelet)]
    np.testing.assert_allclose(products[0][:300], lowpass(products[1], DT, 25, axis=-1)[:300], atol=1e-4)


STEPS = {
    "bandpass": lambda x, axis: bandpass(x, DT, 5, 60, axis=axis),
    "time_gain": lambda x, axis: time_gain(x, DT, 1.5, axis=axis),
    "balance": lambda x, axis: balance(x, axis=axis),
    "agc": lambda x, axis: agc(x, DT, 0.1, axis=axis),
    "half_integral": lambda x, axis: half_integral(x, DT, axis=axis),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_every_step_takes_time_along_any_axis(step, axis, dtype):
    traces = np.random.default_rng(2).standard_normal((2, 3, NT)).astype(dtype)
    result = step(np.moveaxis(traces, -1, axis), axis)
    assert result.dtype == dtype and result.flags.c_contiguous
    alone = np.array([[step(trace, -1) for trace in some] for some in traces])
    np.testing.assert_allclose(np.moveaxis(result, axis, -1), alone, rtol=1e-6, atol=1e-6)


def test_a_spectrum_equals_the_fourier_transform():
    """The spectrum of a Gaussian is a Gaussian, in the unit of the data times seconds; zeros do not count."""
    record = np.zeros((2, NT, 3, 1))
    record[0, :, 1, 0] = np.exp(-(((TIMES - 0.4) / 0.02) ** 2))
    frequencies, amplitude = spectrum(record, DT)
    assert frequencies[-1] == 0.5 / DT
    np.testing.assert_allclose(
        amplitude, 0.02 * np.sqrt(np.pi) * np.exp(-((np.pi * frequencies * 0.02) ** 2)), atol=1e-9
    )
    assert not spectrum(np.zeros((1, NT, 1, 1)), DT)[1].any()


def test_gains_level_amplitudes():
    ones = np.ones((1, NT, 2, 1))
    np.testing.assert_allclose(time_gain(ones, DT, 2)[0, :, 1, 0], TIMES**2)
    record = np.random.default_rng(0).standard_normal((2, NT, 3, 1)) * np.array([1.0, 100, 0])[:, None]
    rms = np.sqrt(np.mean(balance(record) ** 2, axis=1))
    np.testing.assert_allclose(rms[..., 0], [[1, 1, 0]] * 2)
    fading = np.cos(300 * TIMES) * np.exp(-3 * TIMES)
    levels = agc(fading, DT, 0.1, axis=-1)
    peaks = [np.abs(levels[k : k + 50]).max() for k in range(50, 350, 50)]
    np.testing.assert_allclose(peaks, np.sqrt(2), rtol=0.15)
    assert not agc(np.zeros(NT), DT, 0.1, axis=-1).any()


BAD = {
    "no corner": (lambda: bandpass(TIMES, DT, axis=-1), OptionError, "neither low nor high"),
    "above Nyquist": (lambda: bandpass(TIMES, DT, None, 250, axis=-1), DomainError, "high is 250 Hz; expected less than the Nyquist"),
    "crossed": (lambda: bandpass(TIMES, DT, 30, 20, axis=-1), DomainError, "low below high"),
    "order": (lambda: bandpass(TIMES, DT, 30, order=0, axis=-1), OptionError, "order is 0"),
    "negative": (lambda: bandpass(TIMES, DT, -1.0, axis=-1), DomainError, "low is -1.0; expected Hz, above zero"),
    "text": (lambda: bandpass(TIMES, DT, "5", axis=-1), DtypeError, "low is '5'"),
    "dt": (lambda: bandpass(TIMES, 0, 5, axis=-1), DomainError, "dt is 0; expected seconds"),
    "axis": (lambda: bandpass(TIMES, DT, 5), ShapeError, r"shape \(400,\); expected time along axis 1: .*-1 of a wavelet"),
    "no axis": (lambda: bandpass(TIMES, DT, 5, axis="t"), ShapeError, "time along axis 't'"),
    "complex": (lambda: lowpass(TIMES * 1j, DT, 5, axis=-1), DtypeError, "complex128"),
    "nan": (lambda: lowpass(TIMES * np.nan, DT, 5, axis=-1), DomainError, "NaN"),
    "power": (lambda: time_gain(TIMES, DT, -1, axis=-1), DomainError, "power is -1"),
    "power text": (lambda: time_gain(TIMES, DT, "2", axis=-1), DtypeError, "power is '2'; expected one number"),
    "window": (lambda: agc(TIMES, DT, 0.0, axis=-1), DomainError, "window is 0.0"),
}  # fmt: skip


@pytest.mark.parametrize(("step", "kind", "message"), BAD.values(), ids=BAD)
def test_bad_requests_are_refused(step, kind, message):
    with pytest.raises(kind, match=message):
        step()
