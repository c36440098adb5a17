"""Shots over devices: misfits by `jax.pmap`, which only this file uses, and the verbs of the protocol.

Arrays with one part per device have a leading axis of the devices; shared arrays are replicated.
"""

from functools import lru_cache

import attrs
import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from sweep_core.acquisition.shots import Shots
from sweep_core.distribution import ShotPlan, check_plan
from sweep_core.errors import DtypeError, ShapeError
from sweep_core.execution.call_checks import check_call
from sweep_core.misfit import check_like_record

from .devices import local_devices, set_virtual_cpu_devices, setup_distributed, teardown_distributed
from .executor import check_readable, refuse_rounding
from .parallel_solver import DevicesExecutor

__all__ = [
    "DevicesExecutor",
    "JaxDistributor",
    "local_devices",
    "make_misfit_and_gradient",
    "replicate",
    "set_virtual_cpu_devices",
    "setup_distributed",
    "shard_shots",
    "teardown_distributed",
]

AXIS = "devices"
"""The name of the axis over devices, for collectives inside `jax.pmap`."""


@lru_cache
def _sharding(devices, *axes) -> NamedSharding:
    return NamedSharding(Mesh(np.array(devices), (AXIS,)), PartitionSpec(*axes))


def replicate(x, devices):
    """Return an array, or a list of arrays, on every device, without a leading axis; NumPy arrays are copied.

    Parameters
    ----------
    x : array or list of arrays
        The arrays.
    devices : sequence of jax.Device
        The devices.

    Returns
    -------
    jax.Array or list of jax.Array
        The same arrays, replicated.

    Raises
    ------
    DtypeError
        JAX would round float64 to float32.
    """
    for leaf in jax.tree.leaves(x):
        refuse_rounding("x", leaf)
    own = jax.tree.map(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, x)
    return jax.device_put(own, _sharding(tuple(devices)))


def shard_shots(plan: ShotPlan, x, devices) -> tuple[jax.Array, jax.Array]:
    """Distribute x, whose first axis counts shots, over the devices.

    Parameters
    ----------
    plan : ShotPlan
        The shots of each device.
    x : (nshots, ...) array
        Values of all shots.
    devices : sequence of jax.Device
        The devices.

    Returns
    -------
    (ndevices, longest, ...) array
        Parts of equal length; a short part repeats a shot.
    (ndevices, longest) array
        Weights: 1, and 0 for repeated shots.

    Raises
    ------
    ShapeError, DtypeError
        `x` or `devices` does not fit the plan, or JAX would round float64 to float32.
    """
    _check_count(plan, x, devices)
    refuse_rounding("x", x)
    positions, weights = plan.padded()
    sharding = _sharding(tuple(devices), AXIS)
    weights = weights.astype(jax.dtypes.canonicalize_dtype(float))
    return jax.device_put(np.asarray(x)[positions], sharding), jax.device_put(weights, sharding)


def _check_count(plan, x, devices):
    if plan.size != len(devices):
        raise ShapeError(f"plan.size is {plan.size}; expected {len(devices)}, the number of devices")
    if x.shape[0] != plan.count:
        raise ShapeError(f"the number of shots is {x.shape[0]}; expected {plan.count}, as in the plan")


def make_misfit_and_gradient(solver, devices):
    """Return a function that models shots on many devices and sums their misfits and gradients.

    Parameters
    ----------
    solver : PropJax or callable
        Called on each device as ``solver(wavelet, sources, receivers, models=models)``.
    devices : sequence of jax.Device

    Returns
    -------
    callable
        ``f(models, wavelet, sources, receivers, observed, weights) -> (misfit, gradients)``: the sum over all shots of
        0.5 weight (synthetic - observed)^2, and its derivative in each model, replicated. Everything but the models
        comes from :func:`shard_shots`; a wavelet (nt,) and receivers (nrec, ndim) for all shots are passed unchanged.
    """
    devices = tuple(devices)

    def local(models, wavelet, sources, receivers, observed, weights):
        def misfit(models):
            record = solver(wavelet, sources, receivers, models=models)
            check_like_record("observed on a device", observed, record)
            residual = record - observed
            each = 0.5 * (residual * residual).sum(axis=tuple(range(1, residual.ndim)))
            return (weights.astype(each.dtype) * each).sum()

        return jax.value_and_grad(misfit)(models)

    @lru_cache
    def program(*in_axes):
        return jax.pmap(local, AXIS, in_axes=(None, *in_axes), devices=devices)

    def misfit_and_gradient(models, wavelet, sources, receivers, observed, weights):
        if not isinstance(models, list | tuple):
            raise DtypeError(f"models is a {type(models).__name__}; expected a list, such as [vp]")
        own = {"sources": sources, "observed": observed, "weights": weights}
        own |= {"wavelet": wavelet} if wavelet.ndim > 1 else {}
        own |= {"receivers": receivers} if receivers.ndim > 2 else {}
        for name, x in own.items():
            if x.shape[:2] != weights.shape:
                raise ShapeError(f"{name} have shape {x.shape}; expected {weights.shape} + ..., as shard_shots returns")
        arrays = {"wavelet": wavelet, "sources": sources, "receivers": receivers}
        if hasattr(solver, "problem"):
            _check_parts(solver.problem, arrays, own, weights, models)
        axes = [0 if name in own else None for name in arrays]
        placed = [x if name in own else replicate(x, devices) for name, x in arrays.items()]
        parts = program(*axes, 0, 0)(replicate(list(models), devices), *placed, observed, weights)
        # Devices that wait for each other inside a program give up after some seconds, so the host waits for all first.
        return _sum(devices, None)(jax.block_until_ready(parts))

    return misfit_and_gradient


