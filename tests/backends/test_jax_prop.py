"""PropJax and JaxExecutor as objects: arguments, devices, dtypes and missing libraries."""

import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
from laws import case, executors, variant

from sweep_core import (
    Acoustic,
    DeviceError,
    DomainError,
    DtypeError,
    NativeError,
    OptionError,
    ShapeError,
    ShotPlan,
    Shots,
)

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

from sweep_jax import JaxExecutor, PropJax, shim  # noqa: E402
from sweep_jax import distribution as d  # noqa: E402

WAVELET, SOURCES, RECEIVERS = np.ones(8, np.float32), np.array([[3, 4]]), np.array([[1, 2], [7, 8]])
MODEL = np.full((12, 14), 2000, np.float32)


def solver(**more):
    return PropJax(Acoustic(), (12, 14), 10.0, 0.001, **{"impl": "eager", "pml_width": 3} | more)


def call(example=None, wavelet=WAVELET, sources=SOURCES, receivers=RECEIVERS, models=(MODEL,)):
    return (example or solver())(wavelet, sources, receivers, models=models)


def test_numpy_and_jax_arrays_give_the_same_record():
    expected = call()
    arrays = [jnp.asarray(x) for x in (WAVELET, SOURCES, RECEIVERS)]
    np.testing.assert_array_equal(call(None, *arrays, models=[jnp.asarray(MODEL)]), expected)
    assert expected.shape == (1, 8, 2, 1) and expected.dtype == np.float32


@pytest.mark.parametrize("entry", executors("jax-c", "jax-eager"))
@pytest.mark.parametrize("strategy", ["full", "ckpt"])
def test_later_changes_of_numpy_arrays_do_not_change_a_gradient(entry, strategy):
    """The arrays change before the pullback, while JAX may still run."""
    setup, results = variant("between nodes", nt=16).remembering(strategy), []
    solver = PropJax(**setup.arguments, impl=entry.executor_for(setup.problem).impl)
    for change in (1.0, 0.5):
        inputs = [x.copy() for x in (setup.shots.wavelet, setup.shots.sources, setup.shots.receivers, *setup.models)]
        record, back = jax.vjp(lambda model, inputs=inputs: solver(*inputs[:3], [model]), jnp.array(inputs[3]))
        for x in inputs:
            x *= change
        results.append(back(jnp.ones_like(record))[0])
    np.testing.assert_array_equal(*results)


