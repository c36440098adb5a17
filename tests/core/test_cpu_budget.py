"""The CPU budget of make test: a run above it fails, and .ci/run asks for it."""

import os
import subprocess
import sys
from pathlib import Path

import cpu_budget
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("workers", "budget", "status", "verdict"),
    [(["--numprocesses=1"], "0.1", 1, "ABOVE"), ([], "1e9", 0, "within")],
    ids=["above, with a worker", "within, alone"],
)
def test_a_run_above_its_budget_fails(workers, budget, status, verdict):
    options = ["-q", "--within-budget", "-o", f"cpu_budget={budget}", *workers, "tests/core/test_revolve.py"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    process = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert process.returncode == status, process.stdout
    assert f"CPU TIME {verdict} cpu_budget" in process.stdout


def test_the_calibration_is_repeatable():
    first, second = cpu_budget.calibration(), cpu_budget.calibration()
    assert 0 < max(first, second) < 2 * min(first, second)


def test_the_cpu_time_of_children_counts():
    before = cpu_budget.cpu_seconds()
    subprocess.run([sys.executable, "-c", "sum(range(20_000_000))"], check=True)
    assert cpu_budget.cpu_seconds() > before + 0.05


def test_ci_keeps_the_budget():
    assert "--within-budget" in (ROOT / ".ci/run").read_text()
