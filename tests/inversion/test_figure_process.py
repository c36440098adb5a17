"""Figures drawn by a process of their own: all are complete at the end, and errors reach the caller."""

import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from inverting import call, earth, observed, solver

from sweep_core.errors import SweepError
from sweep_core.inversion import Stage
from sweep_core.plot import FigureProcess, plot_model

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
ROOT = Path(__file__).parents[2]
MODEL = np.linspace(1500.0, 4500.0, 600, dtype=np.float32).reshape(20, 30)


def test_all_figures_are_complete_after_close(tmp_path):
    process, model = FigureProcess(), MODEL.copy()
    for number in range(3):
        process.draw(tmp_path / f"{number}.png", plot_model, model, 10.0)
        model[:] = 0.0  # a figure shows the values at the time of the call
    process.close()
    first, second, third = ((tmp_path / f"{number}.png").read_bytes() for number in range(3))
    assert first.startswith(b"\x89PNG") and second == third != first
    process.close()


def test_an_error_of_a_figure_reaches_the_caller_by_its_own_kind(tmp_path):
    process = FigureProcess()
    process.draw(tmp_path / "model.png", plot_model, MODEL, -10.0)
    with pytest.raises(SweepError, match="dh"):
        process.close()
    process.draw(tmp_path / "model.png", plot_model, MODEL, 10.0)  # a new process
    process.close()
    assert (tmp_path / "model.png").exists()


def test_a_figure_after_an_error_raises_the_error(tmp_path):
    process = FigureProcess()
    process.draw(tmp_path / "model.strange", plot_model, MODEL, 10.0)
    with pytest.raises(SweepError, match="strange"):
        for _ in range(1000):
            process.draw(tmp_path / "model.png", plot_model, MODEL, 10.0)
            time.sleep(0.05)


def test_a_process_that_is_killed_is_reported(tmp_path):
    process = FigureProcess()
    process.draw(tmp_path / "model.png", plot_model, MODEL, 10.0)
    process._process.kill()
    with pytest.raises(RuntimeError, match="ended with status -9"):
        process.close()


def test_figures_are_completed_after_a_kill_of_the_caller(tmp_path):
    code = (
        "import os, signal, sys; import numpy as np; from sweep_core.plot import FigureProcess, plot_model\n"
        "FigureProcess().draw(sys.argv[1], plot_model, np.ones((20, 30)), 10.0)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "model.png")], env=environment, timeout=60)
    assert done.returncode == -signal.SIGKILL
    last = time.monotonic() + 60
    while not (tmp_path / "model.png").exists():
        assert time.monotonic() < last
        time.sleep(0.1)


class Closed:
    """An observer that counts its calls and fails when it is closed."""

    events = ("start", "iteration")

    def __init__(self, fails=False):
        self.calls, self.closed, self.fails = 0, 0, fails

    def __call__(self, observation):
        self.calls += 1
        if self.fails and observation.event == "iteration":
            raise KeyboardInterrupt

    def close(self):
        self.closed += 1
        raise RuntimeError("no ink")


@pytest.mark.parametrize("fails", [False, True])
def test_observers_are_closed_at_the_end_also_of_a_run_that_fails(capsys, fails):
    """A failure of `close` is reported and changes nothing."""
    data, observer = observed(solver(), [torch.from_numpy(earth()[0])]), Closed(fails)
    with pytest.raises(KeyboardInterrupt) if fails else nullcontext():
        call(data, Stage(1), observers=[observer])
    assert observer.calls == 2 and observer.closed
    assert "observer 'Closed' failed and is not called again: RuntimeError: no ink" in capsys.readouterr().err
