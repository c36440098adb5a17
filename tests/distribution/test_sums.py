"""Every equation with 1, 2, 5 and 7 shots: ranks of torch and devices of JAX give the serial gradient."""

import json
import os
import subprocess
import sys

import pytest
from ranks import ROOT, SCRIPTS, launch

from sweep_core.native.codegen import shipped

TOLERANCE = 1e-12
CASES = 4 * len(shipped())


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_give_the_serial_gradient_and_in_a_fixed_order_its_bits(tmp_path, ranks):
    results = launch("rank_sums.py", tmp_path / "sums.json", ranks)
    assert len(results) == CASES
    assert not {name: result for name, result in results.items() if not result["fast"] < TOLERANCE}
    assert all(result["ordered"] for result in results.values())
    assert any(result["fast"] for result in results.values()), "sums of ranks differ by rounding"


@pytest.mark.slow
def test_devices_give_the_serial_gradient_and_that_of_torch(tmp_path):
    pytest.importorskip("jax")
    path = os.pathsep.join([str(ROOT), str(SCRIPTS), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, SCRIPTS / "device_sums.py", tmp_path / "sums.json"]
    subprocess.run(command, check=True, timeout=600, env={**os.environ, "PYTHONPATH": path})
    results = json.loads((tmp_path / "sums.json").read_text())
    ordered = {name: results.pop(f"{name}, in a fixed order") for name in (equation.name for equation in shipped())}
    assert len(results) == 4 * CASES
    assert not {name: differences for name, differences in results.items() if not max(differences) < TOLERANCE}
    assert set(ordered.values()) == {1}
