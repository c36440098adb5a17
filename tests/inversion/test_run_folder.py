"""The folder of a run belongs to one process and one run; SWEEP removes only its own files."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import attrs
import numpy as np
import pytest

from sweep_core import CheckpointError, SerialDistributor, StorageError
from sweep_core.inversion import Settings, check_out
from sweep_core.inversion.journal import Journal
from sweep_core.inversion.observers import DataFigures, EpochFigures, HistoryFile, ModelFiles, epochs_of
from sweep_core.io import replacing
from sweep_core.plugins import Observation

ROOT = Path(__file__).parents[2]
EARTH = np.arange(6, dtype=np.float32).reshape(2, 3)
PICTURES = ("ricker.png", "observed_data.png", "loss.png", "epoch_0005.png", "epoch_12345.png")
STRANGE = ("notes.txt", "inverted_vp_best.npy", "epoch_5.png", "my_loss.png", ".hidden.part", "checkpoint.npz.bak")
FILES = [DataFigures.files, EpochFigures.files, HistoryFile.files, ModelFiles(Path(), ("vp", "vs")).files]


def claim(path, settings_of_run=None, overwrite=False):
    return Journal(path, settings_of_run or {"lr": "20"}, [EARTH], SerialDistributor(), overwrite, FILES)


def line(iteration, seconds=0.0, misfit=1.0):
    return {"stage": 1, "iteration": iteration, "misfit": misfit, "model_error": float(iteration), "seconds": seconds}


def observation(iteration, history):
    return Observation("iteration", iteration, 1.0, (0,), np.stack([EARTH, EARTH]), None, 0, tuple(history))


def write_run(path):
    """Write a run after one step and return its open journal."""
    journal = claim(path)
    journal.begin()
    journal(lambda: (1.0, [EARTH]))
    journal.checkpoint({"step": 1}, [EARTH])
    for observer in (HistoryFile(path), ModelFiles(path, ("vp", "vs"))):
        observer(observation(1, [line(0), line(1)]))
    return journal


def contents(path):
    return {entry.name: entry.read_bytes() for entry in path.iterdir() if entry.name != "run.lock"}


@pytest.fixture
def past_run(tmp_path):
    write_run(tmp_path).close()
    for name in (*PICTURES, *STRANGE):
        (tmp_path / name).write_text(name)
    return tmp_path


def test_a_new_run_needs_resume_or_overwrite(past_run):
    settings = Settings(out=past_run)
    before = contents(past_run)
    with pytest.raises(CheckpointError, match="holds an earlier run; give --resume to continue it, --overwrite to"):
        check_out(settings)
    for choice in ("resume", "overwrite"):
        check_out(attrs.evolve(settings, **{choice: True}))
    with pytest.raises(CheckpointError, match="nothing to resume: .* run without --resume"):
        check_out(attrs.evolve(settings, out=past_run / "none", resume=True))
    assert contents(past_run) == before and not (past_run / "none").exists()


@pytest.mark.parametrize("name", ["history.jsonl", "inverted_vs.npy", *PICTURES])
def test_one_file_of_a_run_is_enough_to_refuse(tmp_path, name):
    """Without a run the file belongs to the user; --overwrite does not remove it either."""
    (tmp_path / name).write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(CheckpointError, match=f"holds {name} but no run; name another folder"):
            claim(tmp_path, overwrite=overwrite)
        assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [(name, "mine")]


def test_overwrite_removes_only_files_of_a_run(past_run):
    (past_run / ".epoch_0003.png.0123456789abcdef.part").write_text("left by a kill")
    (past_run / ".notes.txt.0123456789abcdef.part").write_text("a stranger's")
    claim(past_run, {"lr": "10"}, overwrite=True).close()
    assert set(contents(past_run)) == {*STRANGE, ".notes.txt.0123456789abcdef.part"}


def test_a_run_resumes_from_its_checkpoint(past_run):
    before, journal = contents(past_run), claim(past_run)
    journal.begin()
    (answer, (earth,)) = journal.position()
    assert answer["step"] == 1 and np.array_equal(earth, EARTH) and contents(past_run) == before
    journal.close()


def test_another_run_is_refused(past_run):
    with pytest.raises(CheckpointError, match="another run: lr was '20' and is now '10'"):
        claim(past_run, {"lr": "10"})
    claim(past_run).close()


def test_two_processes_do_not_share_a_folder(tmp_path):
    """The error names the first process. After its death, a kill too, the second process may start."""
    code = (
        "import sys, time; from sweep_core import SerialDistributor; from sweep_core.inversion.journal import Journal\n"
        "run = Journal(sys.argv[1], {'lr': '20'}, [], SerialDistributor()); print('mine', flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as owner:
        try:
            assert owner.stdout.readline() == "mine\n"
            for overwrite in (False, True):
                with pytest.raises(CheckpointError, match=f"in use by process {owner.pid} on .*; wait for it"):
                    claim(tmp_path, overwrite=overwrite)
        finally:
            owner.send_signal(signal.SIGKILL)
    journal = claim(tmp_path)
    assert (tmp_path / "run.lock").read_text().startswith(f" {os.getpid()} on ")
    journal.close()


def test_planted_links_are_not_followed(tmp_path):
    """The links have the names of the files or predictable names of temporary files."""
    precious, out = tmp_path / "precious", tmp_path / "out"
    precious.write_text("as it was")
    write_run(out).close()
    for name in ("checkpoint.partial.npz", f"checkpoint.npz.{os.getpid()}.part", ".checkpoint.npz.part"):
        (out / name).symlink_to(precious)
    for name in ("history.jsonl", "inverted_vp.npy"):
        (out / name).unlink()
        (out / name).symlink_to(precious)
    write_run(out).close()
    assert precious.read_text() == "as it was"
    (out / "run.lock").unlink()
    (out / "run.lock").symlink_to(precious)
    with pytest.raises(StorageError, match="run.lock could not be written"):
        claim(out, overwrite=True)
    assert precious.read_text() == "as it was"


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file could not be written: File exists; name another place"):
        claim(tmp_path / "file")


def test_an_exception_in_replacing_keeps_the_old_file(tmp_path):
    target = tmp_path / "new" / "file"
    with replacing(target) as stream:
        stream.write(b"whole")
    with pytest.raises(KeyError), replacing(target) as stream:
        stream.write(b"half")
        raise KeyError
    assert [(entry.name, entry.read_bytes()) for entry in target.parent.iterdir()] == [("file", b"whole")]
    mask = os.umask(0o027)
    os.umask(mask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_full_device_raises_a_storage_error(tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with (
        pytest.raises(StorageError, match="No space left on device.*free some space"),
        replacing(tmp_path / "a") as out,
    ):
        os.dup2(os.open("/dev/full", os.O_WRONLY), out.fileno())
        out.write(b"x")
    assert list(tmp_path.iterdir()) == []


def test_only_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(StorageError, match=f"{name} exists and is not a file"), replacing(tmp_path / name):
            pass
    assert (tmp_path / "pipe").is_fifo() and sorted(entry.name for entry in tmp_path.iterdir()) == ["folder", "pipe"]


def test_file_names_may_have_the_largest_length(tmp_path):
    for name in ("x" * 255, "\u00e4" * 127):
        with replacing(tmp_path / name) as stream:
            stream.write(b"x")
        assert (tmp_path / name).read_bytes() == b"x"
    with pytest.raises(StorageError, match="File name too long; name another place"), replacing(tmp_path / ("x" * 256)):
        pass
    with pytest.raises(StorageError, match="File name too long"):
        claim(tmp_path / ("x" * 300))


def test_the_folder_does_not_follow_the_current_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    journal = claim("out")
    monkeypatch.chdir("/")
    journal.begin()
    journal.checkpoint({"step": 1}, [EARTH])
    journal.close()
    assert (tmp_path / "out" / "checkpoint.npz").exists()


def test_the_history_is_json_lines_by_epochs(tmp_path):
    """An unfinished epoch has no line yet."""
    history = [line(0, 1.0, 8.0), line(1, 2.0, 6.0), line(2, 3.0, 4.0), line(3, 4.0, 2.0)]
    expected = [
        {"epoch": 0, "misfit": 8.0, "model_error": 0.0, "seconds": 0.0},
        {"epoch": 1, "misfit": 5.0, "model_error": 2.0, "seconds": 2.0},
    ]
    for iteration in (2, 3):
        HistoryFile(tmp_path, 2)(observation(iteration, history[: iteration + 1]))
        lines = [json.loads(text) for text in (tmp_path / "history.jsonl").read_text().splitlines()]
        assert lines == expected == epochs_of(history[: iteration + 1], 2)
