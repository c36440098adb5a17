"""A run that ends at any moment resumes to the same bits, or it has no checkpoint yet."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("faults.py")
ROOT = SCRIPT.parents[2]


@pytest.mark.parametrize("which", [[], ["resume"]], ids=["run", "resume"])
@pytest.mark.parametrize("fault", ["kill", "full", "limit"])
def test_a_run_survives_kills_and_full_disks(tmp_path, fault, which):
    """The faults are SIGKILL, a full disk and the kernel's limit of file sizes, at every moment of every file event."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests/support"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, str(SCRIPT), str(tmp_path), fault, *which]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert not result["wrong"], result["wrong"][:5]
    assert 40 < result["points"] < 500
    assert result["before the first checkpoint"] < (1 if which else 0.8 * result["points"])
