"""Program of test_faults.py: a small inversion that is stopped at each moment of its file events, in a forked process.

python faults.py FOLDER kill|full|limit [resume]     prints the results as JSON

An event creates, writes, truncates, synchronises, renames or removes a file. Its moments are before, after and, for a
write, when half of the bytes are on the disk. `full`: the disk is full from that moment on. `limit`: the kernel's limit
of the size of files, for many sizes.
"""

import builtins
import errno
import io
import json
import os
import re
import resource
import shutil
import signal
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from chaotic import PROBLEM, SHAPE, Chaotic, Momentum

from sweep_core import StorageError
from sweep_core.inversion import LBFGS, Stage, StopInversion, invert
from sweep_core.inversion.journal import CHECKPOINTS
from sweep_core.inversion.observers import HistoryFile

FILES = re.compile(r"history\.jsonl|run\.(json|lock)|checkpoint(_previous)?\.npz|stage_\d{4}(_\d{6})?\.npz")
STORED = 77
"""Exit status of a run that ends with a StorageError."""
STAGES = (3, 2)


def run_inversion(path, iterations=None, overwrite=False):
    """Return the model and the histories (result and file) of a run, or of its first `iterations` alone."""

    def enough(answer):
        if answer.iteration == iterations:
            raise StopInversion

    sources = np.stack([np.arange(4), np.full(4, 2)], axis=1)
    start = [np.full(SHAPE, 2000, np.float32)]
    plan = [Stage(STAGES[0], optimiser=Momentum(shots=3)), Stage(STAGES[1], optimiser=LBFGS())]
    result = invert(
        SimpleNamespace(executor=Chaotic(), problem=PROBLEM), np.ones(5, np.float32), sources, sources[:2],
        np.ones((4, 5, 2, 1), np.float32), start, plan, precondition=False, folder=path, overwrite=overwrite,
        observers=[enough, HistoryFile(path)], progress=False,
    )  # fmt: skip
    lines = map(json.loads, (path / "history.jsonl").read_text().splitlines())
    timeless = [[{**line, "seconds": 0} for line in history] for history in (result.history, lines)]
    return result.models[0].tobytes(), timeless


class Moments:
    """Counter of the moments of file events in this process; number `at` kills the process or fills the disk."""

    def __init__(self, at, full):
        self.at, self.full, self.now = at, full, 0

    def moment(self):
        self.now += 1
        if self.full and self.now >= self.at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.now == self.at:
            os.kill(os.getpid(), signal.SIGKILL)

    def event(self, action, fills=True):
        """Return `action` with a moment before and one after; on a full disk files can still be removed."""

        def watched(*arguments, **options):
            if fills or not self.full:
                self.moment()
            done = action(*arguments, **options)
            if not self.full:
                self.moment()
            return done

        return watched

    def write(self, action, data):
        data = memoryview(data).cast("B")
        half = len(data) // 2
        done = self.event(action)(data[:half])
        return done + self.event(action)(data[half:])

    def install(self):
        moments, plain_open, plain_write, plain_io = self, os.open, os.write, io.open

        class Raw(io.FileIO):
            def __init__(self, *arguments, **options):
                moments.event(super().__init__)(*arguments, **options)

            def write(self, data):
                return moments.write(super().write, data)

            def truncate(self, size=None):
                return moments.event(super().truncate)(size)

        def open_file(
            file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None
        ):
            if not set(mode) & set("wax+"):
                return plain_io(file, mode, buffering, encoding, errors, newline, closefd, opener)
            raw = Raw(file, mode.replace("b", ""), closefd=closefd, opener=opener)
            buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

        def open_number(path, flags, *more, **options):
            creates = flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR)
            return (moments.event(plain_open) if creates else plain_open)(path, flags, *more, **options)

        builtins.open = io.open = open_file
        os.open, os.write = open_number, lambda fd, data: moments.write(lambda part: plain_write(fd, part), data)
        for name in ("replace", "rename", "fsync", "ftruncate", "truncate", "mkdir", "unlink", "remove"):
            setattr(os, name, self.event(getattr(os, name), fills=name not in ("unlink", "remove")))


def exit_code_of_run(path, fault, at):
    """Return the exit code of a run in a forked process; negative for a signal."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        if fault == "limit":
            resource.setrlimit(resource.RLIMIT_FSIZE, (at, at))
        else:
            Moments(at, full=fault == "full").install()
        run_inversion(path)
        code = 0
    except StorageError as error:
        path_in_error = Path(str(error).split(" could not be written")[0])
        code = (
            STORED
            if path_in_error == path or (path_in_error.parent == path and FILES.fullmatch(path_in_error.name))
            else 1
        )
    except BaseException:
        traceback.print_exc()
        code = 1
    os._exit(code)


def check_resumed(path, whole):
    """Return the faults of a folder after the run has resumed, and the number of steps in its checkpoint."""
    last = next((path / name for name in CHECKPOINTS if (path / name).exists()), None)
    steps = json.loads(bytes(np.load(last)["told"]))["step"] if last else 0
    try:
        resumed = run_inversion(path)
    except Exception as error:
        return f"{type(error).__name__}: {error}", steps
    unexpected_files = [entry.name for entry in path.iterdir() if not FILES.fullmatch(entry.name)]
    wrong = "other bits" if resumed[0] != whole[0] else "another history" if resumed[1] != whole[1] else ""
    return wrong or f"left behind: {unexpected_files}" * bool(unexpected_files), steps


def main(folder, fault, resume):
    os.fsync = lambda number: None  # slow; a kill loses no written bytes
    prepared, path = folder / "prepared", folder / "run"
    whole = run_inversion(folder / "whole")
    if resume:
        run_inversion(prepared, iterations=2)
    expected = {"kill": -signal.SIGKILL}.get(fault, STORED)
    results = {"points": 0, "before the first checkpoint": 0, "wrong": []}
    most = resume
    for at in range(1, 1000) if fault != "limit" else (*range(0, 2000, 200), *range(2000, 9000, 15)):
        shutil.rmtree(path, ignore_errors=True)
        if resume:
            shutil.copytree(prepared, path)
        code = exit_code_of_run(path, fault, at)
        wrong, steps = check_resumed(path, whole)
        if code == 0:
            break
        if code != expected:
            wrong = f"exit code {code}; {wrong}"
        if steps < most:
            wrong = f"the checkpoint is gone; {wrong}"
        most = max(most, steps)
        results["points"] += 1
        results["before the first checkpoint"] += not steps
        results["wrong"] += [f"{at}: {wrong}"] if wrong else []
    print(json.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], "resume" in sys.argv)
