"""The place of this process in a group, as its launcher states it: torchrun, mpirun or srun."""

import os
import re
import zlib
from collections.abc import Mapping
from typing import Any

import attrs

from ..errors import OptionError
from .validators import environment_number

Environ = Mapping[str, str]

LOOPBACK = "127.0.0.1"


@attrs.frozen
class Launch:
    """The place of this process among the processes that a launcher started.

    Attributes
    ----------
    launcher : str
        ``'torchrun'``, ``'mpirun'``, ``'srun'``, ``'RANK and WORLD_SIZE'`` (an environment that names no launcher), or
        ``'no launcher'``.
    rank, size : int
        Number of this process, and the number of processes.
    local_rank, local_size : int
        The same among the processes on this host.
    address : str
        Host of rank 0, where the processes meet.
    port : int
        Port on that host; 0 for a single process.
    attempt : int
        Number of restarts so far.
    """

    launcher: str = "no launcher"
    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1
    address: str = LOOPBACK
    port: int = 0
    attempt: int = 0

    def __str__(self) -> str:
        if self.size == 1:
            return f"one process, {self.launcher}"
        return f"rank {self.rank} of {self.size} by {self.launcher}, meeting at {self.address}:{self.port}"


def find_launch(environ: Environ | None = None) -> Launch:
    """Return the place of this process in its group.

    The first of these that is in the environment counts: RANK and WORLD_SIZE (torchrun), OMPI_COMM_WORLD_RANK
    (mpirun of Open MPI), PMI_RANK (mpirun of MPICH and Intel MPI), SLURM_PROCID (srun). mpirun comes before srun,
    because mpirun starts its processes by srun inside a SLURM allocation. MASTER_ADDR and MASTER_PORT override the
    address and the port that are derived from the variables of mpirun and srun.

    Parameters
    ----------
    environ : mapping of str to str, optional
        The environment of this process by default.

    Returns
    -------
    Launch

    Raises
    ------
    OptionError
        If a launcher states only a part of its variables, or values that contradict each other.

    Examples
    --------
    >>> from sweep_core.distribution import find_launch
    >>> task = {"SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1", "SLURM_JOB_ID": "77"}
    >>> task |= {"SLURM_NNODES": "2", "SLURM_NODEID": "1", "SLURM_STEP_NODELIST": "gpu[03-04]"}
    >>> print(find_launch(task))
    rank 5 of 8 by srun, meeting at gpu03:11828
    """
    environ = os.environ if environ is None else environ
    for names, read in LAUNCHERS.items():
        if present := [name for name in names if name in environ]:
            launch = read(environ)
            if launch.rank >= launch.size or launch.local_rank >= launch.local_size:
                raise OptionError(
                    f"{launch.launcher} states rank {launch.rank} of {launch.size}, and {launch.local_rank} of "
                    f"{launch.local_size} on this host; expected ranks below the number of processes; unset "
                    f"{present[0]} to run alone"
                )
            return launch
    return Launch()


def _torchrun(environ: Environ) -> Launch:
    rank, size = _pair(environ, "RANK", "WORLD_SIZE")
    launcher = "torchrun" if "TORCHELASTIC_RUN_ID" in environ else "RANK and WORLD_SIZE"
    # An environment without local ranks is one that a script made for the processes of its own host.
    local_rank = environment_number("LOCAL_RANK", 0, environ, rank)
    local_size = environment_number("LOCAL_WORLD_SIZE", 1, environ, max(size, local_rank + 1))
    launch = Launch(launcher, rank, size, local_rank, local_size)
    if size == 1:
        return launch
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if not environ.get(name):
            raise _incomplete("RANK", rank, name)
    attempt = environment_number("TORCHELASTIC_RESTART_COUNT", 0, environ)
    return attrs.evolve(launch, **_meeting(environ, "", ""), attempt=attempt)


