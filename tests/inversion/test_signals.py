"""Signals and checkpoints: SIGTERM, Ctrl-C and SIGUSR1 store the last complete step, and the run goes on from it."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from chaotic import PROBLEM, SHAPE, Chaotic, Momentum

from sweep_core import OptionError, SerialDistributor
from sweep_core.inversion import LBFGS, Stage, invert
from sweep_core.inversion.journal import Journal
from sweep_core.inversion.solver import Solver

ROOT = Path(__file__).parents[2]
STEPS = 30


class Slow(Chaotic):
    """Takes 50 ms for a gradient, and a pause more for each gradient from the seventh on."""

    def __init__(self, pause):
        self.pause, self.count = pause, 0

    def misfit_and_gradient(self, *arguments):
        self.count += 1
        time.sleep(0.05 + (self.pause if self.count > 6 else 0))
        return super().misfit_and_gradient(*arguments)

    def supports(self, problem):
        return True


def print_step(observation):
    print(observation.iteration, flush=True)


def run(folder, pause=0.0, **options):
    """Return the model of a run that prints the number of each step."""
    sources = np.stack([np.arange(4), np.full(4, 2)], axis=1)
    inverted = invert(
        Solver(Slow(pause), PROBLEM), np.ones(5, np.float32), sources, sources[:2], np.ones((4, 5, 2, 1), np.float32),
        [np.full(SHAPE, 2000, np.float32)], Stage(STEPS), precondition=False, folder=folder, progress=False,
        **{"optimiser": Momentum(shots=3), "observers": [print_step], **options},
    )  # fmt: skip
    return inverted.models[0]


def step_of(path):
    return json.loads(bytes(np.load(path)["told"]))["step"]


def start(folder, own_handler=False, every=1000):
    """Start a run with a checkpoint every so many steps in a process; return it after its fifth step."""
    path = os.pathsep.join(
        [str(ROOT), str(ROOT / "tests/support"), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    )
    handler = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n" if own_handler else ""
    code = f"{handler}from test_signals import run; run({str(folder)!r}, 0.5, checkpoint_every={every})"
    process = subprocess.Popen(
        [sys.executable, "-c", "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + code],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert next(line for line in process.stdout if line.strip() == "5")
    time.sleep(0.2)  # the next gradient, whose pause is longer, has begun
    return process


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run(tmp_path_factory.mktemp("whole") / "run")


@pytest.mark.parametrize(
    ("number", "own_handler", "status"),
    [(signal.SIGTERM, False, 143), (signal.SIGTERM, True, 7), (signal.SIGINT, False, -signal.SIGINT)],
    ids=["SIGTERM", "SIGTERM with a handler of the script", "Ctrl-C"],
)
def test_a_signal_stores_the_last_step(tmp_path, whole, number, own_handler, status):
    with start(tmp_path / "run", own_handler) as process:
        assert not (tmp_path / "run/checkpoint.npz").exists()
        process.send_signal(number)
        _, report = process.communicate(timeout=10)
    assert process.returncode == status
    assert ("ended by SIGTERM; the same call continues the run in" in report) == (status == 143)
    assert 4 <= step_of(tmp_path / "run/checkpoint.npz") < STEPS
    np.testing.assert_array_equal(run(tmp_path / "run"), whole)


def test_the_last_step_is_stored_before_observers_are_closed(tmp_path):
    """An observer may wait in `close`, for figures for example."""
    steps = []

    class Waiting:
        def __call__(self, observation):
            if observation.iteration == 5:
                raise KeyboardInterrupt

        def close(self):
            steps.append(step_of(tmp_path / "run/checkpoint.npz"))

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", checkpoint_every=1000, observers=[Waiting()])
    assert steps == [4]


def test_sigusr1_requests_a_checkpoint_and_the_run_goes_on(tmp_path, whole):
    with start(tmp_path / "run") as process:
        process.send_signal(signal.SIGUSR1)
        assert next(line for line in process.stdout if line.strip() == "10")
        assert 4 <= step_of(tmp_path / "run/checkpoint.npz") <= 7
        process.kill()
    np.testing.assert_array_equal(run(tmp_path / "run"), whole)


def test_the_checkpoint_before_the_last_one_continues_the_run(tmp_path, whole):
    with start(tmp_path / "run", every=1) as process:
        process.kill()
    (tmp_path / "run/checkpoint.npz").unlink(missing_ok=True)  # the kill may come between the two files
    assert step_of(tmp_path / "run/checkpoint_previous.npz") >= 3
    np.testing.assert_array_equal(run(tmp_path / "run"), whole)


@pytest.mark.parametrize(
    ("every", "stored"),
    [(1, [1, 2, 3]), (2, [None, 2, 2]), (timedelta(0), [1, 2, 3]), (timedelta(hours=1), [None] * 3)],
)
def test_checkpoints_are_stored_every_few_steps_or_minutes_and_at_the_end(tmp_path, every, stored):
    journal = Journal(tmp_path, {}, [np.ones(3)], SerialDistributor(), every=every)
    journal.begin()
    path = tmp_path / "checkpoint.npz"
    steps = []
    for step in (1, 2, 3):
        journal.checkpoint({"step": step}, [np.ones(3)])
        steps.append(step_of(path) if path.exists() else None)
    journal.close()
    assert steps == stored and step_of(path) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"checkpoint_every": 0}, "checkpoint_every is 0; expected a whole number of steps from 1 on, or a timedelta"),
        (
            {"checkpoint_every": 5, "optimiser": LBFGS()},
            "checkpoint_every is 5, but no stage draws shots; leave it out",
        ),
        ({"checkpoint_every": 5, "folder": None}, "checkpoint_every is 5, but the run has no folder; leave it out"),
    ],
)
def test_intervals_without_effect_are_refused(tmp_path, options, message):
    with pytest.raises(OptionError, match=message):
        run(**{"folder": tmp_path / "run", **options})
    assert not (tmp_path / "run").exists()
