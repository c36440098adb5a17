"""Random structs, points and buffers for the C ABI: no crash, no touched guard page, no size that wraps, no endless loop.

tests/support/fuzz.py states the random inputs and the assertions. This test runs a small fixed number of them. By hand:
``python tests/support/fuzz.py SEED COUNT``.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from abi import cpu_library

FUZZ = Path(__file__).parents[1] / "support/fuzz.py"


@pytest.mark.skipif(sys.platform != "linux", reason="guard pages need the mmap of Linux")
@pytest.mark.timeout(300)
def test_random_structs_cause_no_crash():
    cpu_library()
    process = subprocess.run([sys.executable, FUZZ, "14", "2000"], capture_output=True, text=True, timeout=280)
    last = process.stdout.splitlines()[-1]
    assert last.startswith("done"), f"status {process.returncode} at {last}: {process.stderr[-2000:]}"
    accepted = json.loads(last.removeprefix("done"))
    assert min(accepted[name] for name in ("accepted", "forward", "adjoint", "born")) > 100, (
        "too many structs were refused"
    )
