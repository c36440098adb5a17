"""The batch scripts of examples/multi-gpu/slurm under a stand-in for srun, and a launcher that restarts a lost worker."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sweep_core.io import faulted_model, write_prepared

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples/multi-gpu/torch/fwi_marmousi_dist.py"
OPTIONS = ("--epochs", 3, "--max-shots", 5, "--batchsize", 3, "--freq", 3, "--show-every", 3)

# Starts the tasks that SLURM_NTASKS states, each with the variables that srun sets, and fails with the first that does.
SRUN = f"""#!{sys.executable}
import os, subprocess, sys
command = [argument for argument in sys.argv[1:] if not argument.startswith("--kill")]
command = [sys.executable if word == "python" else word for word in command[:1]] + command[1:]
count = os.environ["SLURM_NTASKS"]
step = dict(SLURM_STEP_ID="0", SLURM_STEP_NUM_TASKS=count, SLURM_STEP_NUM_NODES="1", SLURM_STEP_NODELIST="node1")
step |= dict(SLURM_STEP_TASKS_PER_NODE=count, SLURM_NODEID="0")
tasks = [subprocess.Popen(command, env=os.environ | step | dict(SLURM_PROCID=str(i), SLURM_LOCALID=str(i)))
         for i in range(int(count))]
sys.exit(max(task.wait() for task in tasks))
"""

# Kills rank 1 of the first attempt as soon as there is a checkpoint.
LOSE_A_WORKER = """
import os, runpy, signal, sys, threading, time
from pathlib import Path
def lose(checkpoint):
    while not checkpoint.exists(): time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGKILL)
if os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    checkpoint = Path(sys.argv[sys.argv.index("--out") + 1], "checkpoint.npz")
    threading.Thread(target=lose, args=(checkpoint,), daemon=True).start()
sys.argv[0] = {script!r}
runpy.run_path({script!r}, run_name="__main__")
"""


def run(command, **variables):
    """Return the output of a command that ends well."""
    environment = (
        os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])} | variables
    )
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    """Run a batch script as SLURM does, with a number of tasks; return its folder and its output."""
    folder = tmp_path_factory.mktemp("slurm")
    model = write_prepared(folder / "small.npz", faulted_model((40, 60), 40.0, seed=3))
    srun = folder / "bin/srun"
    srun.parent.mkdir()
    srun.write_text(SRUN)
    srun.chmod(0o755)

    def submit(name, tasks, *options):
        out = folder / f"{name}-{tasks}"
        command = ["bash", ROOT / f"examples/multi-gpu/slurm/{name}.sbatch", "--model", model, "--out", out]
        job = {
            "SLURM_JOB_ID": str(os.getpid()),
            "SLURM_NTASKS": str(tasks),
            "SLURM_PROCID": "0",
            "ENVIRONMENT": "BATCH",
        }
        path = os.pathsep.join([str(srun.parent), os.environ["PATH"]])
        return out, run([*command, *OPTIONS, *options], PATH=path, **job)

    return submit


def test_a_job_of_two_tasks_and_one_that_loses_a_worker_end_at_the_same_bits(batch, tmp_path):
    """srun starts the first job; torchrun starts the second, and its workers once more after the loss."""
    out, printed = batch("torch", 2, "--device", "cpu")
    assert "rank 0 of 2 on cpu (srun)" in printed and "rank 1 of 2 on cpu (srun)" in printed
    script = tmp_path / "lose_a_worker.py"
    script.write_text(LOSE_A_WORKER.format(script=str(SCRIPT)))
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "--max-restarts=1"]
    options = ["--model", out.parent / "small.npz", "--out", tmp_path / "run", "--device", "cpu", "--resume", "auto"]
    printed = run([*launcher, script, *options, *OPTIONS])
    assert printed.count("rank 1 of 2 on cpu (torchrun)") == 2
    whole, restarted = (np.load(path / "inverted_vp.npy") for path in (out, tmp_path / "run"))
    np.testing.assert_array_equal(restarted, whole)


def test_a_job_of_jax_ends_and_continues(batch):
    pytest.importorskip("jax")
    batch("jax", 1, "--devices", "2")
    out, printed = batch("jax", 1, "--devices", "2", "--epochs", "4")
    assert "2 cpu devices" in printed and len((out / "history.jsonl").read_text().splitlines()) == 5
