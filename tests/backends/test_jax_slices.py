"""A compiled gradient in JAX whose run is made in slices: the bits of 'full' under every transform, and its memory."""

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
    """Short ones, so that a short run has many of them, the last one shorter."""
    monkeypatch.setattr("sweep_core.memory.ckpt.SEGMENT", 5)


class Setting:
    """A solver, and the gradient of a functional of its record in (first model, wavelet)."""

    def __init__(self, memory, example=None):
        self.example = example or case(nt=48)
        self.solver = PropJax(**self.example.arguments | {"memory": memory}, impl="c")
        self.at = jnp.asarray(self.example.models[0]), jnp.asarray(self.example.shots.wavelet)
        self.weights = jnp.asarray(self.example.noise())
        self.gradient = jax.grad(self.value, (0, 1))

    def record(self, model, wavelet, **more):
        shots, others = self.example.shots, self.example.models[1:]
        return self.solver(wavelet, shots.sources, shots.receivers, [model, *others], shots.mask, **more)

    def value(self, model, wavelet, scale=1.0):
        return (self.record(model, wavelet) * self.weights * scale).sum()


TRANSFORMS = {
    "grad": lambda this: this.gradient(*this.at),
    "jit": lambda this: jax.jit(this.gradient)(*this.at),
    "without jit": lambda this: _without_jit(this),
    "checkpoint": lambda this: jax.grad(jax.checkpoint(this.value), (0, 1))(*this.at),
    "batch of models": lambda this: jax.vmap(lambda k: this.gradient(this.at[0] * (1 + k / 50), this.at[1]))(SCALES),
    "batch of wavelets": lambda this: jax.vmap(lambda k: this.gradient(this.at[0], this.at[1] * k))(SCALES),
    "batch of cotangents": lambda this: jax.vmap(lambda k: this.gradient(*this.at, k))(SCALES),
    "gradient of a batch": lambda this: jax.grad(
        lambda m, w: jax.vmap(lambda k: this.value(m, w * k))(SCALES).sum(), (0, 1)
    )(*this.at),
    "batch of batches": lambda this: jax.jit(
        jax.vmap(jax.vmap(lambda m, k: this.gradient(this.at[0] * m, this.at[1] * k), (None, 0)), (0, None))
    )(1 + SCALES / 50, SCALES),
    "scan": lambda this: jax.lax.scan(lambda m, k: (m - k * this.gradient(m, this.at[1])[0], 0.0), this.at[0], SCALES),
    "jvp": lambda this: jax.jvp(this.record, this.at, this.at),
}


def _without_jit(this):
    with jax.disable_jit():
        return this.gradient(*this.at)


def assert_equal(result, expected):
    for a, b in zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_the_bits_of_full_under_each_transform(transform):
    assert_equal(*(transform(Setting(memory)) for memory in (RECURSIVE, FULL)))


@pytest.mark.parametrize("equation", [Acoustic, Elastic])
@pytest.mark.parametrize("name", ["free surface", "between nodes", "an earth each"])
def test_the_bits_of_full_in_variants(name, equation):
    setup = variant(name, equation)
    assert_equal(*(Setting(memory, setup).gradient(*Setting(memory, setup).at) for memory in (RECURSIVE, FULL)))


def test_snapshots_are_those_of_the_forward_run():
    asked = Snapshots(["h1"], every=7)

    def outcome(memory):
        this = Setting(memory)

        def value(*at):
            record, snapshots = this.record(*at, snapshots=asked)
            return (record * this.weights).sum(), (record, snapshots)

        return jax.value_and_grad(value, (0, 1), has_aux=True)(*this.at)

    assert_equal(outcome(RECURSIVE), outcome(FULL))


@pytest.mark.parametrize("count", [1, 4])
def test_a_program_takes_what_the_estimate_says(count):
    """XLA may copy no state before its time, nor hold the histories of two segments."""
    memory = MemoryOptions("ckpt", ckpt=CkptOptions("recursive", count=count))
    this = Setting(memory, case(nt=150, shape=(60, 80), nshots=2))
    memory_use = this.solver.estimate(2, 150, nreceivers=this.weights.shape[2], dtype="float64").current.use
    compiled = jax.jit(this.gradient).lower(*this.at).compile().memory_analysis()
    assert 0.8 < compiled.temp_size_in_bytes / memory_use.on_device < 1.05, "a state is a sixth of it, or an eighth"


def test_a_budget_is_kept_by_slices():
    setup = case(nt=150, shape=(60, 80), nshots=2)
    chunks = Setting(MemoryOptions("ckpt"), setup).solver.estimate(2, 150, dtype="float64").current.use.on_device
    this = Setting(MemoryOptions(budget=int(0.8 * chunks)), setup)
    assert this.solver.estimate(2, 150, dtype="float64").current.time > 4 / 3, "no chunks fit"
    assert_equal(this.gradient(*this.at), Setting(FULL, setup).gradient(*this.at))
    compiled = jax.jit(this.gradient).lower(*this.at).compile().memory_analysis()
    assert compiled.temp_size_in_bytes < 0.8 * chunks


@pytest.mark.parametrize("storage", ["cpu", "disk"])
@pytest.mark.parametrize("mode", ["chunk", "recursive"])
def test_states_elsewhere_are_refused(mode, storage):
    memory = MemoryOptions("ckpt", ckpt=CkptOptions(mode, storage=storage))
    with pytest.raises(UnsupportedError, match=f"storage='{storage}'.* for torch .*use storage='gpu'"):
        Setting(memory)
