"""The folder of a run belongs to one process and one run, and only its own files are ever removed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sweep_core import CheckpointError, StorageError
from sweep_core.inversion import RunFolder
from sweep_core.io import replacing

ROOT = Path(__file__).parents[2]
ARRAYS = {"vp": np.arange(6, dtype=np.float32).reshape(2, 3)}
LINE = {"misfit": 1.0, "model_error": 2.0, "seconds": 0.5}
PICTURES = ("ricker.png", "observed_data.png", "loss.png", "epoch_0005.png", "epoch_12345.png")
STRANGE = ("notes.txt", "inverted_vp_best.npy", "epoch_5.png", "my_loss.png", ".hidden.part", "checkpoint.npz.bak")


def write_run(path, **identity):
    """A run of one epoch, whose folder is left open."""
    folder = RunFolder(path, identity)
    folder.claim()
    folder.start()
    for epoch in range(2):
        folder.append(epoch=epoch, **LINE)
    folder.save(1, ARRAYS)
    for name in ("vp", "vs"):
        folder.save_array(f"inverted_{name}", ARRAYS["vp"])
    return folder


def contents(path):
    return {entry.name: entry.read_bytes() for entry in path.iterdir() if entry.name != "run.lock"}


@pytest.fixture
def finished(tmp_path):
    write_run(tmp_path, lr=20).release()
    for name in (*PICTURES, *STRANGE):
        (tmp_path / name).write_text(name)
    return tmp_path


def test_a_run_is_not_begun_anew_without_a_word(finished):
    before = contents(finished)
    with pytest.raises(CheckpointError, match="holds an earlier run .* --resume to continue it, --overwrite to remove"):
        RunFolder(finished, {"lr": 20}).claim()
    (finished / "checkpoint.npz").unlink()
    with pytest.raises(CheckpointError, match="give --overwrite to remove it, or another --out"):
        RunFolder(finished, {"lr": 20}).claim()
    assert contents(finished) == {name: text for name, text in before.items() if name != "checkpoint.npz"}


@pytest.mark.parametrize("name", ["history.jsonl", "inverted_rho.npy", *PICTURES])
def test_one_file_is_enough_to_refuse(tmp_path, name):
    """Where no run was it is somebody's own, which --overwrite does not remove either."""
    (tmp_path / name).write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(
            CheckpointError, match=f"holds {name}, which no run left there .* move them, or give another"
        ):
            RunFolder(tmp_path, {}).claim(overwrite=overwrite)
        assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [(name, "mine")]
    (tmp_path / "run.lock").write_text("1 on a machine\n")
    with pytest.raises(CheckpointError, match=f"holds an earlier run .{name}.; give --overwrite to remove it"):
        RunFolder(tmp_path, {}).claim()


def test_overwriting_removes_what_a_run_left_and_nothing_else(finished):
    (finished / ".epoch_0003.png.0123456789abcdef.part").write_text("left by a kill")
    (finished / ".notes.txt.0123456789abcdef.part").write_text("a stranger's")
    before, folder = contents(finished), RunFolder(finished, {"lr": 10})
    folder.claim(overwrite=True)
    assert contents(finished) == before, "before the run begins nothing is lost"
    folder.start()
    assert set(contents(finished)) == {*STRANGE, ".notes.txt.0123456789abcdef.part"}
    folder.release()


def test_resuming_keeps_what_is_there(finished):
    before, folder = contents(finished), RunFolder(finished, {"lr": 20})
    folder.claim(resume=True)
    last = folder.load(ARRAYS)
    folder.start(last.history)
    assert contents(finished) == before and last.epoch == 1
    folder.release()


def test_another_run_is_refused_before_anything_is_computed(finished):
    with pytest.raises(CheckpointError, match="another run: lr was 20 and is now 10"):
        RunFolder(finished, {"lr": 10}).claim(resume=True)
    with pytest.raises(CheckpointError, match="nothing to resume"):
        RunFolder(finished / "none", {"lr": 20}).claim(resume=True)
    assert not (finished / "none").exists()


def test_writing_begins_with_a_claim(tmp_path):
    with pytest.raises(CheckpointError, match="not claimed"):
        RunFolder(tmp_path, {}).start()


