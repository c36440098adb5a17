"""Mutes are weights by offset and time; first breaks are where waves begin."""

import attrs
import numpy as np
import pytest

from sweep_core import DomainError, DtypeError, OptionError, ShapeError, ricker
from sweep_core.io import Gathers
from sweep_core.processing import first_breaks, mute_offset, mute_time

NT, DT, DH = 300, 0.002, 10.0
OFFSETS = np.array([[-300.0, -100, 50, 200], [-400, -200, 0, 100]])
ARRIVALS = 0.12 + np.abs(OFFSETS) / 2000


@pytest.fixture
def gathers():
    """Return gathers of a wave at 2000 m/s, with one dead trace."""
    times, mask = np.arange(NT) * DT, np.ones((2, 4), bool)
    mask[1, 0] = False
    record = np.array([[ricker(25, NT, DT, arrival) for arrival in row] for row in ARRIVALS])
    assert times[-1] > ARRIVALS.max()
    sources = np.array([[50.0, 1], [60, 1]])
    receivers = np.stack([sources[:, :1] + OFFSETS / DH, np.ones((2, 4))], axis=-1)
    observed = np.ascontiguousarray((record * mask[..., None]).swapaxes(1, 2)[..., None])
    return Gathers(sources, receivers, observed, dt=DT, dh=DH, receiver_mask=mask)


def test_times_are_kept_from_begin_to_end(gathers):
    weights = mute_time(gathers, 0.1, 0.3, taper=0.02)
    assert weights.shape == (2, NT, 4, 1) and weights.flags.c_contiguous and weights.dtype == gathers.observed.dtype
    trace = weights[0, :, 2, 0]
    assert (trace[50:151] == 1).all() and not trace[:41].any() and not trace[160:].any()
    np.testing.assert_allclose(trace[40:51], 0.5 - 0.5 * np.cos(np.pi * np.arange(11) / 10), atol=1e-12)
    np.testing.assert_allclose(trace[150:161], trace[50:39:-1], atol=1e-12)
    assert set(np.unique(mute_time(gathers, 0.1, 0.3))) == {0, 1} and mute_time(gathers).min() == 1


def test_a_moveout_follows_the_offset(gathers):
    weights = mute_time(gathers, begin=np.abs(gathers.offsets) / 2000)
    first = weights[..., 0].argmax(axis=1)
    np.testing.assert_array_equal(first, np.ceil(np.abs(OFFSETS) / 2000 / DT - 1e-6))


def test_offsets_are_kept_from_nearest_to_farthest(gathers):
    weights = mute_offset(gathers, 100, 300, taper=100)
    np.testing.assert_allclose(weights[:, 7, :, 0], [[1, 1, 0.5, 1], [0, 1, 0, 1]], atol=1e-12)
    assert weights.shape == (2, NT, 4, 1) and (weights == weights[:, :1]).all() and mute_offset(gathers).min() == 1


@pytest.mark.parametrize("noise", [0.0, 0.005])
def test_first_breaks_are_the_beginnings_of_waves(gathers, noise):
    observed = gathers.observed + noise * np.random.default_rng(0).standard_normal(gathers.observed.shape)
    observed = observed * gathers.receiver_mask[:, None, :, None]
    result = first_breaks(
        Gathers(gathers.sources, gathers.receivers, observed, dt=DT, dh=DH, receiver_mask=gathers.receiver_mask)
    )
    assert np.isnan(result[1, 0]) and np.isnan(result).sum() == 1
    errors = (result - ARRIVALS)[~np.isnan(result)]
    assert (
        (-0.042 < errors).all() and (errors < -0.025).all() and np.ptp(errors) < 0.012
    )  # a 25 Hz Ricker begins 0.03 s before its peak
    muted = mute_time(gathers, begin=result, taper=0.01)
    assert not muted[1, :, 0].any()
    np.testing.assert_allclose(muted * gathers.observed, gathers.observed, atol=0.03)


def test_a_first_break_may_be_weak(gathers):
    """A direct wave may come before a sea-floor reflection that is twenty times as strong."""
    later = np.roll(gathers.observed, 70, axis=1)
    later[:, :70] = 0
    both = attrs.evolve(gathers, observed=gathers.observed + 20 * later)
    np.testing.assert_allclose(first_breaks(both), first_breaks(gathers), atol=0.02)


def test_bad_requests_are_refused(gathers):
    for step in (mute_time, mute_offset, first_breaks):
        with pytest.raises(DtypeError, match="gathers are ndarray"):
            step(gathers.observed)
    with pytest.raises(ShapeError, match=r"begin has shape \(3,\); expected a number or \(nshots, nrec\) = \(2, 4\)"):
        mute_time(gathers, begin=np.zeros(3))
    with pytest.raises(DomainError, match="taper is -1"):
        mute_time(gathers, 0.1, taper=-1.0)
    with pytest.raises(DomainError, match="nearest is 300 m, farthest is 200 m"):
        mute_offset(gathers, 300, 200)
    for odd in (None, "300", np.zeros(2)):
        with pytest.raises(DtypeError, match="nearest is .*; expected one number, metres"):
            mute_offset(gathers, odd)
        with pytest.raises(DtypeError, match="taper is .*; expected one number, seconds"):
            mute_time(gathers, 0.1, taper=odd)
        with pytest.raises(DtypeError, match="taper is .*; expected one number, seconds"):
            gathers.weights(odd)
    with pytest.raises(DomainError, match="begin is 0.2, end is 0.1; expected seconds, begin before end"):
        mute_time(gathers, 0.2, 0.1)
    for odd in (None, "0.1"):
        with pytest.raises(DtypeError, match=f"begin is {odd!r}; expected seconds"):
            mute_time(gathers, odd)
    with pytest.raises(OptionError, match="field is 3; expected a field of observed, 0 to 0"):
        first_breaks(gathers, field=3)
    with pytest.raises(DomainError, match="threshold is 0"):
        first_breaks(gathers, threshold=0)
