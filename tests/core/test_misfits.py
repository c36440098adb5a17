"""Misfits: their values, derivatives and invariances."""

from functools import partial

import numpy as np
import pytest

from sweep_core import DomainError, DtypeError, OptionError, ShapeError
from sweep_core.misfit import envelope, global_correlation, least_squares, wasserstein

MISFITS = {
    "least squares": least_squares,
    "least squares of traces": partial(least_squares, normalise="trace"),
    "least squares of shots": partial(least_squares, normalise="shot"),
    "correlation": global_correlation,
    "envelope": envelope,
    "envelope squared": partial(envelope, power=2),
    "wasserstein": wasserstein,
}
every = pytest.mark.parametrize("misfit", MISFITS.values(), ids=MISFITS)


def records(seed=0, shots=2):
    """Return two records of noisy wave groups, (shots, 60, 3, 2)."""
    random, t = np.random.default_rng(seed), np.arange(60)[:, None, None]

    def record():
        middle, phase = random.uniform(15, 45, (shots, 1, 3, 2)), random.uniform(0, 6, (shots, 1, 3, 2))
        return np.exp(-(((t - middle) / 6) ** 2)) * np.cos(0.6 * t + phase) + 0.02 * random.standard_normal(
            (shots, 60, 3, 2)
        )

    return record(), record()


def wave(delay, nt=200, period=20.0):
    """Return a wave group, (1, nt, 1, 1)."""
    t = np.arange(nt) - 60 - delay
    return (np.exp(-((t / 25) ** 2)) * np.cos(2 * np.pi * t / period))[None, :, None, None]


@every
def test_the_derivative_equals_finite_differences(misfit):
    synthetic, observed = records()
    slope = misfit(synthetic, observed)[1]
    random, h = np.random.default_rng(1), 1e-6
    for _ in range(3):
        step = random.standard_normal(synthetic.shape)
        difference = (misfit(synthetic + h * step, observed)[0] - misfit(synthetic - h * step, observed)[0]) / (2 * h)
        assert difference == pytest.approx((slope * step).sum(), rel=1e-5)


@every
def test_torch_and_jax_give_the_same_and_differentiate_the_value(misfit):
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    synthetic, observed = records()
    value, slope = misfit(synthetic, observed)
    tensor = torch.tensor(synthetic, requires_grad=True)
    of_torch, arguments = misfit(tensor, torch.tensor(observed))
    (by_torch,) = torch.autograd.grad(of_torch, tensor)
    with jax.enable_x64(True):
        x, aim = jax.numpy.asarray(synthetic), jax.numpy.asarray(observed)
        of_jax, returned = jax.jit(misfit)(x, aim)
        by_jax = jax.grad(lambda x: misfit(x, aim)[0])(x)
        assert float(of_jax) == pytest.approx(value, rel=1e-12)
    assert of_torch.item() == pytest.approx(value, rel=1e-12)
    for other in (arguments.detach(), by_torch, returned, by_jax):
        np.testing.assert_allclose(np.asarray(other), slope, rtol=0, atol=1e-11 * abs(slope).max())


@every
def test_shots_add_up(misfit):
    synthetic, observed = records(shots=3)
    value, slope = misfit(synthetic, observed)
    parts = [misfit(synthetic[i : i + 1], observed[i : i + 1]) for i in range(3)]
    assert sum(part[0] for part in parts) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(np.concatenate([part[1] for part in parts]), slope, atol=1e-14 * abs(slope).max())


@every
def test_equal_records_have_no_misfit(misfit):
    _, observed = records()
    value, slope = misfit(observed, observed)
    scale = abs(misfit(records(2)[0], observed)[1]).max()
    assert abs(value) < 1e-13 and abs(slope).max() < 1e-12 * scale


