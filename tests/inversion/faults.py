"""What test_faults.py runs: a small inversion, ended at each moment of its file events, in a process forked for each.

python faults.py FOLDER kill|full|limit [resume]     prints, as JSON, what was found

An event is a file that is created, written, truncated, synchronised, renamed or removed; its moments are before, after
and, where it writes, when half of the bytes are on the disk. `full`: from that moment on the disk takes no more.
`limit`: the kernel's own limit of the size of files, for many sizes.
"""

import builtins
import errno
import io
import json
import os
import resource
import shutil
import signal
import sys
import traceback
from pathlib import Path

import numpy as np

from sweep_core import StorageError
from sweep_core.inversion import RunFolder

IDENTITY, EPOCHS, SHAPE = {"model": "tiny", "lr": 20.0, "seed": 0}, 3, (5, 7)
START = {"vp": np.linspace(1500, 4000, 35, dtype=np.float32).reshape(SHAPE), "exp_avg": np.zeros(SHAPE, np.float32)}
FILES = {"run.lock", "history.jsonl", "checkpoint.npz", "inverted_vp.npy"}
STORED = 77
"""Exit status of a run that a StorageError ended."""


def step(arrays, epoch):
    """Chaotic, so that whatever is lost shows."""
    mean = np.float32(0.9) * arrays["exp_avg"] + np.sin(arrays["vp"] * np.float32(epoch))
    return {"vp": arrays["vp"] + 20 * np.cos(3 * mean), "exp_avg": mean}


def invert(path, resume=False, overwrite=False, epochs=EPOCHS):
    """A run in the order of the scripts; returns the inverted model and the history."""
    folder = RunFolder(path, IDENTITY)
    folder.claim(resume, overwrite)
    try:
        last = folder.load(START) if resume else None
        folder.start(last.history if last else ())
        done, arrays = (last.epoch, last.arrays) if last else (0, START)
        if not last:
            folder.append(epoch=0, misfit=1.0, model_error=float(arrays["vp"].std()), seconds=0.0)
        for epoch in range(done + 1, epochs + 1):
            arrays = step(arrays, epoch)
            folder.append(epoch=epoch, misfit=1 / epoch, model_error=float(arrays["vp"].std()), seconds=0.5)
            folder.save(epoch, arrays)
        folder.save_array("inverted_vp", arrays["vp"])
        return np.load(path / "inverted_vp.npy").tobytes(), folder.history()
    finally:
        folder.release()


class Moments:
    """Counts the moments of file events in this process, and strikes at number `at`."""

    def __init__(self, at, full):
        self.at, self.full, self.now = at, full, 0

    def moment(self):
        self.now += 1
        if self.full and self.now >= self.at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.now == self.at:
            os.kill(os.getpid(), signal.SIGKILL)

    def event(self, action, fills=True):
        """`action`, with a moment before and one after; on a full disk files can still be removed."""

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


def disturbed(path, how, at, resume):
    """Exit code of a run in a process of its own; negative for a signal."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        if how == "limit":
            resource.setrlimit(resource.RLIMIT_FSIZE, (at, at))
        else:
            Moments(at, full=how == "full").install()
        invert(path, resume)
        code = 0
    except StorageError as error:
        named = Path(str(error).split(" could not be written")[0])
        code = STORED if named == path or (named.parent == path and named.name in FILES) else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    os._exit(code)


def afterwards(path, whole):
    """What is wrong with a folder after a disturbance, and whether it has a checkpoint."""
    saved = (path / "checkpoint.npz").exists()
    try:
        got = invert(path, resume=saved, overwrite=not saved)
    except Exception as error:
        return f"{type(error).__name__}: {error}", saved
    strange = {entry.name for entry in path.iterdir()} - FILES
    wrong = "other bits" if got[0] != whole[0] else "another history" if got[1] != whole[1] else ""
    return wrong or f"left behind: {strange}" * bool(strange), saved


def main(folder, how, resume):
    os.fsync = lambda number: None  # slow, and a kill loses nothing that was written
    prepared, path = folder / "prepared", folder / "run"
    whole = invert(folder / "whole")
    if resume:
        invert(prepared, epochs=1)
    expected = {"kill": -signal.SIGKILL}.get(how, STORED)
    found = {"points": 0, "before the first checkpoint": 0, "wrong": []}
    for at in range(1, 1000) if how != "limit" else range(0, 4000, 40):
        shutil.rmtree(path, ignore_errors=True)
        if resume:
            shutil.copytree(prepared, path)
        code = disturbed(path, how, at, resume)
        wrong, saved = afterwards(path, whole)
        if code == 0:
            break
        if code != expected:
            wrong = f"exit code {code}; {wrong}"
        if not saved and (resume or found["points"] > found["before the first checkpoint"]):
            wrong = f"the checkpoint is gone; {wrong}"
        found["points"] += 1
        found["before the first checkpoint"] += not saved
        found["wrong"] += [f"{at}: {wrong}"] if wrong else []
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], "resume" in sys.argv)
