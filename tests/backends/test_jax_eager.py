"""Eager JAX: its scan in chunks, its derivatives of any order, and NaN for refused traced values."""

import numpy as np
import pytest
from laws import case, error

from sweep_core import Acoustic, CkptOptions, DomainError, MemoryOptions, Shots, StabilityError
from sweep_core.execution.reference import ReferenceExecutor

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

from sweep_jax import JaxExecutor, PropJax  # noqa: E402

pytestmark = pytest.mark.usefixtures("double")


@pytest.fixture
def double():
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def setting():
    setup = case(nt=24)
    with jax.enable_x64(True):
        arrays = [
            jnp.asarray(x) for x in (setup.models[0], setup.shots.wavelet, setup.shots.sources, setup.shots.receivers)
        ]
    return setup, arrays, record_of(setup)


def record_of(example, **more):
    solver = PropJax(**example.arguments | more, impl="eager")
    return lambda vp, wavelet, sources, receivers: solver(wavelet, sources, receivers, [vp])


def misfit_of(record):
    return lambda *arguments: 0.5 * jnp.sum(record(*arguments) ** 2)


@pytest.mark.parametrize("steps, chunks", [(24, 1), (24, 5), (24, 23), (24, 99), (2, 1), (1, 1)])
def test_chunks_are_exact(steps, chunks, setting):
    setup, arrays, _ = setting
    arrays = [arrays[0], arrays[1][..., :steps], *arrays[2:]]
    shots = Shots(*map(np.asarray, arrays[1:]))
    expected = ReferenceExecutor().forward(setup.problem, shots, setup.models)
    options = MemoryOptions("ckpt", ckpt=CkptOptions(chunks=chunks))
    record = record_of(setup, memory=options)
    assert np.abs(record(*arrays) - expected).max() <= 1e-12 * max(np.abs(expected).max(), 1e-300)
    if steps == 24:
        full = jax.grad(misfit_of(record_of(setup, memory=MemoryOptions("full"))), (0, 1))(*arrays)
        for x, right in zip(jax.grad(misfit_of(record), (0, 1))(*arrays), full, strict=True):
            assert error(x, np.asarray(right)) <= 1e-12


def test_recomputing_shrinks_the_largest_array(setting):
    """The largest array of the compiled gradient shrinks from all steps to about their square root."""
    setup, arrays, _ = setting
    cells = np.prod(setup.problem.padded_shape)

    def largest(strategy):
        misfit = misfit_of(record_of(setup.remembering(strategy)))
        program = jax.make_jaxpr(jax.grad(misfit))(*arrays)
        sizes = [v.aval.size for e in equations_of(program.jaxpr) for v in e.outvars if hasattr(v.aval, "size")]
        return max(sizes) / cells / 3  # wavefields of three shots

    assert largest("full") >= 23
    assert largest("auto") <= 10


def equations_of(jaxpr):
    for equation in jaxpr.eqns:
        yield equation
        for value in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from equations_of(inner)


def test_born_and_second_derivatives_are_exact(setting):
    setup, arrays, record = setting
    direction = setup.direction()
    expected = ReferenceExecutor().born(setup.problem, setup.shots, setup.models, direction)
    dm = jnp.asarray(direction[0])
    tangent = jax.jvp(lambda vp: record(vp, *arrays[1:]), (arrays[0],), (dm,))[1]
    assert error(tangent, expected) <= 1e-12
    for impl in ("auto", "eager"):
        assert error(JaxExecutor(impl).born(setup.problem, setup.shots, setup.models, direction), expected) <= 1e-12

    def misfit(vp):
        return misfit_of(record)(vp, *arrays[1:])

    product = jax.jvp(jax.grad(misfit), (arrays[0],), (dm,))[1]
    h = 1e-4
    difference = (jax.grad(misfit)(arrays[0] + h * dm) - jax.grad(misfit)(arrays[0] - h * dm)) / (2 * h)
    assert error(product, np.asarray(difference)) <= 1e-6


def test_the_gradient_equals_that_of_compiled_code(setting):
    setup, arrays, record = setting
    from sweep_jax import shim

    support = shim.supports(Acoustic(), 2, "cpu")
    if not support:
        pytest.skip(support.reason)
    solver = PropJax(**setup.arguments, impl="c")
    compiled = jax.grad(lambda vp, w: 0.5 * jnp.sum(solver(w, *arrays[2:], [vp]) ** 2), (0, 1))(*arrays[:2])
    for x, right in zip(jax.grad(misfit_of(record), (0, 1))(*arrays), compiled, strict=True):
        assert error(x, np.asarray(right)) <= 1e-10


def test_transforms_agree_with_plain_calls(setting):
    _, (vp, wavelet, sources, receivers), record = setting
    one = jax.grad(misfit_of(record))
    shifted = jnp.stack([sources, (sources + 1) % 19])
    expected = [one(vp, wavelet, s, receivers) for s in shifted]
    result = jax.jit(jax.vmap(one, (None, None, 0, None)))(vp, wavelet, shifted, receivers)
    assert error(result, np.stack(expected)) <= 1e-12

    def total(vp):
        return jax.lax.scan(lambda sum_, s: (sum_ + misfit_of(record)(vp, wavelet, s, receivers), None), 0.0, shifted)[
            0
        ]

    assert error(jax.grad(total)(vp), sum(expected)) <= 1e-12


# --- refusals of values -----------------------------------------------------------------------------------------------

BROKEN = {
    "nan": (lambda vp, w, s, r: (vp.at[3, 4].set(jnp.nan), w, s, r), DomainError),
    "negative": (lambda vp, w, s, r: (vp.at[3, 4].set(-2000.0), w, s, r), DomainError),
    "unstable": (lambda vp, w, s, r: (vp.at[3, 4].set(9000.0), w, s, r), StabilityError),
    "source": (lambda vp, w, s, r: (vp, w, s.at[1, 0, 0].set(-1), r), DomainError),
    "receiver": (lambda vp, w, s, r: (vp, w, s, r.at[1, 0, 1].set(19)), DomainError),
    "far": (lambda vp, w, s, r: (vp, w, s.at[1, 0, 0].set(2**31 - 1), r), DomainError),
}


@pytest.mark.parametrize("name", BROKEN)
def test_bad_values_are_refused(name, setting):
    _, arrays, record = setting
    spoil, kind = BROKEN[name]
    arguments = spoil(*arrays)
    for function in (record, jax.grad(misfit_of(record))):
        with pytest.raises(kind):
            function(*arguments)
        assert jnp.isnan(jax.jit(function)(*arguments)).all()
    assert jnp.isnan(jax.vmap(record)(*(x[None] for x in arguments))).all()


def test_unsigned_positions_do_not_overflow(setting):
    setup, (vp, wavelet, sources, receivers), record = setting
    expected = record(vp, wavelet, sources, receivers)
    small = [x.astype(jnp.uint8) for x in (sources, receivers)]
    np.testing.assert_array_equal(
        jax.jit(record)(vp, wavelet, *small), jax.jit(record)(vp, wavelet, sources, receivers)
    )
    np.testing.assert_array_equal(record(vp, wavelet, *map(np.asarray, small)), expected)
    wide = PropJax(Acoustic(2), (4, 300), 10.0, 0.001, impl="eager", pml_width=3)
    one = jnp.array([[255, 2]], jnp.uint8)
    result = jax.jit(lambda p: wide(jnp.ones(3), p, p, [jnp.full((4, 300), 2000.0)]))(one)
    assert jnp.isfinite(result).all() and result[0, 1, 0, 0] > 0