@every
def test_float32_holds_weak_waves(misfit):
    """Amplitudes are 1e-25, as for a unit wavelet in rock; float32 cannot represent their squares."""
    synthetic, observed = (x.astype(np.float32) for x in records())
    value, slope = misfit(synthetic, observed)
    assert value.dtype == slope.dtype == np.float32
    weak = np.float32(1e-25)
    result, thin = misfit(weak * synthetic, weak * observed)
    assert np.isfinite(thin).all()
    if misfit in (global_correlation, wasserstein) or getattr(misfit, "keywords", {}).get("normalise"):
        assert result == pytest.approx(value, rel=1e-5)
        np.testing.assert_allclose(thin * weak, slope, atol=2e-5 * abs(slope).max())


@every
def test_traces_of_zeros_give_finite_values(misfit):
    torch = pytest.importorskip("torch")
    synthetic, observed = records()
    observed[:, :, 0] = 0
    silent = np.zeros_like(synthetic)
    for arguments in (synthetic, silent):
        value, slope = misfit(arguments, observed)
        assert np.isfinite(value) and np.isfinite(slope).all()
    tensor = torch.tensor(silent, requires_grad=True)
    (by_torch,) = torch.autograd.grad(misfit(tensor, torch.tensor(observed))[0], tensor)
    assert torch.isfinite(by_torch).all()


@every
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("quiet", [1e-7, 1e-22])
def test_quiet_traces_have_no_large_gradient(misfit, dtype, quiet):
    """Precursors and rounding carry no information, in either record."""
    synthetic, observed = (x.astype(dtype) for x in records())
    expected = abs(misfit(synthetic, observed)[1]).max()
    observed[:, :, 0] *= quiet
    synthetic[:, :, 1] *= quiet
    with np.errstate(all="raise", under="ignore"):
        value, slope = misfit(synthetic, observed)
    assert np.isfinite(value) and abs(slope).max() < 3 * expected


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_record_that_is_not_finite_has_no_finite_misfit(misfit, bad):
    synthetic, observed = records()
    synthetic[1, 30, 2, 0] = bad
    with np.errstate(all="ignore"):
        assert not np.isfinite(misfit(synthetic, observed)[0])


def test_each_field_has_a_loudest_trace_of_its_own():
    """Values in Pa are a million times those in m/s."""
    synthetic, observed = records()
    units = np.array([1e8, 1.0])
    assert global_correlation(units * synthetic, units * observed)[0] == pytest.approx(
        global_correlation(synthetic, observed)[0], rel=1e-12
    )


def test_normalised_least_squares_ignore_amplitudes():
    synthetic, observed = records()
    scale = np.array([1.0, 1e3])[:, None, None, None]
    for norm in ("trace", "shot"):
        one, other = (
            least_squares(f * synthetic, f * observed, normalise=norm)[0] for f in (np.ones_like(scale), scale)
        )
        assert one == pytest.approx(other, rel=1e-12)
        assert least_squares(0 * observed, observed, normalise=norm)[0] == pytest.approx(
            0.5 * (2 if norm == "shot" else 12)
        )
    loud = observed.copy()
    loud[:, :, 0] *= 100  # a trace of a shot
    assert least_squares(loud, observed, normalise="shot")[0] > 1e3
    with pytest.raises(OptionError, match="normalise is 'gather'; expected one of"):
        least_squares(synthetic, observed, normalise="gather")


def test_correlation_ignores_amplitudes():
    synthetic, observed = records()
    gains = np.random.default_rng(3).uniform(0.1, 10, (2, 1, 3, 2))
    assert global_correlation(gains * synthetic, observed)[0] == pytest.approx(
        global_correlation(synthetic, observed)[0], rel=1e-12
    )
    assert global_correlation(-observed, observed)[0] == pytest.approx(2 * 12)


def test_envelopes_and_distances_grow_with_delays_of_two_periods():
    """Delays reach 40 samples, two periods. Least squares have crests and show no direction."""
    observed = wave(0)
    delays = np.arange(2, 41, 2)
    for misfit in (envelope, partial(envelope, power=2), wasserstein):
        values = [float(misfit(wave(delay), observed)[0]) for delay in delays]
        assert np.all(np.diff(values) > 0), misfit
    crests = np.diff([float(least_squares(wave(delay), observed)[0]) for delay in delays])
    assert (crests < 0).any()


