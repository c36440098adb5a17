"""Compiled JAX under JAX's transforms: results, refusals and memory."""

import re
import subprocess

import attrs
import numpy as np
import pytest
from building import COMPILER
from laws import case, error, variant

from sweep_core import Acoustic, DomainError, Elastic, MemoryOptions, StabilityError
from sweep_core.execution.call_checks import check_call
from sweep_core.execution.reference import ReferenceExecutor
from sweep_core.native import compiled_call, plan_history
from sweep_core.native.library import find

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

from sweep_jax import JaxExecutor, PropJax, shim  # noqa: E402
from sweep_jax.native import refusals  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not shim.supports(Acoustic(), 2, "cpu"), reason=shim.supports(Acoustic(), 2, "cpu").reason),
    pytest.mark.usefixtures("double"),
]
COUNT = 3


ASK = """
#include <dlfcn.h>
#include <cstdio>
#include "xla/ffi/api/c_api.h"
int main(int, char** names) {
  void* const handler = dlsym(dlopen(names[1], RTLD_NOW), names[2]);
  XLA_FFI_Metadata metadata = {XLA_FFI_Metadata_STRUCT_SIZE};
  XLA_FFI_Metadata_Extension extension = {};
  extension.extension_base = {XLA_FFI_Metadata_Extension_STRUCT_SIZE, XLA_FFI_Extension_Metadata, nullptr};
  extension.metadata = &metadata;
  XLA_FFI_CallFrame frame = {};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.extension_start = &extension.extension_base;
  if (!handler || reinterpret_cast<XLA_FFI_Handler*>(handler)(&frame)) return 1;
  std::printf("%d", metadata.traits & XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE);
}
"""


@pytest.mark.skipif(not COMPILER, reason="no C++ compiler")
def test_xla_may_record_only_the_cuda_handler(tmp_path):
    (tmp_path / "ask.cpp").write_text(ASK)
    command = [COMPILER, f"-I{jax.ffi.include_dir()}", str(tmp_path / "ask.cpp"), "-o", str(tmp_path / "ask"), "-ldl"]
    subprocess.run(command, check=True)
    answers = [
        subprocess.run([tmp_path / "ask", find("xla"), f"sweep_xla_{kind}"], check=True, capture_output=True).stdout
        for kind in ("cpu", "cuda")
    ]
    assert answers == [b"0", b"1"]


@pytest.fixture
def double():
    with jax.enable_x64(True):
        yield


@pytest.fixture
def setting():
    setup = case()
    solver = PropJax(**setup.arguments, impl="c")
    shots = setup.shots
    arrays = [jnp.asarray(x) for x in (setup.models[0], shots.wavelet, shots.sources, shots.receivers)]

    def record(vp, wavelet, sources, receivers):
        return solver(wavelet, sources, receivers, [vp])

    def misfit(*arguments):
        return 0.5 * jnp.sum(record(*arguments) ** 2)

    return setup, arrays, record, misfit


def batch_of(arrays, indices):
    """Return (arguments, axes): the arguments `indices` are stacks of COUNT values, the others as they are."""
    vp, wavelet, sources, receivers = arrays
    values = [
        jnp.stack([vp + 10 * i for i in range(COUNT)]),
        jnp.stack([wavelet * (i + 1) for i in range(COUNT)]),
        jnp.stack([(sources + i) % 19 for i in range(COUNT)]),
        jnp.stack([(receivers + 2 * i) % 19 for i in range(COUNT)]),
    ]
    arguments = [v if i in indices else a for i, (v, a) in enumerate(zip(values, arrays, strict=True))]
    return arguments, [0 if i in indices else None for i in range(4)]


def each(function, arguments, axes):
    """Stack the results of COUNT calls, one after another."""
    results = [
        function(*(x if a is None else x[i] for x, a in zip(arguments, axes, strict=True))) for i in range(COUNT)
    ]
    return jax.tree.map(lambda *parts: jnp.stack(parts), *results)


def assert_close(results, expected, tolerance=1e-14):
    for result, right in zip(jax.tree.leaves(results), jax.tree.leaves(expected), strict=True):
        assert error(result, np.asarray(right)) <= tolerance


