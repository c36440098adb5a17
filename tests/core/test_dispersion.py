"""The maps that add and remove time dispersion: their values, inverses and derivatives."""

import math

import numpy as np
import pytest

from sweep_core import DtypeError, ricker
from sweep_core.numerics import time_dispersion
from sweep_core.numerics.time_dispersion import disperse, overrun, undisperse

LENGTHS = [1, 2, 7, 600, 1001]
MAPS = pytest.mark.parametrize("apply", [disperse, undisperse])


def taper(w) -> np.ndarray:
    """Return a taper of the leapfrog's frequencies, in [0, pi]: 1 below pi / 2, 0 from 2 pi / 3 on."""
    smooth = np.array([math.erfc((10 * x - 35 * math.pi / 6) / (math.pi / 6)) / 2 for x in w])
    return np.where(w > 2 * math.pi / 3, 0, smooth)


def dense(apply, rows, nt, refine=1) -> np.ndarray:
    """Return rows of the map by its integral over frequency, with about 4 nt * refine points."""
    own = np.linspace(0, np.pi, 2 * (nt + 400) * refine + 1)[:-1]
    weight = np.where(own == 0, 1, 2) * (own[1] / (2 * np.pi))
    if apply is disperse:
        numerical, read = own, 2 * np.sin(own / 2)
    else:
        numerical = read = 2 * np.arcsin(np.minimum(own / 2, 1))
    phases = np.exp(1j * np.outer(rows, own)) * weight * taper(numerical)
    return (phases @ np.exp(-1j * np.outer(read, np.arange(nt)))).real


def noise(*shape, dtype=np.float64):
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def packet(nt, centre, freq, width):
    """Return a wave packet; `freq` is in cycles per sample."""
    k = np.arange(nt) - centre
    return np.cos(2 * np.pi * freq * k) * np.exp(-((k / width) ** 2))


def distance(x, y) -> float:
    return float(np.linalg.norm(x - y) / np.linalg.norm(y))


# --- values -----------------------------------------------------------------------------------------------------------


@MAPS
@pytest.mark.parametrize("nt", LENGTHS)
def test_the_map_equals_its_integral(apply, nt):
    """Noise is the hardest signal; it also shows that nothing wraps around."""
    x, rows = noise(3, nt), np.arange(nt)
    assert distance(apply(np, x), x @ dense(apply, rows, nt).T) < 1e-12


@MAPS
def test_the_map_of_a_long_signal_equals_its_integral(apply):
    x, rows = noise(3000), np.array([0, 1, 700, 1499, 2210, 2998, 2999])
    assert distance(apply(np, x)[rows], dense(apply, rows, 3000) @ x) < 1e-12


@MAPS
def test_nothing_wraps_around(apply):
    """Four times as many frequencies, hence four times the period in time, change nothing."""
    rows = np.arange(300)
    once, fine = (dense(apply, rows, 300, refine) for refine in (1, 4))
    assert np.abs(fine - once).max() < 1e-12
    assert distance(apply(np, np.eye(300)), fine.T) < 1e-12


def test_a_frequency_moves_to_that_of_the_leapfrog():
    """A packet at sample j moves to j cos(w / 2), and its frequency from theta(w) to w."""
    numerical, k = 0.35 * np.pi, np.arange(1200)
    moved = disperse(np, packet(1200, 800, 2 * math.sin(numerical / 2) / (2 * np.pi), 60)) ** 2
    assert (k @ moved) / moved.sum() == pytest.approx(800 * math.cos(numerical / 2), rel=2e-3)


def test_the_maps_correct_the_leapfrog_of_an_oscillator():
    """The leapfrog's error in u'' + q^2 u = s, at dt = 1, is 1.6 without the maps and 2e-9 with them."""
    nt, q, s = 1500, 0.4, ricker(0.06, 1500, 1.0, 60.0)
    rotating = np.exp(1j * q * np.arange(nt))  # after the end of s the integral of s(t') sin(q (t - t')) / q is a wave
    exact = np.imag(rotating * (s @ rotating.conj())) / q

    def run(drive):
        u = np.zeros(nt)
        for j in range(1, nt - 1):
            u[j + 1] = 2 * u[j] - u[j - 1] - q**2 * u[j] + drive[j]
        return u

    after = slice(130, nt - overrun(nt))
    assert distance(run(s)[after], exact[after]) > 0.5
    assert distance(undisperse(np, run(disperse(np, s)))[after], exact[after]) < 1e-7


@pytest.mark.parametrize("nt", [20, 150, 3000])
def test_overrun_bounds_the_reach_of_a_cut(nt):
    """The end of the record cuts a wave of full height."""
    longer = nt + overrun(nt)
    record = packet(2 * longer, longer, 0.05, longer / 5)
    result, whole = undisperse(np, record[:longer]), undisperse(np, record)
    assert np.abs(result[:nt] - whole[:nt]).max() < 1e-6
    assert np.abs(result[nt:] - whole[nt:longer]).max() > 0.05