def test_the_distance_of_moved_masses_is_the_delay():
    """The mass of the wave moves by the delay, but that of the rest stays: W2^2 = share x delay^2."""
    narrow = np.zeros((1, 400, 1, 1))
    narrow[0, 100:110] = 1.0
    sharp = partial(wasserstein, sharpness=200.0)  # almost no mass where there is no wave
    near, far = (float(sharp(np.roll(narrow, d, axis=1), narrow)[0]) for d in (20, 80))
    share = 1 - 390 * np.log(2) / (390 * np.log(2) + 10 * 200)
    assert near == pytest.approx(share * (20 / 400) ** 2, rel=0.15)
    assert far / near == pytest.approx(16, rel=0.15)


@pytest.mark.parametrize("loud", [0.1, 7.0, 30.0, 1e3])
def test_a_loud_record_has_an_exact_derivative(loud):
    """Softplus of its troughs is below the rounding of cumulative masses, or zero."""
    times = 0.002 * np.arange(200)[:, None]
    crests = (
        np.exp(-((60 * (times - at - [0, 0.01])) ** 2)) * np.cos(120 * (times - at - [0, 0.01])) for at in (0.17, 0.15)
    )
    synthetic, observed = (crest[None, :, :, None] for crest in crests)
    value, slope = wasserstein(loud * synthetic, observed)
    step, h = np.random.default_rng(0).standard_normal(observed.shape), 1e-6 * loud
    one, other = (wasserstein(loud * synthetic + side * step, observed)[0] for side in (h, -h))
    assert (one - other) / (2 * h) == pytest.approx((slope * step).sum(), rel=1e-4)
    single = wasserstein((loud * synthetic).astype(np.float32), observed.astype(np.float32))
    assert float(single[0]) == pytest.approx(float(value), rel=1e-4)
    np.testing.assert_allclose(single[1], slope, atol=1e-3 * np.abs(slope).max())


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda s, d: wasserstein(s, d, sharpness=0), DomainError, "sharpness is 0; expected a positive"),
        (lambda s, d: wasserstein(s, d, sharpness="3"), DomainError, "sharpness is '3'"),
        (lambda s, d: envelope(s, d, power=3), OptionError, "power is 3; expected 1 or 2"),
        (lambda s, d: envelope(s, d, power=True), OptionError, "power is True; expected 1 or 2"),
        (lambda s, d: envelope(s, d, power=np.array([1, 2])), OptionError, r"power is array\(.*; expected 1 or 2"),
        (lambda s, d: least_squares(s, None), DtypeError, "observed is a NoneType; expected an array"),
        (lambda s, d: least_squares(s.tolist(), d), DtypeError, "the record is a list; expected an array"),
        (lambda s, d: envelope(s.tolist(), d), DtypeError, "synthetic is a list; expected a record"),
        (lambda s, d: envelope(s, d[:, 1:]), ShapeError, r"observed has shape \(2, 59, 3, 2\); expected that of"),
        (lambda s, d: global_correlation(s[0], d[0]), ShapeError, r"expected \(nshots, nt, nrec, nfield\)"),
        (lambda s, d: global_correlation(s, np.array(d, object)), DtypeError, "observed object; expected both float32"),
        (lambda s, d: wasserstein(s.astype("f4"), d), DtypeError, "synthetic is float32 and observed float64"),
    ],
)
def test_bad_records_and_options_are_refused(call, error, words):
    with pytest.raises(error, match=words):
        call(*records())


def test_two_libraries_are_refused():
    torch = pytest.importorskip("torch")
    synthetic, observed = records()
    with pytest.raises(DtypeError, match="synthetic and observed are of torch and numpy; expected two arrays of one"):
        envelope(torch.tensor(synthetic), observed)
