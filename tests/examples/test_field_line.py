"""A field line from its SEG-Y file to a model, by the command of docs/tutorials/field-data.md."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "examples/field/viking_graben.py"
pytest.importorskip("torch")
pytest.importorskip("segyio")


def run(*words):
    done = subprocess.run([sys.executable, str(SCRIPT), *map(str, words)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_a_file_without_segy_is_refused(tmp_path):
    (tmp_path / "line.segy").write_bytes(b"no line")
    code, _, messages = run("--segy", tmp_path / "line.segy", "--out", tmp_path / "out")
    assert code == 1 and messages.startswith("DataError") and messages.count("\n") == 1


@pytest.mark.slow
def test_the_inverted_model_explains_the_field_data(tmp_path):
    """The inversion explains most of the residual of the start. The same command again computes nothing."""
    if "SWEEP_DATA" not in os.environ:
        pytest.skip("SWEEP_DATA names no folder with field data")
    code, output, messages = run("--out", tmp_path)
    assert code == 0, messages
    unexplained = {name: int(share) for name, share in re.findall(r"(start|inverted): (\d+) % of the energy", output)}
    assert 40 < unexplained["start"] < 70 and unexplained["inverted"] < 0.6 * unexplained["start"]
    assert min(float(change) for change in re.findall(r"misfit from .*?, -([\d.]+) %", output)) > 40
    vp = np.load(tmp_path / "vp.npy")
    assert 1450 <= vp.min() and vp.max() <= 3200 and (vp[:20] == 1480).all()
    for picture in ("gather", "wavelet", "model", "image", "traces_start", "traces_inverted"):
        assert (tmp_path / f"{picture}.png").stat().st_size > 10_000
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").glob("stage_*")}
    assert len(list((tmp_path / "run").glob("stage_????.npz"))) == 3 and run("--out", tmp_path)[0] == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").glob("stage_*")} == stamps
    assert np.array_equal(np.load(tmp_path / "vp.npy"), vp)