# --- algebra ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("freq", [0.03, 0.1, 0.18])
def test_the_maps_undo_each_other(freq):
    early, late = packet(1000, 350, freq, 35), packet(1000, 800, freq, 35)
    assert distance(disperse(np, undisperse(np, early)), early) < 1e-11
    assert distance(undisperse(np, disperse(np, late)), late) < 1e-11
    assert distance(disperse(np, late), late) > 0.05


@MAPS
def test_the_maps_are_linear_over_any_batch(apply):
    x = noise(2, 3, 101)
    np.testing.assert_allclose(apply(np, 2 * x[0] - x[1]), 2 * apply(np, x[0]) - apply(np, x[1]), atol=1e-13)
    np.testing.assert_allclose(apply(np, x)[1, 2], apply(np, x[1, 2]), atol=1e-13)


@pytest.mark.parametrize("kind", ["disperse", "undisperse"])
@pytest.mark.parametrize("nt", [*LENGTHS, 100003])
def test_no_two_frequencies_read_the_same_tap(kind, nt):
    """The derivative then adds to each place once, and its bits do not depend on an order."""
    tables = time_dispersion.make_tables(kind, nt, "float64")
    assert (np.diff(tables.first) > 0).all()
    assert tables.padded < 2.3 * nt + 700  # the work is that of Fourier transforms of about this length


# --- dtypes and frameworks --------------------------------------------------------------------------------------------


@MAPS
def test_float32_is_accurate(apply):
    x = noise(4, 1001, dtype=np.float32)
    assert apply(np, x).dtype == np.float32
    assert distance(apply(np, x), apply(np, x.astype(np.float64))) < 1e-6


@MAPS
@pytest.mark.parametrize("dtype", [np.int64, np.float16, np.complex128])
def test_other_dtypes_are_refused(apply, dtype):
    with pytest.raises(DtypeError, match=f"is {np.dtype(dtype)}; expected float32 or float64"):
        apply(np, np.zeros(8, dtype))


@MAPS
@pytest.mark.parametrize("nt", LENGTHS)
def test_torch_computes_the_map_and_its_transpose(apply, nt):
    torch = pytest.importorskip("torch")
    x, y = (torch.tensor(v) for v in noise(2, 4, nt))
    x.requires_grad_()
    result = apply(torch, x)
    np.testing.assert_allclose(result.detach(), apply(np, x.detach().numpy()), atol=1e-12)
    (transposed,) = torch.autograd.grad(result, x, y)
    forward, adjoint = (result * y).sum().item(), (x * transposed).sum().item()
    assert abs(forward - adjoint) < 1e-12 * (result * y).abs().sum().item()
    assert apply(torch, x.float()).dtype == torch.float32


@MAPS
def test_torch_transforms_agree(apply):
    torch = pytest.importorskip("torch")
    x, v = (torch.tensor(a) for a in noise(2, 3, 64))

    def energy(signal):
        return (apply(torch, signal) ** 2).sum()

    whole = apply(torch, x)
    torch.testing.assert_close(torch.vmap(lambda s: apply(torch, s))(x), whole)
    value, tangent = torch.func.jvp(lambda s: apply(torch, s), (x,), (v,))
    torch.testing.assert_close(tangent, apply(torch, v))
    slope = (2 * whole * tangent).sum()
    torch.testing.assert_close((torch.func.grad(energy)(x) * v).sum(), slope)
    torch.testing.assert_close((torch.vmap(torch.func.grad(energy))(x) * v).sum(), slope)


@MAPS
def test_torch_compile_takes_tables_of_the_caller(apply):
    torch = pytest.importorskip("torch")
    x = torch.tensor(noise(2, 64))
    tables = time_dispersion.make_tables(apply.__name__, 64, "float64")
    result = torch.compile(lambda s: apply(torch, s, tables), backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(result(x), apply(torch, x))


@MAPS
def test_jax_transforms_agree(apply):
    jax = pytest.importorskip("jax")
    x, v = (jax.numpy.asarray(a) for a in noise(2, 3, 101))

    def example(signal):
        return apply(jax.numpy, signal)

    def energy(signal):
        return (example(signal) ** 2).sum()

    whole = jax.jit(example)(x)
    np.testing.assert_allclose(whole, apply(np, np.asarray(x)), atol=1e-12)
    np.testing.assert_allclose(jax.vmap(example)(x), whole, atol=1e-12)
    tangent = jax.jvp(example, (x,), (v,))[1]
    np.testing.assert_allclose(tangent, example(v), atol=1e-12)
    slope = float((2 * whole * tangent).sum())
    assert float((jax.jit(jax.grad(energy))(x) * v).sum()) == pytest.approx(slope, rel=1e-12)
    assert example(x.astype("float32")).dtype == "float32"
