"""Both inversion scripts from end to end on a small model, with --resume."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sweep_core.distribution import read_profile
from sweep_core.distribution.profile import KINDS
from sweep_core.io import faulted_model, read_prepared, write_prepared

ROOT = Path(__file__).parents[2]
TORCH = ROOT / "examples/multi-gpu/torch/fwi_marmousi_dist.py"
JAX = ROOT / "examples/multi-gpu/jax/fwi_marmousi_pmap.py"
LAUNCH = {
    "torch": [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", str(TORCH)),
        *("--device", "cpu"),
    ],
    "torch alone": [sys.executable, str(TORCH), "--device", "cpu"],
    "jax": [sys.executable, str(JAX), "--devices", "2"],
}
LAST = re.compile(r"misfit from (\S+) to (\S+), model error from (\S+) to (\S+), (\S+) s/epoch$", re.MULTILINE)
FILES = {"ricker.png", "observed_data.png", "loss.png", "epoch_0000.png", "epoch_0002.png", "inverted_vp.npy"}
PROFILE = {"trace.json", "profile.txt", "profile.png"}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_prepared(tmp_path_factory.mktemp("model") / "small.npz", faulted_model((40, 60), 40.0, seed=3))


def launch(which, *arguments, ok=True):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [*LAUNCH[which], *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert (done.returncode == 0) == ok, done.stdout + done.stderr
    return done.stdout if ok else done.stderr


def small(model, out, epochs):
    options = ("--max-shots", 5, "--batchsize", 3, "--forward-batchsize", 2, "--freq", 3, "--show-every", 2)
    return ("--model", model, "--out", out, "--epochs", epochs, *options)


@pytest.fixture(scope="module")
def runs(model, tmp_path_factory):
    """Return (folder, last line, output) of a run of four epochs by each script, with a profile."""
    outcome = {}
    for which in LAUNCH:
        out = tmp_path_factory.mktemp(which.replace(" ", "_"))
        output = launch(which, *small(model, out, 4), "--profile")
        outcome[which] = out, LAST.search(output), output
    return outcome


@pytest.mark.parametrize("which", LAUNCH)
def test_the_misfit_and_the_model_error_fall(runs, which):
    out, last, _ = runs[which]
    begin, end, error, better = map(float, last.groups()[:4])
    assert end < 0.7 * begin
    assert better < error
    assert FILES <= {path.name for path in out.iterdir()}
    lines = [json.loads(line) for line in (out / "history.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [0, 1, 2, 3, 4]
    assert {"misfit", "model_error", "seconds"} <= set(lines[0])
    assert np.load(out / "inverted_vp.npy", allow_pickle=False).shape == (40, 60)


def test_two_ranks_one_rank_and_jax_agree(runs):
    ends = {which: float(last[2]) for which, (_, last, _) in runs.items()}
    assert ends["torch alone"] == pytest.approx(ends["torch"], rel=1e-3)
    assert ends["jax"] == pytest.approx(ends["torch"], rel=1e-2)


@pytest.mark.slow
def test_a_resumed_run_of_jax_equals_an_uninterrupted_one(runs, model, tmp_path):
    launch("jax", *small(model, tmp_path, 2))
    launch("jax", *small(model, tmp_path, 4), "--resume")
    assert_same_run(runs["jax"][0], tmp_path)


def assert_same_run(whole, resumed):
    """Check that a run without a profile has the bits and the files of one with it."""
    models = (np.load(path / "inverted_vp.npy") for path in (whole, resumed))
    np.testing.assert_array_equal(*models)
    assert {path.name for path in resumed.iterdir()} == {path.name for path in whole.iterdir()} - PROFILE
    assert len((resumed / "history.jsonl").read_text().splitlines()) == 5


@pytest.mark.parametrize("which", ["torch alone", "jax"])
def test_a_finished_run_is_not_overwritten(runs, model, which):
    out = runs[which][0]
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    output = launch(which, *small(model, out, 4), ok=False)
    assert f"{out} holds an earlier run" in output and "--resume" in output and "--overwrite" in output
    assert not any(f'{script.name}", line' in output for script in (TORCH, JAX)), (
        "the script must not print its traceback"
    )
    changed = {path.name for path in out.iterdir() if before[path.name] != path.read_bytes()}
    assert not changed


@pytest.mark.parametrize(("which", "ranks"), [("torch", 2), ("jax", 1)])
def test_a_profile_is_printed_and_written(runs, which, ranks):
    """The devices of JAX are one rank."""
    out, _, output = runs[which]
    profile = read_profile(out / "trace.json")
    assert (out / "profile.txt").read_text().strip() in output
    assert profile.size == ranks and profile.is_step.sum() == 4 * 2
    assert (profile.mean[:, KINDS.index("backward")] > 0).all() and (out / "profile.png").exists()


def test_a_killed_launch_is_resumed_to_the_same_bits(runs, model, tmp_path):
    """A kill of the launcher, once a checkpoint exists, ends the workers too; --resume then continues."""
    command = [*LAUNCH["torch"], *map(str, small(model, tmp_path, 4))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment) as launcher:
        while not (tmp_path / "checkpoint.npz").exists() and launcher.poll() is None:
            time.sleep(0.01)
        launcher.kill()
        launcher.stdout.read()  # ends with the last worker
    launch("torch", *small(model, tmp_path, 4), "--resume")
    assert_same_run(runs["torch"][0], tmp_path)


def test_overwrite_starts_a_new_run(runs, model, tmp_path):
    shutil.copytree(runs["torch alone"][0], tmp_path, dirs_exist_ok=True)
    first = (tmp_path / "checkpoint.npz").read_bytes()
    (tmp_path / "epoch_0009.png").write_text("an earlier run")
    (tmp_path / "notes.txt").write_text("mine")
    launch("torch alone", *small(model, tmp_path, 1), "--overwrite")
    assert (tmp_path / "checkpoint.npz").read_bytes() != first
    assert len((tmp_path / "history.jsonl").read_text().splitlines()) == 2
    assert not (tmp_path / "epoch_0009.png").exists() and (tmp_path / "notes.txt").read_text() == "mine"


def test_the_water_is_unchanged(runs):
    model = faulted_model((40, 60), 40.0, seed=3)
    vp = np.load(runs["torch"][0] / "inverted_vp.npy")
    np.testing.assert_array_equal(vp[model.water], model.true[model.water])


@pytest.mark.slow
@pytest.mark.parametrize("which", ["torch", "jax"])
def test_a_store_gives_the_result_of_data_in_memory(runs, model, tmp_path, which):
    last = LAST.search(launch(which, *small(model, tmp_path, 4), "--observed", "store"))
    assert last.groups()[:4] == runs[which][1].groups()[:4]
    assert {path.name for path in tmp_path.iterdir()} - {path.name for path in runs[which][0].iterdir()} == {
        "observed.zarr"
    }


@pytest.mark.slow
def test_observed_data_of_rank_0_equal_those_of_slices(runs, model, tmp_path):
    last = LAST.search(launch("torch", *small(model, tmp_path, 4), "--observed", "rank0"))
    assert last[2] == runs["torch"][1][2]


@pytest.mark.slow
@pytest.mark.parametrize("which", ["torch alone", "jax"])
def test_the_memory_option_is_used_and_reported(runs, model, tmp_path, which):
    output = launch(which, *small(model, tmp_path, 4), "--impl", "c", "--memory", "boundary")
    assert "gradients with MemoryOptions(strategy='boundary', known_above=" in output
    assert float(LAST.search(output)[2]) == pytest.approx(float(runs[which][1][2]), rel=1e-2)


BAD_ARGUMENTS = [
    (("--dh", "25"), "25"),
    (("--resume",), "nothing to resume"),
    (("--impl", "fast"), "--impl is 'fast'"),
    (("--backend", "reference", "--impl", "c"), "--impl is c, but backend 'reference' chooses"),
    (("--impl", "eager", "--memory", "boundary"), "needs impl='c', which runs backward in time"),
    (("--backend", "reference"), "no gradient"),
    (("--backend", "nobody"), "backend is 'nobody'; expected one of"),
    (("--backend", "reference", "--impl", "fast"), "--impl is 'fast'"),
    (("--physics", "thermal"), "--physics is 'thermal'"),
    (("--resume", "--overwrite"), "give one of them"),
    (("--batchsize", "0"), "--batchsize is 0"),
]

# Runs a script once for each list of arguments, as a command, and prints what ends each run: a status or a sentence.
ONE_BY_ONE = """
import json, runpy, sys
script, ends = sys.argv[1], []
for arguments in json.load(sys.stdin):
    sys.argv = [script, *arguments]
    try:
        runpy.run_path(script, run_name="__main__")
        ends.append("no error")
    except SystemExit as end:
        ends.append(end.code)
