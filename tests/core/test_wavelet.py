"""Wavelets: a Ricker has its peak and frequency, and resampling changes only the interval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweep_core import DomainError, DtypeError, ShapeError, ricker, sampled


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
    "freq 0": ((0, 10, 1e-3), "freq is 0; expected Hz, above zero"),
    "freq negative": ((-5, 10, 1e-3), "freq is -5"),
    "freq nan": ((float("nan"), 10, 1e-3), "freq is nan"),
    "freq inf": ((float("inf"), 10, 1e-3), "freq is inf"),
    "dt 0": ((10, 10, 0.0), "dt is 0.0; expected seconds"),
    "dt nan": ((10, 10, float("nan")), "dt is nan"),
    "nt 0": ((10, 0, 1e-3), "nt is 0"),
    "nt 10.5": ((10, 10.5, 1e-3), "nt is 10.5"),
    "nt nan": ((10, float("nan"), 1e-3), "nt is nan"),
    "delay nan": ((10, 10, 1e-3, float("nan")), "delay is nan"),
    "above Nyquist": ((600, 10, 1e-3), "600 Hz lies above the Nyquist frequency 500 Hz"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_a_bad_ricker_is_refused(arguments, message):
    with pytest.raises(DomainError, match=message):
        ricker(*arguments)


@pytest.mark.parametrize(("name", "at"), [("freq", 0), ("nt", 1), ("dt", 2), ("delay", 3)])
def test_a_ricker_takes_only_numbers(name, at):
    inputs = [15.0, 10, 1e-3, 0.1]
    np.testing.assert_array_equal(ricker(*map(np.array, inputs)), ricker(*inputs))
    for odd in ("5", True, [5.0]):
        inputs[at] = odd
        with pytest.raises(DtypeError, match=f"ricker: {name} is .*; expected one number"):
            ricker(*inputs)


def test_resampling_keeps_a_band_limited_wavelet():
    coarse, fine = ricker(20, 150, 4e-3, 0.2), ricker(20, 550, 1e-3, 0.2)
    np.testing.assert_allclose(sampled(coarse, 4e-3, 550, 1e-3), fine, atol=1e-6)


def test_resampling_to_the_same_interval_is_the_identity():
    wavelet = np.random.default_rng(0).standard_normal(30)
    np.testing.assert_allclose(sampled(wavelet, 2e-3, 30, 2e-3), wavelet, atol=1e-12)


def test_a_resampled_wavelet_ends_where_its_samples_end():
    result = sampled(np.ones(10), 2e-3, 100, 1e-3)
    assert result[18] == pytest.approx(1, abs=0.6) and not result[19:].any()
    assert sampled(np.ones(600), 4e-3, 600, 4e-3)[599] == pytest.approx(1, abs=1e-12)  # 599 dt / dt > 599


def packet(times, freq):
    return np.exp(-(((times - 0.8) / 0.15) ** 2)) * np.cos(2 * np.pi * freq * (times - 0.8))


@pytest.mark.parametrize("part", [0.2, 0.5, 0.85])
def test_resampling_keeps_frequencies_to_nine_tenths_of_nyquist(part):
    result = sampled(packet(np.arange(400) * 4e-3, 125 * part), 4e-3, 1590, 1e-3)
    np.testing.assert_allclose(result, packet(np.arange(1590) * 1e-3, 125 * part), atol=1e-6)


@pytest.mark.parametrize(("part", "passes"), [(0.3, 1), (0.75, 1), (1.05, 0), (1.6, 0), (2.0, 0)])
def test_decimation_keeps_only_frequencies_below_the_new_nyquist(part, passes):
    result = sampled(packet(np.arange(1600) * 1e-3, 125 * part), 1e-3, 390, 4e-3)
    np.testing.assert_allclose(result, passes * packet(np.arange(390) * 4e-3, 125 * part), atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_many_traces_are_resampled_like_single_ones(axis):
    traces = np.random.default_rng(0).standard_normal((3, 2, 50)).astype(np.float32)
    result = sampled(np.moveaxis(traces, -1, axis), 4e-3, 120, 1.5e-3, axis=axis, start=7e-3)
    assert result.flags.c_contiguous and result.dtype == np.float32
    alone = [[sampled(trace, 4e-3, 120, 1.5e-3, start=7e-3) for trace in some] for some in traces]
    np.testing.assert_array_equal(np.moveaxis(result, axis, -1), alone)


@pytest.mark.parametrize("start", [0.0137, -0.05, 0.04])
def test_samples_are_placed_at_their_start_time(start):
    result = sampled(ricker(20, 300, 2e-3, 0.2), 2e-3, 500, 1e-3, start=start)
    np.testing.assert_allclose(result, ricker(20, 500, 1e-3, 0.2 + start), atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "message", "samples", "options"),
    [
        (ShapeError, r"shape \(\)", np.float64(1), {}),
        (ShapeError, r"shape \(0,\)", np.ones(0), {}),
        (ShapeError, r"along axis 1", np.ones(3), {"axis": 1}),
        (DomainError, "NaN or infinite", np.array([1, np.nan]), {}),
        (DomainError, "dt is 0 s", np.ones(4), {"dt": 0}),
        (DomainError, "sample_dt is nan s", np.ones(4), {"sample_dt": np.nan}),
        (DomainError, "start is inf", np.ones(4), {"start": np.inf}),
        (DomainError, "dt is a s", np.ones(4), {"dt": "a"}),
        (DtypeError, "start is 'a'; expected one number", np.ones(4), {"start": "a"}),
        (DomainError, "nt is 0", np.ones(4), {"nt": 0}),
        (DtypeError, "nt is 2.5", np.ones(4), {"nt": 2.5}),
        (DtypeError, "complex128", np.ones(4) * 1j, {}),
    ],
    ids=[
        "a number",
        "empty",
        "no such axis",
        "nan",
        "dt 0",
        "interval nan",
        "start inf",
        "dt a",
        "start a",
        "nt 0",
        "nt 2.5",
        "complex",
    ],
)
def test_bad_samples_are_refused(kind, message, samples, options):
    with pytest.raises(kind, match=message):
        sampled(samples, **{"sample_dt": 2e-3, "nt": 10, "dt": 1e-3} | options)
