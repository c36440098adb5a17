"""The short examples run and write their files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sweep_core

ROOT = Path(__file__).parents[2]
pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def run(name, *arguments) -> str:
    """Return the output of a script of examples/short."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(ROOT / "examples/short" / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_ranks_started_by_a_script_add_up():
    output = run("ranks.py")
    assert output.startswith("2 ranks and one differ by ") and float(output.split()[-1]) < 1e-5


@pytest.mark.skipif(not hasattr(sweep_core, "Snapshots"), reason="snapshots are not there yet")
def test_wavefield_writes_figures_and_a_film(tmp_path):
    run("wavefield.py", "--out", str(tmp_path / "out"))
    outcome = {path.name: path.stat().st_size for path in (tmp_path / "out").iterdir()}
    assert set(outcome) == {"model.png", "gather.png", "snapshots.png", "shot.png", "wavefield.gif"}
    assert outcome["wavefield.gif"] < 2e6