@pytest.mark.parametrize("strategy", ["full", "auto", "ckpt", "ckpt-7"])
def test_gradient_is_the_transposed_jacobian(strategy, setting):
    setup, arrays, record, _ = setting
    setup = setup.remembering(strategy)
    solver = PropJax(**setup.arguments, impl="c")
    result, pull = jax.vjp(lambda vp: solver(arrays[1], arrays[2], arrays[3], [vp]), arrays[0])
    assert error(result, ReferenceExecutor().forward(setup.problem, setup.shots, setup.models)) <= 1e-12
    cotangent = setup.noise()
    born = ReferenceExecutor().born(setup.problem, setup.shots, setup.models, setup.direction())
    left, right = (born * cotangent).sum(), (setup.direction()[0] * pull(jnp.asarray(cotangent))[0]).sum()
    assert abs(left - right) <= 1e-12 * np.linalg.norm(born) * np.linalg.norm(cotangent)


def test_gradient_equals_torch(setting):
    setup, arrays, _, misfit = setting
    torch = pytest.importorskip("torch")
    from sweep_torch import PropTorch

    vp, wavelet = (torch.tensor(np.asarray(x), requires_grad=True) for x in arrays[:2])
    solver = PropTorch(**setup.arguments, impl="c")
    (0.5 * solver(wavelet, setup.shots.sources, setup.shots.receivers, models=[vp]).square().sum()).backward()
    assert_close(jax.grad(misfit, (0, 1))(*arrays), [vp.grad.numpy(), wavelet.grad.numpy()], 1e-12)


def test_jit_gives_the_same_results(setting):
    _, arrays, record, misfit = setting
    np.testing.assert_array_equal(jax.jit(record)(*arrays), record(*arrays))
    value, gradients = jax.value_and_grad(misfit, (0, 1))(*arrays)
    compiled, slopes = jax.jit(jax.value_and_grad(misfit, (0, 1)))(*arrays)
    assert_close([compiled, slopes], [value, gradients])


@pytest.mark.parametrize("equation", [Acoustic, Elastic])
def test_positions_between_nodes_alone_may_be_traced(equation):
    """Models that a jitted function or a scan closes over can be read, and have contacts with fluids."""
    setup = variant("between nodes", equation)
    if equation is Elastic:
        vp, vs, rho = setup.models
        setup = attrs.evolve(setup, models=[vp, np.where(np.arange(len(vs))[:, None] < 8, 0, vs), rho])
    wavelet, *models = (jnp.asarray(x) for x in (setup.shots.wavelet, *setup.models))
    solver, sources = PropJax(**setup.arguments, impl="c"), jnp.asarray(setup.shots.sources)

    def record(sources, receivers):
        return solver(wavelet, sources, receivers, models)

    expected = ReferenceExecutor().forward(setup.problem, setup.shots, setup.models)
    assert error(jax.jit(record)(sources, setup.shots.receivers), expected) <= 1e-12
    repeated = jax.lax.map(lambda further: record(sources + further, setup.shots.receivers), jnp.zeros(2))
    assert error(repeated[1], expected) <= 1e-12
    bad = [-models[0], *models[1:]]
    with pytest.raises(DomainError, match="vp"):  # while the program is traced
        jax.jit(lambda x: solver(wavelet, x, setup.shots.receivers, bad))(sources)


@pytest.mark.parametrize("indices", [(0,), (1,), (2,), (3,), (0, 2), (1, 2, 3)], ids=str)
def test_vmap_equals_separate_calls(indices, setting):
    _, arrays, record, misfit = setting
    arguments, axes = batch_of(arrays, indices)
    assert_close(jax.vmap(record, axes)(*arguments), each(record, arguments, axes))
    gradient = jax.grad(misfit, (0, 1))
    assert_close(jax.jit(jax.vmap(gradient, axes))(*arguments), each(gradient, arguments, axes))


