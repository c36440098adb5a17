"""Gradients from a history of fewer bits or fewer steps, beside gradients from the full history."""

import attrs
import numpy as np
import pytest
from laws import case, error, executors
from long_runs import CASES, gradient, long_run

from sweep_core import Acoustic, BoundaryOptions, DomainError, MemoryOptions, ricker
from sweep_core.acquisition.wavelets import highest_frequency

NT = 1000
ERRORS = {"bfloat16": 1e-3, "float16": 5e-5, "int8": 8e-4}
SMALL_DIFFERENCE = {"bfloat16": 2e-2, "float16": 2e-4, "int8": 5e-3}
"""Error of the gradient in vp of an elastic earth: a vertical force radiates mostly shear waves."""
memory_executors = pytest.mark.parametrize("entry", executors("torch-c", "torch-c-cuda"))


def of_strips(dtype):
    return MemoryOptions("boundary", boundary=BoundaryOptions(dtype=dtype))


@pytest.mark.parametrize("dtype", ERRORS)
@pytest.mark.parametrize("name", ["acoustic", "variable density", "elastic"])
@memory_executors
def test_errors_of_fewer_bits_are_below_the_documented_bounds(entry, name, dtype):
    setup = long_run(*CASES[name][:3], "exact", NT)
    full = gradient(entry, setup.remembering(MemoryOptions("full")))
    for memory, share in ((MemoryOptions("full", dtype=dtype), 1), (of_strips(dtype), 0.5)):
        for parameter, a, b in zip(CASES[name][3], gradient(entry, setup.remembering(memory)), full, strict=True):
            bounds = SMALL_DIFFERENCE if (name, parameter) == ("elastic", "vp") else ERRORS
            assert 0 < error(a, b) < share * bounds[dtype], (str(memory), parameter)


@pytest.mark.parametrize("power", [-30, -18, 12, 30])
@pytest.mark.parametrize("dtype", ["float16", "int8"])
@pytest.mark.parametrize("entry", executors("torch-c"))
def test_packing_works_for_weak_and_strong_waves(entry, dtype, power):
    """Sixty-four values share a scale: the range of half precision alone is 6e-8 to 65504."""
    setup = case(nt=60).typed(np.float32)
    packed = setup.remembering(MemoryOptions("full", dtype=dtype))
    scaled = attrs.evolve(packed, shots=attrs.evolve(packed.shots, wavelet=packed.shots.wavelet * 2.0**power))
    _, unscaled_gradient = entry.pulled_back(packed, setup.noise())
    _, scaled_gradient = entry.pulled_back(scaled, setup.noise() / 2.0**power)
    for a, b in zip(scaled_gradient, unscaled_gradient, strict=True):
        assert error(a, b) < 1e-5


@pytest.mark.parametrize(("interval", "bound"), [(2, 1e-4), (4, 3e-4), (6, 3e-3)])
@memory_executors
def test_an_interval_of_steps_gives_a_close_gradient(entry, interval, bound):
    setup = long_run(Acoustic, "h1", False, "exact", NT)
    full = gradient(entry, setup.remembering(MemoryOptions("full")))
    for dtype in (None, "int8"):
        (result,) = gradient(entry, setup.remembering(MemoryOptions("full", dtype=dtype, interval=interval)))
        assert 0 < error(result, full[0]) < bound + ERRORS["int8"] * (dtype is not None)


@pytest.mark.parametrize("entry", executors("torch-c", "jax-c"))
def test_an_interval_too_long_for_the_waves_is_refused(entry):
    """Products of two waves have twice their frequency. A Ricker wavelet of 12 Hz reaches 35 Hz."""
    setup = long_run(Acoustic, "h1", False, "exact", NT)
    dt = setup.problem.dt
    longest = int(1 / (2 * 35 * dt))
    with pytest.raises(
        DomainError, match=rf"interval is {longest + 2}; expected at most {longest}, for waves of up to 3\d Hz"
    ):
        gradient(entry, setup.remembering(MemoryOptions("full", interval=longest + 2)))
    own = attrs.evolve(setup, shots=attrs.evolve(setup.shots, wavelet=setup.shots.wavelet[None, :, None]))
    with pytest.raises(DomainError, match=f"interval is {longest + 2}"):
        gradient(entry, own.remembering(MemoryOptions("full", interval=longest + 2)))
    silent = attrs.evolve(setup, shots=attrs.evolve(setup.shots, wavelet=0 * setup.shots.wavelet))
    assert not gradient(entry, silent.remembering(MemoryOptions("full", interval=longest + 2)))[0].any()


def test_the_highest_frequency_has_a_hundredth_of_the_peak_spectrum():
    """A Ricker's spectrum is f^2 exp(1 - f^2) of its peak, which is 0.01 at 2.764 times the peak frequency."""
    samples = ricker(10.0, 4000, 1e-3)
    assert abs(highest_frequency(samples, 1e-3) / 27.64 - 1) < 0.01
    several = np.stack([0 * samples, samples])[None]
    assert highest_frequency(several, 1e-3) == highest_frequency(samples, 1e-3)
    assert highest_frequency(0 * samples, 1e-3) == 0
    assert highest_frequency(np.ones(300), 1e-3) > 30 and highest_frequency(samples[150:], 1e-3) > 100  # a sudden end


@pytest.mark.slow
@pytest.mark.parametrize("entry", executors("torch-c"))
def test_an_inversion_ends_at_the_same_misfit(entry):
    """After thirty steps of least squares the misfits differ by less than 1 %."""
    true = long_run(Acoustic, "h1", False, "exact", 500)
    observed = entry.forward(true)
    start = np.full_like(true.models[0], true.models[0].mean())
    strategies = [MemoryOptions("full"), *(MemoryOptions("full", dtype=d) for d in ERRORS), of_strips(None)]
    strategies += [*map(of_strips, ERRORS), MemoryOptions("full", dtype="int8", interval=4)]
    ends = []
    for memory in strategies:
        vp, misfits = start.copy(), []
        for _ in range(31):
            setup = attrs.evolve(true.remembering(memory), models=[vp])
            misfit, (g,) = entry.misfit_and_gradient(setup, observed)
            misfits.append(misfit)
            vp = np.clip(vp - 20 * g / np.abs(g).max(), 1800, 3000).astype(np.float32)
        ends.append(misfits[-1])
        assert misfits[-1] < 0.9 * misfits[0]
    assert max(abs(end / ends[0] - 1) for end in ends) < 1e-2, dict(zip(map(str, strategies), ends, strict=True))