print(json.dumps(ends))
"""


@pytest.fixture(scope="module")
def ends(model, tmp_path_factory):
    """Return {arguments: (end, files of --out)} of runs with bad arguments, all in one process."""
    folders = {words: tmp_path_factory.mktemp("bad") for words, _ in BAD_ARGUMENTS}
    runs = [[*map(str, small(model, out, 1)), "--device", "cpu", *words] for words, out in folders.items()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", ONE_BY_ONE, str(TORCH)]
    done = subprocess.run(command, input=json.dumps(runs), capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    files = [{entry.name for entry in out.rglob("*") if entry.is_file()} for out in folders.values()]
    return dict(zip(folders, zip(json.loads(done.stdout.splitlines()[-1]), files, strict=True), strict=True))


@pytest.mark.parametrize(("arguments", "message"), BAD_ARGUMENTS)
def test_bad_arguments_give_one_sentence(ends, arguments, message):
    end, files = ends[arguments]
    assert message in end and "\n" not in end and files <= {"run.lock"}


def test_a_start_that_fits_the_data_is_refused(model, tmp_path):
    np.save(tmp_path / "true.npy", read_prepared(model).true)
    output = launch("torch alone", *small(model, tmp_path / "out", 1), "--init", tmp_path / "true.npy", ok=False)
    assert (
        "DomainError: the misfit at the start is 0.0: the start fits the data" in output and "Traceback" not in output
    )