@pytest.mark.parametrize("by", [(0,), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("indices", [(0,), (2,), (1, 2, 3), (0, 1)], ids=str)
def test_the_gradient_of_vmap_equals_separate_gradients(indices, by, setting):
    _, arrays, _, misfit = setting
    arguments, axes = batch_of(arrays, indices)
    result = jax.grad(lambda *x: jax.vmap(misfit, axes)(*x).sum(), by)(*arguments)
    parts = each(jax.grad(misfit, by), arguments, axes)
    assert_close(result, [p if i in indices else p.sum(axis=0) for i, p in zip(by, parts, strict=True)])


def test_a_batch_keeps_the_whole_history_of_each_call(setting, monkeypatch):
    """A tiny cache holds no chunk, so 'auto' keeps all steps; each call reads its part of the history."""
    monkeypatch.setattr("sweep_core.memory.auto.CACHE_BYTES", 1)
    setup, arrays, *_ = setting
    solver = PropJax(**setup.remembering("auto").arguments, impl="c")
    gradient = jax.grad(lambda vp, wavelet, *points: jnp.sum(solver(wavelet, *points, [vp]) ** 2))
    arguments, axes = batch_of(arrays, (1,))
    assert_close(jax.vmap(gradient, axes)(*arguments), each(gradient, arguments, axes))


def test_nested_vmap_equals_separate_calls(setting):
    _, arrays, record, misfit = setting
    models, _ = batch_of(arrays, (0,))
    sources, _ = batch_of(arrays, (2,))
    inner = jax.vmap(misfit, (None, None, 0, None))
    result = jax.grad(lambda vp: jax.vmap(inner, (0, None, None, None))(vp, arrays[1], sources[2], arrays[3]).sum())
    one = jax.grad(misfit)
    expected = [sum(one(vp, arrays[1], sources[2][i], arrays[3]) for i in range(COUNT)) for vp in models[0]]
    assert_close(result(models[0]), jnp.stack(expected))
    moved = jax.vmap(lambda w: record(arrays[0], w, *arrays[2:]), in_axes=2, out_axes=1)
    wavelets = batch_of(arrays, (1,))[0][1]
    assert_close(moved(jnp.moveaxis(wavelets, 0, 2)), jnp.moveaxis(each(record, *batch_of(arrays, (1,))), 0, 1))


def test_batches_of_one_earth_become_shots(setting):
    _, arrays, record, _ = setting
    for indices, loops in {(2,): 0, (1, 3): 0, (0,): 1, (0, 2): 1}.items():
        arguments, axes = batch_of(arrays, indices)
        text = str(jax.make_jaxpr(jax.vmap(record, axes))(*arguments))
        assert (text.count("sweep_forward["), text.count("scan[")) == (1, loops), indices


@pytest.mark.parametrize(("ndevices", "threads"), [(1, 8), (2, 4), (4, 2), (16, 2)])
def test_devices_of_a_host_share_its_threads(ndevices, threads, setting, monkeypatch):
    """Four of 16 devices are on this host."""
    _, arrays, record, _ = setting
    monkeypatch.setattr("sweep_jax.operators.thread_count", lambda: 8)
    monkeypatch.setattr("sweep_jax.operators.device_count", lambda _: ndevices)
    monkeypatch.setattr("sweep_jax.operators.jax.local_devices", lambda backend=None: jax.devices(backend) * 4)
    text = jax.jit(lambda *arguments: record(*arguments)).lower(*arrays).as_text()
    assert re.findall(r"threads = (\d+) : i32", text) == [str(threads)]


def test_scan_and_checkpoint_equal_plain_calls(setting):
    _, arrays, _, misfit = setting
    vp, wavelet, _, receivers = arrays
    sources = batch_of(arrays, (2,))[0][2]
    one = jax.grad(misfit)

    def total(vp, step):
        return jax.lax.scan(step, (vp, 0.0), sources)[0][1]

    def step(carry, sources):
        return (carry[0], carry[1] + misfit(carry[0], wavelet, sources, receivers)), None

    expected = sum(one(vp, wavelet, s, receivers) for s in sources)
    for body in (step, jax.checkpoint(step)):
        assert_close(jax.jit(jax.grad(total), static_argnums=1)(vp, body), expected)
    assert_close(jax.grad(jax.checkpoint(misfit), (0, 1))(*arrays), jax.grad(misfit, (0, 1))(*arrays))

    def descend(vp, sources):
        return vp - 1e-3 * one(vp, wavelet, sources, receivers), None

    stepped = vp
    for s in sources:
        stepped = descend(stepped, s)[0]
    assert_close(jax.lax.scan(descend, vp, sources)[0], stepped)


def test_the_gradient_needs_no_jit(setting):
    _, arrays, _, misfit = setting
    expected = jax.grad(misfit, (0, 1))(*arrays)
    with jax.disable_jit():
        assert_close(jax.grad(misfit, (0, 1))(*arrays), expected)


def test_born_and_adjoint_are_each_others_transpose(setting):
    _, arrays, record, _ = setting
    vp = arrays[0]
    result, push = jax.linearize(lambda vp: record(vp, *arrays[1:]), vp)
    pull = jax.linear_transpose(push, vp)
    transposed = jax.linear_transpose(lambda y: pull(y)[0], result)
    programs = [str(jax.make_jaxpr(f)(x)) for f, x in ((push, vp), (pull, result), (transposed, vp))]
    assert ["sweep_born" in text for text in programs] == [True, False, True]
    assert ["sweep_adjoint" in text for text in programs] == [False, True, False]


@pytest.mark.parametrize("strategy", ["full", "ckpt"])
def test_a_record_alone_needs_no_history(strategy, setting):
    setup, arrays, *_ = setting
    setup = setup.remembering(strategy)
    solver = PropJax(**setup.arguments, impl="c")

    def misfit(vp):
        return jnp.sum(solver(setup.shots.wavelet, setup.shots.sources, setup.shots.receivers, [vp]) ** 2)

    shape = check_call(setup.problem, setup.shots, setup.models)
    buffers = compiled_call(
        "cpu", setup.problem, shape, plan_history("cpu", setup.problem, shape, slices=False).chunk
    ).named()
    remaining = max(buffers[name].shape[0] for name in ("history", "checkpoints"))
    texts = [jax.jit(f).lower(arrays[0]).as_text() for f in (misfit, jax.grad(misfit))]
    assert remaining > 0 and [f"tensor<{remaining}xui8>" in text for text in texts] == [False, True]


# --- refusals of values -----------------------------------------------------------------------------------------------


def broken(arrays, name):
    """Return (arguments with one bad value, class of their exception)."""
    vp, wavelet, sources, receivers = arrays
    return {
        "nan": ((vp.at[3, 4].set(jnp.nan), wavelet, sources, receivers), DomainError),
        "negative": ((vp.at[3, 4].set(-2000.0), wavelet, sources, receivers), DomainError),
        "infinite": ((vp.at[3, 4].set(jnp.inf), wavelet, sources, receivers), DomainError),
        "unstable": ((vp.at[3, 4].set(9000.0), wavelet, sources, receivers), StabilityError),
        "source": ((vp, wavelet, sources.at[1, 0, 0].set(-1), receivers), DomainError),
        "receiver": ((vp, wavelet, sources, receivers.at[1, 0, 1].set(19)), DomainError),
    }[name]


BROKEN = ["nan", "negative", "infinite", "unstable", "source", "receiver"]


@pytest.mark.parametrize("name", BROKEN)
def test_bad_values_are_refused(name, setting):
    _, arrays, record, misfit = setting
    arguments, kind = broken(arrays, name)
    for attempt in (record, jax.grad(misfit), jax.value_and_grad(misfit, (0, 1))):
        with pytest.raises(kind):
            attempt(*arguments)


@pytest.mark.parametrize("name", BROKEN)
def test_bad_values_under_jit_raise_an_error_of_jax(name, setting):
    _, arrays, record, misfit = setting
    arguments, kind = broken(arrays, name)
    status = {DomainError: 2, StabilityError: 3}[kind]
    text = "vp2 is"
    if name in ("source", "receiver", "unstable"):
        text = "the largest stable dt is" if name == "unstable" else "outside the model"
    batch = [x[None] for x in arguments]
    for program, inputs in ((record, arguments), (jax.grad(misfit), arguments), (jax.vmap(record), batch)):
        with pytest.raises(jax.errors.JaxRuntimeError, match=f"SWEEP status {status}: .*{text}"):
            jax.block_until_ready(jax.jit(program)(*inputs))
        with pytest.raises(kind, match=text), refusals():
            jax.block_until_ready(jax.jit(program)(*inputs))
    good = jax.jit(record)(*arrays)
    assert jnp.isfinite(good).all()


def test_the_executor_refuses_unstable_models(setting):
    setup, arrays, *_ = setting
    vp, *_ = broken(arrays, "unstable")[0]
    for call in (
        lambda e: e.forward(setup.problem, setup.shots, [vp]),
        lambda e: e.misfit_and_gradient(setup.problem, setup.shots, [vp], setup.noise()),
    ):
        with pytest.raises(StabilityError, match="the largest stable dt is"):
            call(JaxExecutor("c"))


def test_a_negative_parameter_with_a_positive_square_is_refused(setting):
    """vp2 = vp * vp is positive: compiled code alone would not see the sign."""
    _, arrays, record, _ = setting
    with pytest.raises(jax.errors.JaxRuntimeError, match="SWEEP status 2: vp2 is nan"):
        jax.block_until_ready(jax.jit(record)(-arrays[0], *arrays[1:]))


def test_a_float32_record_is_close_to_the_reference(setting):
    setup = case().typed("float32")
    solver = PropJax(**setup.arguments | {"memory": MemoryOptions("full")}, impl="c")
    record = solver(setup.shots.wavelet, setup.shots.sources, setup.shots.receivers, setup.models)
    assert record.dtype == np.float32
    assert error(record, ReferenceExecutor().forward(setup.problem, case().shots, case().models)) <= 1e-5


def test_a_batch_without_a_derivative_needs_no_history(setting):
    _, arrays, record, _ = setting
    arguments, axes = batch_of(arrays, (2,))
    assert "history=False" in str(jax.make_jaxpr(jax.vmap(record, axes))(*arguments))
