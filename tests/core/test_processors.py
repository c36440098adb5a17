"""The processors of this process and the threads of a call, from files of proc and of control groups."""

import os

import pytest

from sweep_core._util import processors
from sweep_core._util.processors import affinity_count, processor_count, thread_count

V1, V2 = "sys/fs/cgroup/cpu", "sys/fs/cgroup"
AFFINITY = 8


def old(folder, quota, period=100_000):
    return {f"{folder}/cpu.cfs_quota_us": f"{quota}\n", f"{folder}/cpu.cfs_period_us": f"{period}\n"}


SYSTEMS = {
    "no files": ({}, 8),
    "no limit": ({"proc/self/cgroup": "0::/a\n", f"{V2}/a/cpu.max": "max 100000\n"}, 8),
    "version 2": ({"proc/self/cgroup": "0::/a\n", f"{V2}/a/cpu.max": "300000 100000\n"}, 3),
    "a part of a processor": ({"proc/self/cgroup": "0::/a\n", f"{V2}/a/cpu.max": "150000 100000\n"}, 2),
    "less than one processor": ({"proc/self/cgroup": "0::/a\n", f"{V2}/a/cpu.max": "5000 100000\n"}, 1),
    "more than the affinity": ({"proc/self/cgroup": "0::/a\n", f"{V2}/a/cpu.max": "6400000 100000\n"}, 8),
    "a parent's": (
        {
            "proc/self/cgroup": "0::/a/b\n",
            f"{V2}/a/b/cpu.max": "max 100000\n",
            f"{V2}/a/cpu.max": "200000 50000\n",
        },
        4,
    ),
    "a container's": ({"proc/self/cgroup": "0::/../../x\n", f"{V2}/cpu.max": "200000 100000\n"}, 2),
    "version 1": ({"proc/self/cgroup": "4:cpu,cpuacct:/a\n0::/\n", **old(f"{V1}/a", 500_000), **old(V1, -1)}, 5),
    "version 1 without a limit": ({"proc/self/cgroup": "4:cpu,cpuacct:/a\n0::/\n", **old(f"{V1}/a", -1)}, 8),
    "another controller": ({"proc/self/cgroup": "4:memory:/a\n", **old(f"{V1}/a", 100_000)}, 8),
    "unreadable": ({"proc/self/cgroup": "nonsense\n0::/a\n", f"{V2}/a/cpu.max": "?"}, 8),
}


@pytest.fixture
def affinity(monkeypatch):
    """Give this process 8 processors, and its parent as many as the test says."""

    def bind(own, parent):
        monkeypatch.setattr(processors, "affinity_count", lambda process=0: parent if process else own)

    bind(AFFINITY, AFFINITY)
    return bind


@pytest.mark.parametrize(("files", "count"), SYSTEMS.values(), ids=SYSTEMS)
def test_the_processors_are_the_least_of_affinity_and_quotas(tmp_path, affinity, files, count):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert processor_count(tmp_path) == count
    assert thread_count(environ={}, root=tmp_path) == count
    ranks = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}
    ranks |= {"MASTER_ADDR": "host", "MASTER_PORT": "1"}
    assert thread_count(environ=ranks, root=tmp_path) == max(count // 2, 1)


def test_the_affinity_of_this_process_counts():
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("the system binds no processes")
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert affinity_count() == processor_count() == thread_count(environ={}) == 1
    finally:
        os.sched_setaffinity(0, before)
    assert affinity_count() == len(before)
    assert affinity_count(2**30) == 1, "there is no such process"


TORCHRUN = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "x"}
TORCHRUN |= {"MASTER_ADDR": "host", "MASTER_PORT": "1"}
MPIRUN = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": "7"}
MPIRUN |= {"OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
SRUN = {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_LOCALID": "1", "SLURM_NNODES": "1", "SLURM_JOB_ID": "7"}
STEP = {"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0", "SLURM_CPUS_PER_TASK": "6"}


@pytest.mark.parametrize(
    ("environ", "count"),
    [
        ({}, 8),
        ({"OMP_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "12,2"}, 12),
        ({"OMP_NUM_THREADS": "many"}, 8),
        ({"OMP_NUM_THREADS": "1"}, 1),
        (TORCHRUN, 2),
        (TORCHRUN | {"OMP_NUM_THREADS": "1"}, 2),  # torchrun itself sets 1
        (TORCHRUN | {"OMP_NUM_THREADS": "3"}, 3),
        (TORCHRUN | {"LOCAL_WORLD_SIZE": "64"}, 1),
        (TORCHRUN | STEP | {"LOCAL_WORLD_SIZE": "2"}, 3),  # torchrun in a task of srun divides the task
        (TORCHRUN | {"SLURM_CPUS_PER_TASK": "2"}, 2),  # in a batch script it starts all tasks of the host
        (MPIRUN, 4),
        (SRUN, 4),
        (SRUN | {"SLURM_CPUS_PER_TASK": "3"}, 3),
        (SRUN | {"SLURM_CPUS_PER_TASK": "32"}, 8),
        ({"SLURM_CPUS_PER_TASK": "3"}, 3),
        ({"RANK": "0"}, 8),  # no launcher: setup_distributed refuses it
    ],
)
def test_the_threads_follow_from_the_environment(tmp_path, affinity, environ, count):
    assert thread_count(environ=environ, root=tmp_path) == count


@pytest.mark.parametrize(("own", "parent", "count"), [(1, 8, 1), (4, 16, 4), (8, 8, 4), (2, 2, 1)])
def test_ranks_that_a_launcher_binds_have_their_own_processors(tmp_path, affinity, own, parent, count):
    affinity(own, parent)
    assert thread_count(environ=MPIRUN, root=tmp_path) == count


@pytest.mark.parametrize("variable", ["OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"])
def test_the_affinity_that_openmp_gives_to_one_thread_does_not_count(variable, tmp_path, affinity, monkeypatch):
    affinity(1, 8)
    assert thread_count(environ={}, root=tmp_path) == processor_count(tmp_path) == 1
    monkeypatch.setenv(variable, "true")
    assert thread_count(root=tmp_path, environ={variable: "true"}) == processor_count(tmp_path) == 8
    assert thread_count(environ={"OMP_PROC_BIND": "false"}, root=tmp_path) == 1