def _open_mpi(environ: Environ) -> Launch:
    job = environ.get("PMIX_NAMESPACE") or environ.get("OMPI_MCA_ess_base_jobid", "")
    group = _pair(environ, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")
    return _mpirun(environ, *group, "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", job)


def _mpich(environ: Environ) -> Launch:
    group = _pair(environ, "PMI_RANK", "PMI_SIZE")
    tasks = environ.get("SLURM_STEP_NUM_TASKS") or environ.get("SLURM_NTASKS")
    if (environ.get("SLURM_PROCID"), tasks) == (environ["PMI_RANK"], environ["PMI_SIZE"]):
        return _srun(environ)  # srun --mpi=pmi2, whose own variables tell the hosts
    return _mpirun(environ, *group, "MPI_LOCALRANKID", "MPI_LOCALNRANKS", environ.get("PMI_JOBID", ""))


def _mpirun(environ: Environ, rank: int, size: int, local_rank: str, local_size: str, job: str) -> Launch:
    local = environment_number(local_rank, 0, environ, rank), environment_number(local_size, 1, environ, size)
    launch = Launch("mpirun", rank, size, *local)
    address = LOOPBACK if launch.local_size == size else ""
    return attrs.evolve(launch, **_meeting(environ, address, job)) if size > 1 else launch


def _srun(environ: Environ) -> Launch:
    if environ.get("ENVIRONMENT") == "BATCH" and "SLURM_STEP_NUM_TASKS" not in environ:
        return Launch()  # the batch script itself, which is one process in an allocation of any size
    # A step may have fewer tasks than the allocation.
    count = "SLURM_STEP_NUM_TASKS" if "SLURM_STEP_NUM_TASKS" in environ else "SLURM_NTASKS"
    rank, size = _pair(environ, "SLURM_PROCID", count)
    if size == 1:
        return Launch("srun")
    if "SLURM_LOCALID" not in environ:
        raise _incomplete("SLURM_PROCID", rank, "SLURM_LOCALID")
    local_rank = environment_number("SLURM_LOCALID", 0, environ)
    hosts = next(
        (environ[n] for n in ("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST") if n in environ), ""
    )
    nodes = environment_number("SLURM_NNODES", 1, environ, 2 if re.search(r"[,\[]", hosts) else 1)
    nodes = environment_number("SLURM_STEP_NUM_NODES", 1, environ, nodes)
    address = LOOPBACK if nodes == 1 else first_host(hosts)
    job = f"{environ.get('SLURM_JOB_ID', '')}.{environ.get('SLURM_STEP_ID', '')}".strip(".")
    local_size = size if nodes == 1 else _tasks_here(environ, max(-(-size // nodes), local_rank + 1))
    return Launch("srun", rank, size, local_rank, local_size, **_meeting(environ, address, job))


def _tasks_here(environ: Environ, default: int) -> int:
    """Return the tasks on this node, from lists such as ``4(x2),3``."""
    stated = environ.get("SLURM_STEP_TASKS_PER_NODE") or environ.get("SLURM_TASKS_PER_NODE", "")
    runs = re.findall(r"(\d+)(?:\(x(\d+)\))?", stated)
    tasks = [int(count) for count, repeats in runs for _ in range(int(repeats or 1))]
    node = environment_number("SLURM_NODEID", 0, environ)
    return tasks[node] if node < len(tasks) else default


def first_host(hosts: str) -> str:
    """Return the first host of a list in SLURM's notation.

    Examples
    --------
    >>> first_host("gpu[007-012,20]-ib,login1")
    'gpu007-ib'
    """
    first = re.split(r",(?![^\[]*\])", hosts)[0]
    return re.sub(r"\[(\w+)[^\]]*\]", r"\1", first)


def _pair(environ: Environ, rank: str, size: str) -> tuple[int, int]:
    """Return the numbers that two variables state, neither of which is there without the other."""
    numbers = environment_number(rank, 0, environ), environment_number(size, 1, environ)
    for name, other in ((rank, size), (size, rank)):
        if name not in environ:
            raise _incomplete(other, environ[other], name)
    return numbers


def _meeting(environ: Environ, address: str, job: str) -> dict[str, Any]:
    """Return the address and port where ranks meet: stated, or those of one launch by mpirun or srun."""
    address = environ.get("MASTER_ADDR") or address
    if not address:
        raise OptionError("MASTER_ADDR is not set; expected the host of rank 0, because the launcher does not state it")
    if environ.get("MASTER_PORT"):
        return {"address": address, "port": environment_number("MASTER_PORT", 0, environ)}
    if not job and address != LOOPBACK:
        raise OptionError("MASTER_PORT is not set; expected a free port on the host of rank 0, the same for all ranks")
    # Every process of a launch derives the same port, below those that Linux gives to outgoing connections.
    return {"address": address, "port": 10000 + zlib.crc32((job or str(os.getppid())).encode()) % 20000}


def _incomplete(name: str, stated: object, missing: str) -> OptionError:
    return OptionError(
        f"{name} is {stated} in the environment, but {missing} is not set; set both, as the launcher does, or neither"
    )


LAUNCHERS = {
    ("RANK", "WORLD_SIZE"): _torchrun,
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"): _open_mpi,
    ("PMI_RANK", "PMI_SIZE"): _mpich,
    ("SLURM_PROCID",): _srun,
}
"""Variables that show a launcher, and the function that reads them; the first whose variables are there counts."""
