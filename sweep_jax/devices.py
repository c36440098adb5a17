"""Devices of JAX, and the processes of several hosts: join them as the launcher describes them, and leave them."""

import jax

from sweep_core._util.validators import check_positive, check_whole
from sweep_core.distribution import find_launch
from sweep_core.errors import DeviceError, DistributedError
from sweep_core.typing import Device

KINDS = {"cpu": "cpu", "gpu": "cuda", "cuda": "cuda"}
"""Kernel libraries by the platforms that JAX knows."""


def check_device(device: Device) -> jax.Device:
    """Return a JAX device of this process: `device` itself, or the one that ``'cpu'``, ``'cuda'``, ``'cuda:1'`` names.

    Raises
    ------
    DeviceError
        If there is no such device.
    """
    if isinstance(device, jax.Device):
        return device
    platform, _, index = str(device).partition(":")
    try:
        local = jax.local_devices(backend=platform)
        return local[range(len(local)).index(int(index or 0))]
    except (RuntimeError, ValueError) as error:
        there = ", ".join(sorted({"cpu:0"} | {device_name(d) for d in jax.local_devices()}))
        reason = str(error).split("\n")[0]
        raise DeviceError(f"device {device!r} cannot be used: {reason}; JAX has {there}") from None


def device_name(device: jax.Device) -> str:
    """Return the name of a device that `check_device` reads, such as ``'cpu:0'`` or ``'cuda:1'``."""
    local = jax.local_devices(backend=device.platform)
    number = local.index(device) if device in local else device.id
    return f"{KINDS.get(device.platform, device.platform)}:{number}"


def default_device() -> jax.Device:
    """Return the device on which JAX computes by default."""
    stated = jax.config.jax_default_device  # type: ignore[attr-defined]
    return jax.local_devices()[0] if stated is None else check_device(stated)


def setup_distributed(
    coordinator: str | None = None, size: int | None = None, rank: int | None = None, timeout: float = 300.0
) -> tuple[int, int]:
    """Join the processes of a launcher or of several hosts, before anything else uses JAX.

    Afterwards `jax.devices()` lists the devices of all processes.

    Parameters
    ----------
    coordinator : str, optional
        ``"host:port"`` of the process of rank 0. Without it, `size` and `rank`, the launcher that
        :func:`sweep_core.distribution.find_launch` finds states all three: torchrun, mpirun or srun. If there is none,
        JAX asks its cluster (Kubernetes, TPU).
    size, rank : int, optional
        Number of processes, and the number of this process.
    timeout : float
        Seconds after which joining fails.

    Returns
    -------
    rank, size : int

    Raises
    ------
    OptionError
        If the environment describes a launcher in part.
    DistributedError
        If JAX is in use already, or the other processes cannot be found.
    """
    limit = max(round(check_positive(timeout, "timeout", "a time in s")), 1)
    launch = find_launch() if coordinator is size is rank is None else None
    if launch is not None and launch.size > 1:
        # torchrun itself listens at its port.
        port = launch.port + 1 if launch.launcher == "torchrun" else launch.port
        coordinator, size, rank = f"{launch.address}:{port}", launch.size, launch.rank
    own = [launch.local_rank] if launch is not None and launch.local_size > 1 else None
    try:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(coordinator, size, rank, local_device_ids=own, initialization_timeout=limit)
    except (RuntimeError, ValueError) as error:
        raise DistributedError(
            f"the processes could not join: {error}; call setup_distributed before anything else uses JAX, with "
            "coordinator='host:port', size and rank where no launcher states them"
        ) from error
    return jax.process_index(), jax.process_count()


def teardown_distributed() -> None:
    """Leave the group of processes, if there is one."""
    jax.distributed.shutdown()


def set_virtual_cpu_devices(count: int) -> None:
    """Make JAX see `count` CPU devices, which share this machine's processors. Call it before anything else uses JAX.

    Parameters
    ----------
    count : int
        Number of devices, from 1 on.

    Raises
    ------
    DeviceError
        If JAX already runs with another number of devices.
    """
    check_whole(count, "count", 1, "devices")
    try:
        jax.config.update("jax_num_cpu_devices", count)
    except RuntimeError as error:
        there = len(jax.local_devices(backend="cpu"))
        if there != count:
            raise DeviceError(
                f"count is {count}, but JAX already runs with {there} CPU devices; call this before JAX computes, or "
                f"set XLA_FLAGS=--xla_force_host_platform_device_count={count}"
            ) from error


def local_devices(count: int | None = None) -> tuple[jax.Device, ...]:
    """Return the first `count` devices of this process, or all.

    Parameters
    ----------
    count : int, optional
        Number of devices.

    Returns
    -------
    tuple of jax.Device
        The devices.

    Raises
    ------
    DeviceError
        If there are fewer.
    """
    devices = tuple(jax.local_devices())
    if count is None:
        return devices
    check_whole(count, "count", 1, "devices")
    if count > len(devices):
        raise DeviceError(
            f"count is {count}; expected at most {len(devices)}, the devices of JAX "
            f"({', '.join(map(device_name, devices))}). On a CPU, call set_virtual_cpu_devices({count}) before "
            "anything else uses JAX"
        )
    return devices[:count]
