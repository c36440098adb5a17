"""Launchers: the environments of torchrun, mpirun and srun, and groups that processes join by them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sweep_core.distribution import find_launch
from sweep_core.errors import OptionError

ROOT = Path(__file__).parents[2]
OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": "prterun-a-1@1"}
OPEN_MPI |= {"OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
MPICH = {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}
SRUN = {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_LOCALID": "1", "SLURM_JOB_ID": "77"}
SRUN |= {"SLURM_JOB_NODELIST": "node7", "SLURM_NNODES": "1"}
TWO_NODES = {**SRUN, "SLURM_NNODES": "2", "SLURM_NODEID": "1", "SLURM_STEP_NODELIST": "gpu[03-04]"}
STATED = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "29500"}
TORCHRUN = {**STATED, "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "TORCHELASTIC_RUN_ID": "none"}


def place(environ):
    """Return (launcher, rank, size, local rank, local size, address)."""
    launch = find_launch(environ)
    return launch.launcher, launch.rank, launch.size, launch.local_rank, launch.local_size, launch.address


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ("no launcher", 0, 1, 0, 1, "127.0.0.1")),
        ({"MASTER_ADDR": "a"}, ("no launcher", 0, 1, 0, 1, "127.0.0.1")),  # batch scripts export one
        (STATED, ("RANK and WORLD_SIZE", 1, 2, 1, 2, "a")),
        (TORCHRUN, ("torchrun", 1, 2, 0, 1, "a")),
        (OPEN_MPI, ("mpirun", 1, 2, 1, 2, "127.0.0.1")),
        (MPICH, ("mpirun", 1, 2, 1, 2, "127.0.0.1")),
        (SRUN, ("srun", 1, 2, 1, 2, "127.0.0.1")),
        (TWO_NODES | {"SLURM_LOCALID": "0"}, ("srun", 1, 2, 0, 1, "gpu03")),
        (TWO_NODES | {"SLURM_NTASKS": "5", "SLURM_TASKS_PER_NODE": "2,3"}, ("srun", 1, 5, 1, 3, "gpu03")),
        (TWO_NODES | {"SLURM_NTASKS": "8", "SLURM_TASKS_PER_NODE": "4(x2)"}, ("srun", 1, 8, 1, 4, "gpu03")),
        (TWO_NODES | {"SLURM_NTASKS": "8", "MASTER_ADDR": "ib0"}, ("srun", 1, 8, 1, 4, "ib0")),
        (SRUN | {"SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "2"}, ("srun", 1, 2, 1, 2, "127.0.0.1")),
        # torchrun inside a task of srun, and mpirun inside an allocation, start the processes themselves.
        (TWO_NODES | TORCHRUN, ("torchrun", 1, 2, 0, 1, "a")),
        (SRUN | {"SLURM_PROCID": "0"} | OPEN_MPI, ("mpirun", 1, 2, 1, 2, "127.0.0.1")),
        (TWO_NODES | {"SLURM_LOCALID": "0", "PMI_RANK": "1", "PMI_SIZE": "2"}, ("srun", 1, 2, 0, 1, "gpu03")),
        # A batch script is one process of an allocation for many.
        (SRUN | {"SLURM_PROCID": "0", "ENVIRONMENT": "BATCH"}, ("no launcher", 0, 1, 0, 1, "127.0.0.1")),
    ],
)  # fmt: skip
def test_the_environment_tells_the_place_of_a_process(environ, expected):
    assert place(environ) == expected


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"RANK": "1"}, "RANK is 1 in the environment, but WORLD_SIZE is not set"),
        ({"WORLD_SIZE": "2"}, "WORLD_SIZE is 2 in the environment, but RANK is not set"),
        ({"RANK": "a"}, "RANK is 'a' in the environment; expected a whole number"),
        ({"RANK": "1", "WORLD_SIZE": "2"}, "RANK is 1 in the environment, but MASTER_ADDR is not set"),
        (STATED | {"MASTER_PORT": "http"}, "MASTER_PORT is 'http'"),
        (STATED | {"RANK": "2", "LOCAL_RANK": "0"}, "states rank 2 of 2.*unset RANK"),
        ({"OMPI_COMM_WORLD_RANK": "1"}, "but OMPI_COMM_WORLD_SIZE is not set"),
        (STATED | {"LOCAL_WORLD_SIZE": "0"}, "LOCAL_WORLD_SIZE is '0' in the environment; expected a whole number"),
        (STATED | {"LOCAL_WORLD_SIZE": ""}, "LOCAL_WORLD_SIZE is '' in the environment; expected a whole number"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE is '0' in the environment; expected a whole number"),
        ({"PMI_SIZE": "2"}, "but PMI_RANK is not set"),
        ({"SLURM_PROCID": "1"}, "SLURM_PROCID is 1 in the environment, but SLURM_NTASKS is not set"),
        ({"SLURM_PROCID": "1", "SLURM_NTASKS": "2"}, "but SLURM_LOCALID is not set"),
        (OPEN_MPI | {"OMPI_COMM_WORLD_SIZE": "4"}, "MASTER_ADDR is not set; expected the host of rank 0"),
    ],
)
def test_a_launcher_that_is_incomplete_is_refused(environ, message):
    with pytest.raises(OptionError, match=message):
        find_launch(environ)


def test_ranks_of_a_launch_meet_at_one_port_and_launches_at_others():
    ports = [
        find_launch(TWO_NODES | {"SLURM_PROCID": rank, "SLURM_JOB_ID": job}).port for job in "123" for rank in "01"
    ]
    assert ports[::2] == ports[1::2] and len(set(ports)) == 3 and all(10000 <= port < 30000 for port in ports)
    assert find_launch(TWO_NODES | {"MASTER_PORT": "29500"}).port == 29500


TORCH = """
import sys, torch
from sweep_torch.distribution import TorchDistributor, setup_distributed, teardown_distributed
rank, size, device = setup_distributed("cpu", timeout=60)
total = TorchDistributor(device).all_reduce(torch.tensor([rank + 1.0]))
print(rank, size, torch.distributed.get_backend(), int(total), flush=True)
teardown_distributed()
"""
JAX = """
import jax, numpy as np
from sweep_jax.distribution import setup_distributed, teardown_distributed
rank, size = setup_distributed(timeout=60)
print(rank, size, "gloo", jax.device_count(), flush=True)
teardown_distributed()
"""


def started(script, environments):
    """Return the output of processes with these environments, all of which must end well."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "OMPI", "PMI", "MASTER"))
    }
    clean |= {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean | own
        )
        for own in environments
    ]
    try:
        outputs = [process.communicate(timeout=120) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * len(processes), outputs
    return [out.strip().splitlines()[-1] for out, _ in outputs]


def as_launched(variables, names, job):
    """Return the environments of two processes: `variables`, and the rank under each of `names`."""
    return [variables | {name: str(rank) for name in names} | job for rank in range(2)]


JOB = str(os.getpid())
GROUPS = {
    "mpirun of Open MPI": as_launched(
        OPEN_MPI, ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"), {"PMIX_NAMESPACE": JOB}
    ),
    "mpirun of MPICH": as_launched(MPICH, ("PMI_RANK", "MPI_LOCALRANKID"), {"PMI_JOBID": f"mpich-{JOB}"}),
    "srun": as_launched(SRUN, ("SLURM_PROCID", "SLURM_LOCALID"), {"SLURM_JOB_ID": JOB}),
}


@pytest.mark.parametrize("launcher", GROUPS)
def test_torch_processes_of_a_launcher_form_one_group(launcher):
    assert started(TORCH, GROUPS[launcher]) == ["0 2 gloo 3", "1 2 gloo 3"]


def test_jax_processes_of_a_launcher_form_one_group():
    """JAX reads the place of a process as torch does."""
    pytest.importorskip("jax")
    assert started(JAX, GROUPS["srun"]) == ["0 2 gloo 2", "1 2 gloo 2"]


ONE = """
import torch
from sweep_torch.distribution import setup_distributed, teardown_distributed
print(*setup_distributed("cpu"))
torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
teardown_distributed()
"""


@pytest.mark.parametrize("environ", [{}, {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "a", "MASTER_PORT": "0"}])
def test_one_process_is_a_group_that_ddp_accepts(environ):
    assert started(ONE, [environ]) == ["0 1 cpu"]


OWN_GROUP = """
import sys, torch
from sweep_torch.distribution import setup_distributed, teardown_distributed
store = torch.distributed.FileStore(sys.argv[1], 2)
torch.distributed.init_process_group("gloo", store=store, rank=int(sys.argv[2]), world_size=2)
print(*setup_distributed("cpu"))
teardown_distributed()
"""


def test_a_group_that_the_script_made_is_used(tmp_path):
    scripts = [OWN_GROUP.replace("sys.argv[1]", repr(str(tmp_path / "store"))).replace("sys.argv[2]", r) for r in "01"]
    processes = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for script in scripts
    ]
    assert [process.communicate(timeout=120)[0].strip() for process in processes] == ["0 2 cpu", "1 2 cpu"]


@pytest.mark.parametrize(
    "arguments", [{"timeout": 0}, {"timeout": -1.0}, {"timeout": "long"}, {"device": "tpu"}], ids=str
)
def test_bad_arguments_are_refused(arguments):
    from sweep_core import SweepError
    from sweep_torch.distribution import setup_distributed

    name, value = next(iter(arguments.items()))
    with pytest.raises(SweepError, match=f"{name} is {value!r}; expected"):
        setup_distributed(**arguments)


def test_a_rank_that_does_not_come_is_reported_after_the_timeout():
    """Rank 0 alone of two names the launcher, the group and the meeting point."""
    (environ, _), script = GROUPS["srun"], TORCH.replace("timeout=60", "timeout=3")
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=60,
        env={**os.environ, **environ, "SLURM_JOB_ID": f"{JOB}1"},
    )  # fmt: skip
    assert done.returncode and "DistributedError: rank 0 of 2 by srun, meeting at 127.0.0.1" in done.stderr, done.stderr
