"""Wavelets: a Ricker is what Ricker says; a resampled one is itself at another interval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweep_core import DomainError, ShapeError, ricker, sampled


@given(freq=st.floats(1, 60), dt=st.sampled_from([5e-4, 1e-3, 2e-3]))
def test_ricker_peaks_at_its_delay_with_value_one(freq, dt):
    delay = round(1.5 / freq / dt) * dt
    wavelet = ricker(freq, round(3 / freq / dt) + 2, dt, delay)
    assert np.argmax(wavelet) == round(delay / dt)
    assert wavelet.max() == pytest.approx(1) and wavelet.dtype == np.float64
    assert abs(wavelet[0]) < 1e-7


def test_ricker_has_its_peak_frequency_and_no_mean():
    wavelet = ricker(20, 4000, 1e-3)
    spectrum = np.abs(np.fft.rfft(wavelet))
    assert np.fft.rfftfreq(4000, 1e-3)[np.argmax(spectrum)] == pytest.approx(20, abs=0.26)
    assert spectrum[0] < 1e-6 * spectrum.max()


def test_the_default_delay_is_one_and_a_half_periods():
    np.testing.assert_array_equal(ricker(15, 500, 1e-3), ricker(15, 500, 1e-3, 0.1))


BAD = {
    "freq 0": ((0, 10, 1e-3), "freq is 0 Hz"),
    "freq negative": ((-5, 10, 1e-3), "freq is -5 Hz"),
    "freq nan": ((float("nan"), 10, 1e-3), "freq is nan"),
    "freq inf": ((float("inf"), 10, 1e-3), "freq is inf"),
    "dt 0": ((10, 10, 0.0), "dt is 0.0 s"),
    "dt nan": ((10, 10, float("nan")), "dt is nan"),
    "nt 0": ((10, 0, 1e-3), "nt is 0"),
    "nt 10.5": ((10, 10.5, 1e-3), "nt is 10.5"),
    "nt nan": ((10, float("nan"), 1e-3), "nt is nan"),
    "above Nyquist": ((600, 10, 1e-3), "600 Hz lies above the Nyquist frequency 500 Hz"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_a_bad_ricker_is_refused(arguments, message):
    with pytest.raises(DomainError, match=message):
        ricker(*arguments)


def test_resampling_keeps_a_band_limited_wavelet():
    coarse, fine = ricker(20, 150, 4e-3, 0.2), ricker(20, 550, 1e-3, 0.2)
    np.testing.assert_allclose(sampled(coarse, 4e-3, 550, 1e-3), fine, atol=1e-6)


def test_resampling_to_the_same_interval_is_the_identity():
    wavelet = np.random.default_rng(0).standard_normal(30)
    np.testing.assert_allclose(sampled(wavelet, 2e-3, 30, 2e-3), wavelet, atol=1e-12)


def test_a_resampled_wavelet_ends_where_its_samples_end():
    assert not sampled(np.ones(10), 2e-3, 100, 1e-3)[19:].any()


@pytest.mark.parametrize(
    ("kind", "message", "samples", "dt"),
    [
        (ShapeError, r"shape \(2, 3\); expected \(n,\)", np.ones((2, 3)), 1e-3),
        (ShapeError, r"shape \(0,\)", np.ones(0), 1e-3),
        (DomainError, "NaN or infinite", np.array([1, np.nan]), 1e-3),
        (DomainError, "low-pass and decimate", np.ones(4), 5e-3),
        (DomainError, "dt is 0 s", np.ones(4), 0),
    ],
    ids=["two axes", "empty", "nan", "coarser", "dt 0"],
)
def test_bad_samples_are_refused(kind, message, samples, dt):
    with pytest.raises(kind, match=message):
        sampled(samples, 2e-3, 10, dt)
