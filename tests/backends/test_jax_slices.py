"""A compiled JAX gradient in slices has the bits of 'full' under every transform, and the estimated memory."""

import numpy as np
import pytest
from laws import case, variant

from sweep_core import Acoustic, CkptOptions, Elastic, MemoryOptions, Snapshots, UnsupportedError

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

from sweep_jax import PropJax, shim  # noqa: E402

SUPPORT = shim.supports(Acoustic(), 2, "cpu")
pytestmark = pytest.mark.skipif(not SUPPORT, reason=SUPPORT.reason)
FULL, RECURSIVE = MemoryOptions("full"), MemoryOptions("ckpt", ckpt=CkptOptions("recursive", count=3))
SCALES = jnp.array([1.0, -0.5, 1.25])


@pytest.fixture(autouse=True)
def many_segments(monkeypatch):
    """Shorten segments: a short run then has many, and the last one is shorter."""
    monkeypatch.setattr("sweep_core.memory.ckpt.SEGMENT", 5)


class Setting:
    """A solver, and the gradient of a functional of its record in (first model, wavelet)."""

    def __init__(self, memory, example=None):
        self.example = example or case(nt=48)
        self.solver = PropJax(**self.example.arguments | {"memory": memory}, impl="c")
        self.point = jnp.asarray(self.example.models[0]), jnp.asarray(self.example.shots.wavelet)
        self.weights = jnp.asarray(self.example.noise())
        self.gradient = jax.grad(self.value, (0, 1))

    def record(self, model, wavelet, **more):
        shots, others = self.example.shots, self.example.models[1:]
        return self.solver(wavelet, shots.sources, shots.receivers, [model, *others], shots.mask, **more)

    def value(self, model, wavelet, scale=1.0):
        return (self.record(model, wavelet) * self.weights * scale).sum()


TRANSFORMS = {
    "grad": lambda this: this.gradient(*this.point),
    "jit": lambda this: jax.jit(this.gradient)(*this.point),
    "without jit": lambda this: _without_jit(this),
    "checkpoint": lambda this: jax.grad(jax.checkpoint(this.value), (0, 1))(*this.point),
    "batch of models": lambda this: jax.vmap(lambda k: this.gradient(this.point[0] * (1 + k / 50), this.point[1]))(
        SCALES
    ),
    "batch of wavelets": lambda this: jax.vmap(lambda k: this.gradient(this.point[0], this.point[1] * k))(SCALES),
    "batch of cotangents": lambda this: jax.vmap(lambda k: this.gradient(*this.point, k))(SCALES),
    "gradient of a batch": lambda this: jax.grad(
        lambda m, w: jax.vmap(lambda k: this.value(m, w * k))(SCALES).sum(), (0, 1)
    )(*this.point),
    "batch of batches": lambda this: jax.jit(
        jax.vmap(jax.vmap(lambda m, k: this.gradient(this.point[0] * m, this.point[1] * k), (None, 0)), (0, None))
    )(1 + SCALES / 50, SCALES),
    "scan": lambda this: jax.lax.scan(
        lambda m, k: (m - k * this.gradient(m, this.point[1])[0], 0.0), this.point[0], SCALES
    ),
    "jvp": lambda this: jax.jvp(this.record, this.point, this.point),
}


def _without_jit(this):
    with jax.disable_jit():
        return this.gradient(*this.point)


def assert_equal(result, expected):
    for a, b in zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_slices_have_the_bits_of_full_under_each_transform(transform):
    assert_equal(*(transform(Setting(memory)) for memory in (RECURSIVE, FULL)))


@pytest.mark.parametrize("equation", [Acoustic, Elastic])
@pytest.mark.parametrize("name", ["free surface", "between nodes", "an earth each"])
def test_slices_have_the_bits_of_full_in_variants(name, equation):
    setup = variant(name, equation)
    assert_equal(*(Setting(memory, setup).gradient(*Setting(memory, setup).point) for memory in (RECURSIVE, FULL)))


def test_slices_do_not_change_snapshots():
    request = Snapshots(["h1"], every=7)

    def outcome(memory):
        this = Setting(memory)

        def value(*point):
            record, snapshots = this.record(*point, snapshots=request)
            return (record * this.weights).sum(), (record, snapshots)

        return jax.value_and_grad(value, (0, 1), has_aux=True)(*this.point)

    assert_equal(outcome(RECURSIVE), outcome(FULL))


@pytest.mark.parametrize("count", [1, 4])
def test_a_program_takes_the_estimated_memory(count):
    """XLA must neither copy states early nor hold the histories of two segments."""
    memory = MemoryOptions("ckpt", ckpt=CkptOptions("recursive", count=count))
    this = Setting(memory, case(nt=150, shape=(60, 80), nshots=2))
    memory_use = this.solver.estimate(2, 150, nreceivers=this.weights.shape[2], dtype="float64").current.use
    compiled = jax.jit(this.gradient).lower(*this.point).compile().memory_analysis()
    assert 0.8 < compiled.temp_size_in_bytes / memory_use.on_device < 1.05, (
        "a state is a sixth or an eighth of the estimate"
    )


def test_slices_fit_into_a_budget():
    setup = case(nt=150, shape=(60, 80), nshots=2)
    chunks = Setting(MemoryOptions("ckpt"), setup).solver.estimate(2, 150, dtype="float64").current.use.on_device
    this = Setting(MemoryOptions(budget=int(0.8 * chunks)), setup)
    assert this.solver.estimate(2, 150, dtype="float64").current.time > 4 / 3, "no chunks fit"
    assert_equal(this.gradient(*this.point), Setting(FULL, setup).gradient(*this.point))
    compiled = jax.jit(this.gradient).lower(*this.point).compile().memory_analysis()
    assert compiled.temp_size_in_bytes < 0.8 * chunks


@pytest.mark.parametrize("storage", ["cpu", "disk"])
@pytest.mark.parametrize("mode", ["chunk", "recursive"])
def test_states_off_the_device_are_refused(mode, storage):
    memory = MemoryOptions("ckpt", ckpt=CkptOptions(mode, storage=storage))
    with pytest.raises(UnsupportedError, match=f"storage='{storage}'.* needs torch .*use storage='gpu'"):
        Setting(memory)
