"""Random structs, points and buffers for the C ABI: no crash, no touched guard page, no size that wraps, no endless loop.

tests/support/fuzz.py says what is drawn and asserted. Here a small number runs, always the same; by hand, any:
``python tests/support/fuzz.py SEED COUNT``.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from abi import cpu_library

FUZZ = Path(__file__).parents[1] / "support/fuzz.py"


@pytest.mark.skipif(sys.platform != "linux", reason="guard pages are made with Linux' mmap")
@pytest.mark.timeout(300)
def test_random_structs_do_no_harm():
    cpu_library()
    done = subprocess.run([sys.executable, FUZZ, "14", "2000"], capture_output=True, text=True, timeout=280)
    last = done.stdout.splitlines()[-1]
    assert last.startswith("done"), f"status {done.returncode} at {last}: {done.stderr[-2000:]}"
    accepted = json.loads(last.removeprefix("done"))
    assert min(accepted[name] for name in ("accepted", "forward", "adjoint", "born")) > 100, "most must not be refused"
