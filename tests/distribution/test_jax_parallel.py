"""parallel(solver, devices) of JAX: any number of devices gives the record and the gradient of one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")
from laws import SHIPPED_NAMES

from sweep_core import Acoustic
from sweep_jax import shim

SUPPORT = shim.supports(Acoustic(), 2, "cpu")
ALL = [pytest.mark.slow, pytest.mark.further]


@pytest.fixture(
    scope="module",
    params=[
        ("c", "some"),
        ("eager", "some"),
        pytest.param(("c", "all"), marks=ALL),
        pytest.param(("eager", "all"), marks=ALL),
    ],
    ids="-".join,
)
def outcome(request, tmp_path_factory):
    impl, scope = request.param
    if impl == "c" and not SUPPORT:
        pytest.skip(SUPPORT.reason)
    path = tmp_path_factory.mktemp("jax") / "results.json"
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if "device_count" not in flag]
    command = [sys.executable, Path(__file__).with_name("jax_parallel.py"), path, impl, scope]
    environment = os.environ | {"XLA_FLAGS": " ".join(flags), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    return impl, scope, json.loads(path.read_text())


def test_shots_on_any_number_of_devices_equal_the_serial_run(outcome):
    """Records have the same bits with compiled code, and agree to rounding with operations of JAX.

    XLA may round the coefficients of further equations differently in programs of one device and of several.
    """
    impl, scope, results = outcome
    assert len(results["laws"]) >= (14 if scope == "all" else 5)
    for name, by_count in results["laws"].items():
        for count, (differing, of_record, of_gradients) in by_count.items():
            bits = impl == "c" and (name.partition(",")[0] in SHIPPED_NAMES or "shots" not in name)
            assert differing == 0 if bits else of_record <= 1e-12, (name, count)
            assert of_gradients <= 1e-12, (name, count)


def test_every_operation_equals_the_serial_one(outcome):
    _, scope, results = outcome
    if scope == "some":
        assert len(results["errors"]) >= 9
        for name, value in results["errors"].items():
            assert value <= (1e-9 if name == "invert" else 1e-12), name
        assert results["no shots"] == [[0, 24, 5, 1]]
        is_repr, about = results["about"]
        assert is_repr and about.startswith("shots over 2 devices (cpu:0, cpu:1); impl=")


def test_calls_that_cannot_work_are_refused(outcome):
    _, scope, results = outcome
    expected = {
        "jit": "UnsupportedError: wavelet is traced by jit or vmap, which run on one set of devices; expected a call",
        "vmap": "UnsupportedError: wavelet is traced by jit or vmap",
        "shot": "DomainError: source 1 of shot 4 is at x = 99",
        "twice": "DeviceError: devices are cpu:0, cpu:0; expected each device once; on a CPU, call",
        "none": "DeviceError: devices is []; expected a list of one or more devices",
        "missing": "DeviceError: device 'cpu:9' cannot be used",
        "elsewhere": "DeviceError: the solver is on cpu:1; expected cpu:0, the first of devices",
        "no solver": "OptionError: solver is parallel(PropJax(",
        "keyword": "UnknownOptionError: a call of ParallelJax has no argument 'nt'",
    }
    for name, text in results.get("messages", {}).items():
        assert text.startswith(expected[name]), text
