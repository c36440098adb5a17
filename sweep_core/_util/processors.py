"""The processors of this process, and the CPU threads of a call by default."""

import math
import os
from functools import lru_cache
from pathlib import Path

from ..errors import OptionError
from .control_groups import V2, group_folders
from .launcher import Environ, Launch, find_launch


def processor_count(root: str | os.PathLike[str] = "/") -> int:
    """Return the number of processors that this process may use.

    The system may bind this process to some processors (its affinity). The control group of this process and its
    parents may limit the processor time in a unit of time (quotas). The number is the least of these.

    Parameters
    ----------
    root : path-like
        Folder of proc and sys.

    Returns
    -------
    int
        1 or more; a part of a processor counts as one.
    """
    return _within_quota(_own_count(os.environ), Path(root))


def thread_count(
    launch: Launch | None = None, environ: Environ | None = None, root: str | os.PathLike[str] = "/"
) -> int:
    """Return the CPU threads of a call by default: the share of this process in the processors of its host.

    The first of these rules that applies counts:

    1. OMP_NUM_THREADS, except for the 1 that torchrun itself sets.
    2. SLURM_CPUS_PER_TASK, at most :func:`processor_count`. Processes that torchrun or mpirun starts in a task
       divide it.
    3. Processes that a launcher starts on a host divide the processors there, and none has more than its own affinity.
    4. A process without a launcher has :func:`processor_count`.

    Parameters
    ----------
    launch : Launch, optional
        The place of this process in its group, by default that of :func:`sweep_core.distribution.find_launch`.
    environ : mapping of str to str, optional
        The environment of this process by default.
    root : path-like
        Folder of proc and sys.

    Returns
    -------
    int
        1 or more.
    """
    environ = os.environ if environ is None else environ
    launch = launch or _launch(environ)
    stated = _number(environ.get("OMP_NUM_THREADS", "").split(",")[0])
    if stated and (stated > 1 or launch.launcher != "torchrun"):
        return stated
    own, parent = _own_count(environ), affinity_count(os.getppid())
    own, host = (_within_quota(count, Path(root)) for count in (own, max(own, parent)))
    of_task = _number(environ.get("SLURM_CPUS_PER_TASK", ""))
    if of_task and launch.launcher in ("srun", "no launcher"):
        return min(of_task, own)
    if of_task and "SLURM_STEP_NUM_TASKS" in environ:  # a launcher inside a task of srun, not in the batch script
        host = min(of_task, host)
    return min(own, max(host // launch.local_size, 1))


def affinity_count(process: int = 0) -> int:
    """Return the number of processors to which the system binds a process; 0 is this process.

    A launcher may bind each rank to some processors, and then the parent process has those of all ranks.
    """
    try:
        return len(os.sched_getaffinity(process))
    except (AttributeError, OSError):  # no Linux; no such process
        return os.cpu_count() or 1 if process == 0 else 1


def _own_count(environ: Environ) -> int:
    """Return the affinity of this process, also where OpenMP has bound its first thread to one processor."""
    names = "OMP_PLACES", "GOMP_CPU_AFFINITY"
    binds = environ.get("OMP_PROC_BIND", "false").lower() != "false" or any(name in environ for name in names)
    return max(affinity_count(), affinity_count(os.getppid())) if binds else affinity_count()


def _launch(environ: Environ) -> Launch:
    try:
        return find_launch(environ)
    except OptionError:  # setup_distributed raises it; a run without it is a process alone
        return Launch()


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _within_quota(count: int, root: Path) -> int:
    return max(min([count, *map(math.ceil, _quotas(root))]), 1)


@lru_cache(maxsize=8)
def _quotas(root: Path) -> list[float]:
    """Return the limits of all groups, which are read once, because a call asks for its threads."""
    return [quota for version, folder in group_folders(root, "cpu") if (quota := _quota(version, folder))]


def _quota(version: int, folder: Path) -> float | None:
    """Return the processors whose time a control group may use; None without a limit."""
    try:
        if version == V2:
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return int(quota) / int(period) if int(quota) > 0 and int(period) > 0 else None
    except (OSError, ValueError):  # no such files, or "max"
        return None