def aligned(x):
    """Return a copy that JAX may use in place, without a copy of its own."""
    x = np.asarray(x)
    buffer = np.empty(x.nbytes + 64, np.uint8)
    start = -buffer.ctypes.data % 64
    result = buffer[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    result[...] = x
    return result


@pytest.mark.parametrize("dev", [None, "cpu"])
@pytest.mark.parametrize("entry", executors("jax-c", "jax-eager"))
def test_later_changes_of_numpy_arrays_do_not_change_a_record(entry, dev):
    """JAX returns before it has computed."""
    entry.executor_for(case().problem)
    prop, results = PropJax(Acoustic(4), (100, 100), 10.0, 0.001, dev=dev, impl=entry.name.removeprefix("jax-")), []
    for change in (1, 0):
        arguments = [
            np.ones(200),
            np.full((1, 2), 50),
            np.full((2, 2), 60),
            np.full((100, 100), 2e3),
            np.ones((1, 2), bool),
        ]
        *survey, model, mask = map(aligned, arguments)
        record = prop(*survey, [model], mask)
        for x in (*survey, model, mask):
            x[...] = change * x
        results.append(np.asarray(record))
    np.testing.assert_array_equal(*results)


def test_placed_arrays_are_copies():
    devices = d.local_devices(1)
    placed = {
        "model": lambda x: solver(models=[x])._models[0],
        "model on a device": lambda x: solver(models=[x], dev="cpu")._models[0],
        "replicate": lambda x: d.replicate(x, devices),
        "broadcast": lambda x: d.JaxDistributor(devices).broadcast(x),
        "scatter": lambda x: d.JaxDistributor(devices).scatter(ShotPlan(12, 1), x),
        "shard_shots": lambda x: d.shard_shots(ShotPlan(12, 1), x, devices)[0],
    }
    for name, place in placed.items():
        x = aligned(MODEL)
        result = place(x)
        x[...] = 0
        assert (np.asarray(result) == 2000).all(), name


def test_the_constructor_takes_models():
    prop = solver(models=[MODEL])
    np.testing.assert_array_equal(prop(WAVELET, SOURCES, RECEIVERS), call())
    with pytest.raises(OptionError, match="models are missing"):
        call(models=None)
    with pytest.raises(DtypeError, match=r"expected a list or tuple, models=\[vp\]"):
        solver(models=MODEL)


def test_a_solver_can_be_hashed_and_pickled():
    prop = solver()
    assert {prop: 1}[prop] == 1
    copied = pickle.loads(pickle.dumps(solver(dev="cpu")))
    np.testing.assert_array_equal(jax.jit(lambda vp: call(copied, models=[vp]))(MODEL), call(prop))
    prop.check()


def test_explain_states_why_an_implementation_runs():
    assert solver().impl == "eager" and "was asked for" in solver().explain()
    with pytest.raises(OptionError, match="impl is 'cuda'"):
        solver(impl="cuda")
    np.testing.assert_allclose(solver().time("h1", 3), [0, 0.001, 0.002])


def test_float64_is_not_rounded_silently():
    with jax.enable_x64(False):
        for wrong in ({"wavelet": WAVELET.astype(float)}, {"models": [MODEL.astype(float)]}):
            with pytest.raises(DtypeError, match="(wavelet|model 0) is float64.*jax_enable_x64"):
                call(**wrong)
        with pytest.raises(DtypeError, match="model vp is float64"):
            solver(models=[MODEL.astype(float)])
        doubles = [MODEL.astype(float)]
        with pytest.raises(DtypeError, match="(wavelet|model 0) is float64.*jax_enable_x64"):
            solver().born(WAVELET.astype(float), SOURCES, RECEIVERS, doubles, models=doubles)
        shots = Shots(WAVELET, SOURCES, RECEIVERS)
        with pytest.raises(DtypeError, match="observed is float64"):
            JaxExecutor("eager").misfit_and_gradient(solver().problem, shots, [MODEL], np.zeros((1, 8, 2, 1)))
        assert call().dtype == np.float32
    with jax.enable_x64(True):
        assert call(wavelet=WAVELET.astype(float), models=[MODEL.astype(float)]).dtype == np.float64


@pytest.mark.parametrize(
    "wrong, kind, text",
    [
        ({"wavelet": list(WAVELET)}, DtypeError, "wavelet is a list; expected a jax.Array or a NumPy array"),
        ({"models": [MODEL.tolist()]}, DtypeError, "model 0 is a list"),
        ({"models": MODEL}, DtypeError, "models is a ndarray; expected a list or tuple"),
        ({"models": [MODEL.T]}, ShapeError, "looks transposed"),
        ({"sources": [[3, 4]]}, DtypeError, "sources are a list"),
        ({"sources": SOURCES + 11.0}, DomainError, "source 0 is at x = 14.0"),
        ({"sources": SOURCES + 0j}, DtypeError, "sources are of dtype complex128"),
        ({"receivers": RECEIVERS[:0]}, ShapeError, "no receivers"),
        ({"wavelet": WAVELET.astype(np.float16)}, DtypeError, "wavelet is float16 and the models are float32"),
    ],
)
def test_wrong_arguments_are_refused(wrong, kind, text):
    with pytest.raises(kind, match=text):
        call(**wrong)


def test_shapes_are_checked_under_jit():
    with pytest.raises(ShapeError, match="model vp has shape .*; expected"):
        jax.jit(lambda vp: call(models=[vp]))(MODEL[:-1])


def test_devices_have_names():
    cpu = jax.devices("cpu")[0]
    assert solver().device is None and solver(dev="cpu").device == cpu == solver(dev=cpu).device
    for unknown in ("cuda:99", "abacus", "cpu:99", "cpu:-1", "cpu:x"):
        with pytest.raises(DeviceError, match="cannot be used.*JAX has .*cpu:0"):
            solver(dev=unknown)
    with pytest.raises(DeviceError, match="cannot be used"):
        PropJax(Acoustic(device="abacus"), (12, 14), 10.0, 0.001)
    assert solver(models=[jax.device_put(MODEL, cpu)]).device == cpu


def test_the_executor_computes_misfit_and_gradient():
    setup = case(nt=12)
    executor = JaxExecutor("eager")
    assert executor.supports(setup.problem) and executor.name == "jax"
    with jax.enable_x64(True):
        record = executor.forward(setup.problem, setup.shots, setup.models)
        misfit, (gradient,) = executor.misfit_and_gradient(setup.problem, setup.shots, setup.models, 0 * setup.noise())
        assert float(misfit) == pytest.approx(0.5 * float((record**2).sum()), rel=1e-12)
        assert gradient.shape == setup.models[0].shape
    with pytest.raises(OptionError, match="impl is 'c\\+\\+'"):
        JaxExecutor("c++")


def test_born_of_numpy_and_jax_arrays_is_the_same():
    prop = solver()
    expected = prop.born(WAVELET, SOURCES, RECEIVERS, [MODEL / 9], models=[MODEL], d_wavelet=WAVELET)
    arrays = [jnp.asarray(x) for x in (WAVELET, SOURCES, RECEIVERS)]
    arguments = {"perturbations": [jnp.asarray(MODEL / 9)], "models": [jnp.asarray(MODEL)], "d_wavelet": arrays[0]}
    np.testing.assert_array_equal(prop.born(*arrays, **arguments), expected)
    np.testing.assert_array_equal(prop.born(*arrays, **arguments, receiver_mask=np.ones((1, 2), bool)), expected)
    assert expected.dtype == np.float32 and expected.shape == (1, 8, 2, 1)
    with pytest.raises(ShapeError, match="perturbation 0 has shape None"):
        prop.born(WAVELET, SOURCES, RECEIVERS, [MODEL.tolist()], models=[MODEL])


def test_nothing_moves_to_another_device_silently():
    run_python(
        """
        import jax, numpy as np, pytest
        from sweep_jax.distribution import set_virtual_cpu_devices
        set_virtual_cpu_devices(2)
        from sweep_core import Acoustic, DeviceError
        from sweep_jax import PropJax
        first, second = jax.devices()
        wavelet, cells, model = np.ones(4, np.float32), np.array([[3, 4]]), np.full((12, 14), 2000, np.float32)
        make = lambda dev: PropJax(Acoustic(), (12, 14), 10.0, 0.001, dev=dev, impl="eager", pml_width=3)
        for dev in (None, "cpu:1"):
            models = [jax.device_put(model, second)]
            record = make(dev)(wavelet, cells, cells, models)
            assert record.devices() == {second}
            assert make(dev).born(wavelet, cells, cells, models, models).devices() == {second}
        assert make("cpu:1")(wavelet, cells, cells, [model]).devices() == {second}
        with pytest.raises(DeviceError, match="model 0 is on cpu:1, the solver computes on cpu:0; move it there first, nothing is moved"):
            make("cpu:0")(wavelet, cells, cells, [jax.device_put(model, second)])
        with pytest.raises(DeviceError, match="perturbation 0 is on cpu:1, the solver computes on cpu:0"):
            make("cpu:0").born(wavelet, cells, cells, [jax.device_put(model, second)], [model])
        with pytest.raises(DeviceError, match="model 0 is on cpu:1, the solver computes on cpu:0"):
            make(None)(jax.device_put(wavelet, first), cells, cells, [jax.device_put(model, second)])
        with pytest.raises(DeviceError, match="dev is 'cpu:0' and the equation's device is 'cpu:1'"):
            PropJax(Acoustic(device="cpu:1"), (12, 14), 10.0, 0.001, dev="cpu:0")
        from sweep_jax.distribution import replicate
        with pytest.raises(DeviceError, match="model 0 is spread over 2 devices"):
            make(None)(wavelet, cells, cells, [replicate(model, jax.devices())])
        """
    )


# --- libraries --------------------------------------------------------------------------------------------------------


def run_python(text, **variables):
    lines = text.strip("\n").split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    script = "\n".join(line[indent:] for line in lines)
    process = subprocess.run([sys.executable, "-c", script], env=os.environ | variables, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def test_importing_loads_no_framework():
    run_python(
        """
        import sys
        import sweep_jax, sweep_jax.plugin
        assert sweep_jax.plugin.sweep_backends()[0].name == "jax"
        assert not {"jax", "jaxlib", "torch"} & set(sys.modules)
        """
    )


def test_a_missing_library_is_named(tmp_path):
    """The kernels could be compiled on first use, but the shim between XLA and them could not."""
    text = """
        from sweep_core import Acoustic, UnsupportedError, make_problem
        from sweep_jax import JaxExecutor, PropJax
        try:
            PropJax(Acoustic(), (12, 14), 10.0, 0.001, impl="c")
        except UnsupportedError as error:
            print(error)
        solver = PropJax(Acoustic(), (12, 14), 10.0, 0.001)
        print(solver.explain())
        print(JaxExecutor("c").supports(make_problem(Acoustic(), (12, 14), 10.0, 0.001)).reason)
        """
    refused, selection, reason = run_python(text, SWEEP_NATIVE_DIR=str(tmp_path)).strip().split("\n")
    absent = f"libsweep_xla is not in {tmp_path}, the folder of SWEEP_NATIVE_DIR"
    assert refused.startswith(f"impl='c' cannot run acoustic on cpu:0: {absent}")
    assert selection.startswith(f"impl='eager': compiled code cannot run acoustic: {absent}")
    assert reason == refused


def library(kind):
    from sweep_core.native.library import find

    try:
        return find(kind)
    except NativeError as error:
        pytest.skip(str(error))


def test_a_missing_shim_is_named(tmp_path):
    shutil.copy(library("cpu"), tmp_path)
    text = """
        from sweep_core import Acoustic
        from sweep_jax import PropJax
        print(PropJax(Acoustic(), (12, 14), 10.0, 0.001).explain())
        """
    answer = run_python(text, SWEEP_NATIVE_DIR=str(tmp_path))
    assert answer.startswith(f"impl='eager': compiled code cannot run acoustic: libsweep_xla is not in {tmp_path}")


def test_a_shim_newer_than_jax_is_not_registered(monkeypatch):
    library("xla")
    monkeypatch.setattr(shim.jaxlib, "__version__", "0.4.1.dev20250101")
    with pytest.raises(NativeError, match="was built for jaxlib .* and newer, this is 0.4.1"):
        shim._open.__wrapped__()
    monkeypatch.setattr(shim.jaxlib, "__version__", "12.0")
    shim._open.__wrapped__()


def test_an_instruction_set_can_be_forced():
    library("cpu"), library("xla")
    text = """
        import jax, numpy as np
        from sweep_core import Acoustic, native
        from sweep_jax import PropJax
        solver = PropJax(Acoustic(), (12, 14), 10.0, 0.001, impl="c")
        model = np.full((12, 14), 2000, np.float32)
        f = jax.jit(lambda m: solver(np.ones(4, np.float32), np.array([[3, 4]]), np.array([[3, 4]]), [m]))
        assert f"isa = {native.load('cpu').builds.index('portable') + 1} : i32" in f.lower(model).as_text()
        print(float(f(model)[0, 3, 0, 0]))
        """
    assert float(run_python(text, SWEEP_ISA="portable")) > 0
