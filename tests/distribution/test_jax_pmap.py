"""Shots over JAX devices: pmap, shard_map, several processes, and the verbs of the distributor."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from laws import error

from sweep_core import Acoustic, DeviceError, Distributor, DtypeError, OptionError, ShapeError, ShotPlan

jax = pytest.importorskip("jax")
from sweep_jax import distribution as d  # noqa: E402
from sweep_jax import shim  # noqa: E402

SCRIPT = Path(__file__).with_name("jax_devices.py")
SUPPORT = shim.supports(Acoustic(), 2, "cpu")


def start(*arguments):
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if "device_count" not in flag]
    environment = os.environ | {"XLA_FLAGS": " ".join(flags)}
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process):
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output


RUNS = ("eager", "acoustic"), ("c", "acoustic"), pytest.param(("c", "elastic"), marks=pytest.mark.slow)


@pytest.fixture(scope="module", params=RUNS, ids="-".join)
def outcome(request, tmp_path_factory):
    impl, equation = request.param
    if impl == "c" and not SUPPORT:
        pytest.skip(SUPPORT.reason)
    path = tmp_path_factory.mktemp("jax") / "results.npz"
    finish(start(path, impl, equation))
    return np.load(path)


def numbers(result, name):
    """Return the misfit and the gradient of each model."""
    return [result[key] for key in result.files if key.startswith(f"{name}/")]


def agree(result, one, other, tolerance=1e-14):
    for a, b in zip(numbers(result, one), numbers(result, other), strict=True):
        assert error(a, b) <= tolerance


@pytest.mark.parametrize("count", [2, 4])
def test_five_shots_on_many_devices_are_the_serial_sum(count, outcome):
    agree(outcome, f"{count}-0", "serial")


def test_all_shots_may_share_wavelet_and_receivers(outcome):
    agree(outcome, "shared", "serial-shared")


def test_an_executor_over_devices_equals_one_device(outcome):
    agree(outcome, "devices", "serial-devices")


def test_repeated_runs_are_bit_identical(outcome):
    for repeat in (1, 2):
        for a, b in zip(numbers(outcome, f"4-{repeat}"), numbers(outcome, "4-0"), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("transform", ["shard_map", "pmap"])
def test_a_sum_inside_a_transform_equals_the_serial_sum(transform, outcome):
    agree(outcome, transform, "serial-four")


def test_a_sliced_run_has_the_same_bits(outcome):
    for a, b in zip(
        numbers(outcome, "sliced"), numbers(outcome, "4-0") if "sliced-text" in outcome else [], strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_slices_fail_after_a_failed_slice(outcome):
    for name in ("fast-record", "fast-gradient") if "sliced-text" in outcome else ():
        first, second = np.isnan(outcome[name])
        assert not first.any() and second.all()


@pytest.mark.parametrize("kind", ["", "sliced-"])
def test_a_bad_source_stops_only_its_own_device(kind, outcome):
    if kind and f"{kind}text" not in outcome:
        pytest.skip("eager runs have no slices")
    assert str(outcome[f"{kind}text"]).startswith("source 1 is at x = 24 (cells), outside 0..23")
    spoiled = np.isnan(outcome[f"{kind}bad-record"]).reshape(4, -1)
    np.testing.assert_array_equal(spoiled.all(axis=1), [False, True, False, False])
    np.testing.assert_array_equal(spoiled.any(axis=1), [False, True, False, False])
    assert np.isnan(outcome[f"{kind}bad-gradient"]).all()


@pytest.mark.skipif(not SUPPORT, reason=SUPPORT.reason)
def test_two_processes_give_the_serial_sum(tmp_path):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    paths = [tmp_path / f"{rank}.npz" for rank in range(2)]
    for process in [start(path, "c", "elastic", port, rank) for rank, path in enumerate(paths)]:
        finish(process)
    first, second = map(np.load, paths)
    agree(first, "all", "serial")
    for a, b in zip(numbers(first, "all"), numbers(second, "all"), strict=True):
        np.testing.assert_array_equal(a, b)


# --- on the one device that every process has -------------------------------------------------------------------------


def test_local_devices_checks_the_count():
    assert len(d.local_devices()) == len(jax.local_devices()) and d.local_devices(1) == d.local_devices()[:1]
    with pytest.raises(DeviceError, match=r"count is 99; expected at most .*set_virtual_cpu_devices\(99\)"):
        d.local_devices(99)
    d.set_virtual_cpu_devices(len(jax.local_devices(backend="cpu")))
    with pytest.raises(DeviceError, match="JAX already runs with .*XLA_FLAGS"):
        d.set_virtual_cpu_devices(99)
    for wrong in (0, -1, 2.0, True, "2"):
        with pytest.raises(OptionError, match="expected a whole number of devices"):
            d.local_devices(wrong)
        with pytest.raises(OptionError, match="expected a whole number of devices"):
            d.set_virtual_cpu_devices(wrong)


def test_shapes_are_checked():
    devices = d.local_devices(1)
    with pytest.raises(ShapeError, match="plan.size is 2; expected 1, the number of devices"):
        d.shard_shots(ShotPlan(5, 2), np.zeros((5, 2)), devices)
    with pytest.raises(ShapeError, match="the number of shots is 4; expected 5, as in the plan"):
        d.shard_shots(ShotPlan(5, 1), np.zeros((4, 2)), devices)
    with jax.enable_x64(False), pytest.raises(DtypeError, match="float64"):
        d.replicate([np.zeros(3)], devices)
    function = d.make_misfit_and_gradient(lambda *x, models: x, devices)
    one, two = np.zeros((1, 1)), np.zeros((1, 2, 2))
    with pytest.raises(ShapeError, match=r"sources have shape \(1, 2, 2\); expected \(1, 1\)"):
        function([one], np.zeros(3), two, np.zeros((4, 2)), np.zeros((1, 1, 3, 4, 1)), one)
    with pytest.raises(DtypeError, match="models is a ndarray; expected a list"):
        function(one, np.zeros(3), one, one, one, one)


@pytest.mark.parametrize("shape", [(3, 1, 1), (1, 4, 1), (3, 4)])
def test_observed_data_must_have_the_shape_of_the_record(shape):
    def solver(*inputs, models):
        return models[0].sum() * jax.numpy.ones((1, 3, 4, 1), np.float32)

    one, at, model = np.ones((1, 1), np.float32), np.zeros((1, 1, 2)), np.ones(2, np.float32)
    with pytest.raises(
        ShapeError, match=r"observed on a device has shape \(1, .*; expected that of the record, \(1, 3, 4, 1\)"
    ):
        d.make_misfit_and_gradient(solver, d.local_devices(1))(
            [model], np.zeros(3, np.float32), at, np.zeros((4, 2)), np.zeros((1, 1, *shape), np.float32), one
        )


def test_jax_distributor_is_a_distributor():
    distributor = d.JaxDistributor()
    assert isinstance(distributor, Distributor) and (distributor.rank, distributor.size) == (0, len(jax.devices()))


@pytest.mark.parametrize("size", [1, 3])
def test_verbs_hold_the_laws(size):
    """A separate process has the devices."""
    script = f"""
from sweep_core.testing.distributors import distributes
from sweep_jax.distribution import JaxDistributor, local_devices, set_virtual_cpu_devices
set_virtual_cpu_devices({size})
results = list(distributes(JaxDistributor(local_devices({size}))))
assert len(results) > 10 and {{r.status for r in results}} == {{"held"}}, results
"""
    environment = os.environ | {"JAX_ENABLE_X64": "1"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