def test_two_processes_do_not_share_a_folder(tmp_path):
    """The second is told who has it, and gets in once that process is dead, however it died."""
    code = (
        "import sys, time; from pathlib import Path; from sweep_core.inversion import RunFolder\n"
        "folder = RunFolder(Path(sys.argv[1]), {}); folder.claim(); print('mine', flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as owner:
        try:
            assert owner.stdout.readline() == "mine\n"
            for choice in ({}, {"overwrite": True}):
                with pytest.raises(CheckpointError, match=f"in use by process {owner.pid} on .*; wait for it"):
                    RunFolder(tmp_path, {}).claim(**choice)
        finally:
            owner.send_signal(signal.SIGKILL)
    folder = RunFolder(tmp_path, {})
    folder.claim()
    assert (tmp_path / "run.lock").read_text().startswith(f" {os.getpid()} on ")
    folder.release()


def test_a_refused_claim_lets_go(finished):
    with pytest.raises(CheckpointError, match="earlier run"):
        RunFolder(finished, {"lr": 20}).claim()
    folder = RunFolder(finished, {"lr": 20})
    folder.claim(overwrite=True)
    folder.release()


def test_links_that_lie_in_wait_are_not_followed(tmp_path):
    """Neither at the names of the files nor at any name that could be foreseen."""
    precious, out = tmp_path / "precious", tmp_path / "out"
    precious.write_text("as it was")
    out.mkdir()
    for name in ("checkpoint.partial.npz", f"checkpoint.npz.{os.getpid()}.part", ".checkpoint.npz.part"):
        (out / name).symlink_to(precious)
    folder = write_run(out)
    for name in ("history.jsonl", "checkpoint.npz", "inverted_vp.npy"):
        (out / name).unlink()
        (out / name).symlink_to(precious)
    folder.append(epoch=2, **LINE)
    folder.save(2, ARRAYS)
    folder.save_array("inverted_vp", ARRAYS["vp"])
    folder.release()
    assert precious.read_text() == "as it was"
    (out / "run.lock").unlink()
    (out / "run.lock").symlink_to(precious)
    with pytest.raises(StorageError, match="run.lock could not be written"):
        RunFolder(out, {}).claim(overwrite=True)
    assert precious.read_text() == "as it was"


def test_a_spoilt_history_file_costs_a_run_nothing(tmp_path):
    """It is told anew after each epoch; what a run goes on from is in the checkpoint."""
    folder, file = write_run(tmp_path), tmp_path / "history.jsonl"
    whole, lines = file.read_bytes(), [{"epoch": n, **LINE} for n in range(3)]
    for spoilt in (whole[:-4], whole[:-1] + b"\xff", whole + b'{"epoch": 2, "mis', b'{"epoch": 7}\n', None):
        file.unlink(missing_ok=True)
        if spoilt is not None:
            file.write_bytes(spoilt)
        folder.save(1, ARRAYS)
        assert folder.history() == lines[:2]
        folder.release()
        folder = RunFolder(tmp_path, {})
        folder.claim(resume=True)
        folder.start(folder.load(ARRAYS).history)
        assert file.read_bytes() == whole
    file.unlink()
    folder.append(epoch=2, **LINE)
    folder.save(2, ARRAYS)
    assert [json.loads(line) for line in file.read_text().splitlines()] == folder.load(ARRAYS).history == lines
    folder.release()


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file could not be written: File exists; name another place"):
        RunFolder(tmp_path / "file", {}).claim()


def test_a_block_that_raises_leaves_what_stood_there(tmp_path):
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


def test_a_device_that_is_full(tmp_path):
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
        with pytest.raises(StorageError, match=f"{name} is there and no file"), replacing(tmp_path / name):
            pass
    assert (tmp_path / "pipe").is_fifo() and sorted(entry.name for entry in tmp_path.iterdir()) == ["folder", "pipe"]


def test_names_may_be_as_long_as_names_are(tmp_path):
    for name in ("x" * 255, "\u00e4" * 127):
        with replacing(tmp_path / name) as stream:
            stream.write(b"x")
        assert (tmp_path / name).read_bytes() == b"x"
    with pytest.raises(StorageError, match="File name too long; name another place"), replacing(tmp_path / ("x" * 256)):
        pass
    for resume in (False, True):
        with pytest.raises((StorageError, CheckpointError), match="File name too long"):
            RunFolder(tmp_path / ("x" * 300), {}).claim(resume)


def test_a_folder_stays_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = RunFolder(Path("out"), {})
    folder.claim()
    monkeypatch.chdir("/")
    folder.start()
    folder.append(epoch=0, **LINE)
    folder.release()
    assert (tmp_path / "out" / "history.jsonl").exists()


def test_a_folder_that_cannot_be_written_into_is_refused_at_once(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    folder = RunFolder(tmp_path, {})
    with monkeypatch.context() as patched:
        patched.setattr("tempfile.TemporaryFile", refuse)
        with pytest.raises(StorageError, match="could not be written: Permission denied"):
            folder.claim()
    folder.claim()
    folder.release()


def test_the_history_is_json_lines(tmp_path):
    write_run(tmp_path).release()
    lines = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert lines == [{"epoch": n, **LINE} for n in range(2)]
