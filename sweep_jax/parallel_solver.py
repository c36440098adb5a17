"""A solver over several devices of this process: one program, by `jax.shard_map`, runs some of the shots on each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import attrs
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

from sweep_core.acquisition.shots import Shots
from sweep_core.acquisition.snapshots import Snapshots
from sweep_core.distribution import ShotPlan
from sweep_core.errors import DeviceError, UnsupportedError
from sweep_core.execution.call_checks import check_problem_and_shots, check_record
from sweep_core.execution.parallel_solver import ParallelSolver, check_parallel
from sweep_core.execution.wave_solver import Survey
from sweep_core.plugins import Support
from sweep_core.problem import Problem
from sweep_core.typing import Device, Models

from . import native
from .devices import check_device, device_name, local_devices
from .executor import (
    JaxExecutor,
    born,
    check,
    choose_impl,
    place,
    positions_on,
    read,
    readable,
    run,
    values_at_host,
)
from .private import Tracer
from .prop import PropJax

AXIS = "devices"
"""The name of the axis over devices."""


def parallel(solver: PropJax, devices: Sequence[Device]) -> ParallelJax:
    """Return a solver that divides the shots of each call over several devices of this process.

    The result is called as the solver is, and ``invert`` takes it. Arguments, models and results lie on the first
    device, where gradients are summed. Models are copied to the other devices in each call. ``jax.grad``, ``vjp`` and
    ``jvp`` of a function that calls it work; ``jit`` and ``vmap`` do not.

    Parameters
    ----------
    solver : PropJax
        The solver, on the first device or on no device of its own.
    devices : sequence of str or jax.Device
        The devices, such as ``["cuda:0", "cuda:1"]``, each of them once. On a CPU
        :func:`sweep_jax.distribution.set_virtual_cpu_devices` makes several.

    Returns
    -------
    ParallelJax
        The solver over the devices.

    Raises
    ------
    OptionError
        `solver` is no PropJax.
    DeviceError
        A device does not exist or is named twice, or the solver is not on the first one.
    UnsupportedError
        A device cannot run the problem by the implementation of the solver.

    Examples
    --------
    >>> from sweep_core import Acoustic
    >>> from sweep_jax import PropJax, parallel
    >>> solver = PropJax(Acoustic(), shape=(30, 40), dh=10.0, dt=0.001, pml_width=8)
    >>> both = parallel(solver, devices=["cuda:0", "cuda:1"])  # doctest: +SKIP
    """
    return ParallelJax(solver, devices)


class ParallelJax(ParallelSolver[jax.Array]):
    """The result of :func:`parallel`: a solver over several devices.

    Parameters
    ----------
    solver : PropJax
        The solver, on the first device or on no device of its own.
    devices : sequence of str or jax.Device
        The devices.
    """

    __call__ = ParallelSolver[jax.Array].forward

    def __init__(self, solver: PropJax, devices: Sequence[Device]) -> None:
        self.devices = _distinct(check_parallel(solver, PropJax, devices))
        if solver.device not in (None, self.devices[0]):
            raise DeviceError(
                f"the solver is on {device_name(solver.device)}; expected {device_name(self.devices[0])}, the first of "
                "devices; make the solver there, or name its device first"
            )
        for device in self.devices:
            choose_impl(solver.problem, solver._requested, device)
        self.solver, self.problem = solver, solver.problem

    @property
    def executor(self) -> DevicesExecutor:
        """The backend over these devices: a :class:`sweep_core.Executor`, which an inversion calls."""
        return DevicesExecutor(self.solver._requested, self.devices)

    def _record(self, survey: Survey, models: Any, snapshots: Snapshots | None) -> Any:
        shots = Shots(*survey)
        record, waves = run_on_devices(self.problem, self.solver._requested, shots, models, self.devices, snapshots)
        self.solver._caution(values_at_host, models, shots)
        return record if snapshots is None else (record, {field: waves[field] for field in snapshots.fields})

    def _born(self, survey: Survey, models: Any, perturbations: Any, d_wavelet: Any) -> Any:
        shots = Shots(*survey)
        record = self.executor._born(self.problem, shots, models, perturbations, d_wavelet)
        self.solver._caution(values_at_host, models, shots)
        return record


class DevicesExecutor(JaxExecutor):
    """An executor that divides the shots of each call over devices of this process, by `jax.shard_map`.

    Parameters
    ----------
    impl : {'auto', 'c', 'eager'}
        Compiled code, operations of JAX, or compiled code if it can run a problem.
    devices : sequence of str or jax.Device, optional
        All of :func:`local_devices` by default. Results lie on the first one.

    Raises
    ------
    OptionError, DeviceError
        For an unknown `impl`, or a device that does not exist or is named twice.
    """

    def __init__(self, impl: str = "auto", devices: Sequence[Device] | None = None) -> None:
        self.devices = _distinct(local_devices() if devices is None else devices)
        super().__init__(impl, self.devices[0])

    def supports(self, problem: Problem) -> Support:
        answers = [JaxExecutor(self.impl, device).supports(problem) for device in self.devices]
        return min(answers, key=bool)  # the first that refuses

    def forward(self, problem: Problem, shots: Shots, models: Models) -> jax.Array:
        check_problem_and_shots(problem, shots)
        return run_on_devices(problem, self.impl, shots, models, self.devices)[0]

    def born(self, problem: Problem, shots: Shots, models: Models, perturbations: Models) -> jax.Array:
        check_problem_and_shots(problem, shots)
        return self._born(problem, shots, models, perturbations)

    def _born(self, problem: Problem, shots: Shots, models: Any, perturbations: Any, d_wavelet: Any = None) -> Any:
        def forward(problem: Problem, impl: str, shots: Shots, models: Any, device: jax.Device) -> Any:
            return run_on_devices(problem, impl, shots, models, self.devices)

        return born(problem, self.impl, shots, models, perturbations, self.device, d_wavelet, forward)


def _distinct(devices: Sequence[Device]) -> tuple[jax.Device, ...]:
    checked = tuple(map(check_device, devices))
    if len(set(checked)) < len(checked):
        raise DeviceError(
            f"devices are {', '.join(map(device_name, checked))}; expected each device once; on a CPU, call "
            "sweep_jax.distribution.set_virtual_cpu_devices(n) before anything else uses JAX"
        )
    return checked


def run_on_devices(
    problem: Problem,
    impl: str,
    shots: Shots,
    models: Any,
    devices: Sequence[jax.Device],
    snapshots: Snapshots | None = None,
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Return (record, snapshots by field) on the first device; see :func:`sweep_jax.executor.run`."""
    device = devices[0]
    shape, shots, models = check(problem, shots, models, device, snapshots)
    if not shape.shots:
        return run(problem, impl, shots, models, device, snapshots)[:2]
    arrays = {"wavelet": shots.wavelet} | {f"model {i}": m for i, m in enumerate(models)}
    for name, x in arrays.items():
        if readable(x) is None and isinstance(native.without_gradient(x), Tracer):
            raise UnsupportedError(
                f"{name} is traced by jit or vmap, which run on one set of devices; expected a call outside of them; "
                "inside use jax.shard_map, as the page howto/jax-devices of the documentation shows"
            )
    arrays |= {name: positions_on(name, getattr(shots, name), device) for name in ("sources", "receivers")}
    if shots.mask is not None:
        arrays["mask"] = place("receiver_mask", shots.mask, device)
    own = {f"model {i}": m.ndim > problem.grid.ndim for i, m in enumerate(models)}
    own |= {"wavelet": shots.wavelet.ndim - shape.by_field > 1, "receivers": shots.receivers.ndim > 2}
    plan = ShotPlan(shape.shots, min(len(devices), shape.shots))
    there, here = _sharding(tuple(devices[: plan.size])), SingleDeviceSharding(device)
    rows, weights = plan.padded()

    def parts(name: str, x: Any) -> Any:
        x = jnp.asarray(x)
        x = x[rows] if own.get(name, True) else jnp.broadcast_to(x, (plan.size, *x.shape))
        return jax.device_put(x, there, src=here)

    program = _program(attrs.evolve(problem, check_finite=False), impl, there, len(models), snapshots)
    with native.refusals(problem.memory):
        results = program({name: parts(name, x) for name, x in arrays.items()})
        used = np.flatnonzero(weights)
        record, waves = jax.tree.map(lambda x: jax.device_put(x, here, src=there)[used], results)
        check_record(problem, readable(record), partial(read, record))
    return record, waves


@lru_cache
def _sharding(devices: tuple[jax.Device, ...]) -> NamedSharding:
    return NamedSharding(Mesh(np.array(devices), (AXIS,)), PartitionSpec(AXIS))


@lru_cache
def _program(problem: Problem, impl: str, there: NamedSharding, models: int, snapshots: Any) -> Any:
    """Return the function of arrays with a part for each device: the rows of its shots, or a copy of a shared array.

    Nothing is summed inside: devices that wait for each other in a program give up after some seconds.
    """

    def on_device(arrays: dict[str, Any]) -> Any:
        arrays = {name: x[0] for name, x in arrays.items()}
        earths = [arrays.pop(f"model {i}") for i in range(models)]
        return run(problem, impl, Shots(**arrays), earths, None, snapshots)[:2]

    mapped = jax.shard_map(on_device, mesh=there.mesh, in_specs=there.spec, out_specs=there.spec, check_vma=False)
    return jax.jit(mapped)