def _check_parts(problem, arrays, own, weights, models):
    """Check the shots of this process as a call does: under pmap a solver sees no values."""
    used = _local(weights) > 0
    wavelet, sources, receivers = (_local(x)[used] if name in own else x for name, x in arrays.items())
    shots = Shots(wavelet, sources, receivers)
    check_readable(problem, check_call(problem, shots, models), shots, models)


def _joined(plan: ShotPlan, parts) -> np.ndarray:
    """Return (size, longest, ...) as (count, ...), without the padding."""
    whole = np.concatenate([np.asarray(parts[rank])[: len(plan.part(rank))] for rank in range(plan.size)])
    return plan.in_order(whole)


def _local(x) -> np.ndarray:
    return np.concatenate([np.asarray(shard.data) for shard in x.addressable_shards])


@attrs.frozen
class JaxDistributor:
    """The protocol of :class:`sweep_core.distribution.Distributor` over devices of one process.

    A value of rank 0 is a plain array; values of every rank have a leading axis of the devices. Parts of a plan are
    padded with zeros to equal length.
    """

    devices: tuple[jax.Device, ...] = attrs.field(factory=local_devices, converter=tuple)

    @property
    def rank(self) -> int:
        return 0

    @property
    def size(self) -> int:
        return len(self.devices)

    @property
    def device(self) -> jax.Device:
        """Device of rank 0, on which values of rank 0 alone lie."""
        return self.devices[0]

    def scatter(self, plan: ShotPlan, x) -> jax.Array:
        """Return (count, ...) as (size, longest, ...)."""
        check_plan(self, plan, x.shape[0])
        x = np.asarray(x)
        parts = np.zeros((self.size, plan.longest, *x.shape[1:]), x.dtype)
        for rank in range(self.size):
            part = list(plan.part(rank))
            parts[rank, : len(part)] = x[part]
        return jax.device_put(parts, _sharding(self.devices, AXIS))

    def gather(self, plan: ShotPlan, part) -> jax.Array:
        """Return (size, longest, ...) as (count, ...), without the padding."""
        if part.shape[:2] != (self.size, plan.longest):
            raise ShapeError(
                f"parts have shape {part.shape}; expected {(self.size, plan.longest)} + ..., as in the plan"
            )
        return jax.device_put(_joined(plan, part), self.devices[0])

    def broadcast(self, x) -> jax.Array:
        """Return (...) as (size, ...)."""
        return jax.device_put(np.stack([np.asarray(x)] * self.size), _sharding(self.devices, AXIS))

    def reduce(self, x) -> jax.Array:
        """Return the sum over ranks: (size, ...) -> (...)."""
        return self.all_reduce(x)[0]

    def all_reduce(self, x) -> jax.Array:
        """Return the sum over ranks for each device: (size, ...) -> (size, ...)."""
        return _sum(self.devices, 0)(x)

    def all_gather(self, plan: ShotPlan, part) -> jax.Array:
        """Return (size, longest, ...) as (size, count, ...)."""
        return self.broadcast(self.gather(plan, part))

    def barrier(self) -> None:
        jax.block_until_ready(self.all_reduce(np.zeros((self.size,), np.int32)))


@lru_cache
def _sum(devices, out_axes):
    return jax.pmap(lambda x: lax.psum(x, AXIS), AXIS, out_axes=out_axes, devices=devices)
