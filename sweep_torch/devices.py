"""Devices of torch, and the process group: join it as the launcher describes it, and leave it."""

import atexit
import os
import signal
import threading
import time
from datetime import timedelta
from functools import cache

import torch
import torch.distributed as dist

from sweep_core._util.processors import thread_count
from sweep_core._util.validators import check_positive
from sweep_core.distribution import Launch, find_launch
from sweep_core.errors import DeviceError, DistributedError, OptionError
from sweep_core.typing import Device

from .threads import has_own_number


def check_device(device: Device) -> torch.device:
    """Return a torch device that exists here; raise DeviceError otherwise."""
    try:
        checked = torch.device(device)
        torch.empty(0, device=checked)
    except (RuntimeError, TypeError, ValueError, OverflowError, AssertionError) as error:
        reason = str(error).split("\n")[0]
        raise DeviceError(f"device {device!r} cannot be used: {reason}; 'cpu' is always available") from None
    if checked.type == "cuda" and checked.index is None:
        checked = torch.device("cuda", torch.cuda.current_device())
    return checked


def setup_distributed(device: str = "auto", timeout: float | None = None) -> tuple[int, int, torch.device]:
    """Join the process group that the launcher describes, also one of a single process.

    The launcher is the one that :func:`sweep_core.distribution.find_launch` finds: torchrun, mpirun or srun. If the
    script has made a process group itself, that group is used as it is. The process leaves the group at its end, or at
    :func:`teardown_distributed`. A process that torchrun started ends with it,
    also where torchrun is killed. Other launchers (mpirun, srun) end their processes themselves.

    Parameters
    ----------
    device : {'auto', 'cpu', 'cuda'}
        ``'auto'`` takes one GPU for each local process where there are enough, otherwise the CPU.
    timeout : float, optional
        Seconds after which joining, and later each collective operation, fails instead of waiting for a rank that does
        not answer. The default is that of torch: 30 minutes with Gloo, 10 minutes with NCCL.

    Returns
    -------
    rank, world_size : int
    device : torch.device
        Device of this process; NCCL connects GPUs, Gloo CPUs. On CPUs torch gets the threads of
        :func:`sweep_core.native.thread_count`, this process' share of the host, unless the script has set a number.

    Raises
    ------
    OptionError
        If `device` or `timeout` is unknown, or the environment describes a launcher in part.
    DeviceError
        If this process has no GPU of its own.
    DistributedError
        If the processes cannot join.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise OptionError(f"device is {device!r}; expected 'auto', 'cpu' or 'cuda'")
    limit = None if timeout is None else timedelta(seconds=check_positive(timeout, "timeout", "a time in s"))
    launch, gpus = current_launch(), torch.cuda.device_count()
    # srun --gpus-per-task=1 shows each process its own GPU alone.
    bound = launch.launcher == "srun" and gpus == 1 and "SLURM_GPUS_PER_TASK" in os.environ
    own_gpu = 0 if bound else launch.local_rank
    if device == "cuda" and own_gpu >= gpus:
        raise DeviceError(
            f"local rank {launch.local_rank} has no GPU of its own: {gpus} found; start fewer processes or use 'cpu'"
        )
    kind = "cuda" if device == "cuda" or (device == "auto" and (bound or gpus >= launch.local_size)) else "cpu"
    own = check_device(f"cuda:{own_gpu}" if kind == "cuda" else "cpu")
    if kind == "cuda":
        torch.cuda.set_device(own)
    elif launch.local_size > 1 and not has_own_number():
        torch.set_num_threads(thread_count(launch))
    if "TORCHELASTIC_RUN_ID" in os.environ:
        end_with_launcher()
    if not dist.is_initialized():
        try:
            dist.init_process_group(
                "nccl" if kind == "cuda" else "gloo",
                store=_store(launch, limit), rank=launch.rank, world_size=launch.size, timeout=limit,
            )  # fmt: skip
        except (RuntimeError, ValueError) as error:
            raise DistributedError(
                f"{launch} could not join: {error}; start every process by the same launcher, with a port that is free"
            ) from error
        atexit.register(teardown_distributed)  # threads of Gloo abort a process that ends inside a group
    return launch.rank, launch.size, own


def current_launch() -> Launch:
    """Return the place of this process in the group that exists, or else in that of the launcher."""
    if not (dist.is_available() and dist.is_initialized()):
        return find_launch()
    rank, size = dist.get_rank(), dist.get_world_size()
    launch = find_launch()
    if (launch.rank, launch.size) == (rank, size):
        return launch
    # A group that a script made for itself tells nothing about hosts: take its processes for those of one host.
    return Launch("an existing process group", rank, size, rank, size)


def _store(launch: Launch, timeout: timedelta | None) -> dist.Store:
    """Return the store in which ranks find each other; a prefix separates the attempts of a launcher that restarts."""
    if launch.size == 1:
        return dist.HashStore()
    agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    store = dist.TCPStore(
        launch.address, launch.port, launch.size, is_master=launch.rank == 0 and not agent,
        timeout=timeout or dist.default_pg_timeout, multi_tenant=True,
    )  # fmt: skip
    return dist.PrefixStore(f"sweep/attempt{launch.attempt}", store)


@cache
def end_with_launcher(every: float = 0.2) -> None:
    """Kill this process once its parent process has ended; a thread checks every `every` seconds."""
    launcher = os.getppid()

    def watch():
        while os.getppid() == launcher:
            time.sleep(every)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, name="end with launcher", daemon=True).start()


def teardown_distributed() -> None:
    """Leave the process group, if there is one."""
    if dist.is_initialized():
        dist.destroy_process_group()
