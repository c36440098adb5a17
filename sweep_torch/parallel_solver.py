"""A solver over several devices of this process: a thread for each device runs some of the shots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import torch

from sweep_core._util.threads import run_in_threads
from sweep_core.acquisition.shots import Shots
from sweep_core.acquisition.snapshots import Snapshots
from sweep_core.distribution import ShotPlan
from sweep_core.errors import DeviceError
from sweep_core.execution.call_checks import check_perturbations, check_problem_and_shots
from sweep_core.execution.parallel_solver import ParallelSolver, check_parallel
from sweep_core.execution.wave_solver import Survey
from sweep_core.plugins import Support
from sweep_core.problem import Problem
from sweep_core.typing import Device, Models

from .compiling import outside_dynamo
from .devices import check_device
from .executor import TorchExecutor, born, check_arguments, choose_impl, run, values_at_host
from .memory import sharing
from .private import is_traced, is_transformed
from .prop import PropTorch
from .threads import cpu_threads


def parallel(solver: PropTorch, devices: Sequence[Device]) -> ParallelTorch:
    """Return a solver that divides the shots of each call over several devices of this process.

    The result is called as the solver is, and ``invert`` takes it. Arguments, models and results lie on the first
    device, where gradients are summed. Models are copied to the other devices in each call.

    Parameters
    ----------
    solver : PropTorch
        The solver, on the first device.
    devices : sequence of str or torch.device
        The devices, such as ``["cuda:0", "cuda:1"]``. A device that is named n times runs n parts of the shots at once.
        On a CPU each part has its share of the threads.

    Returns
    -------
    ParallelTorch
        A module with the parameters of the solver.

    Raises
    ------
    OptionError
        `solver` is no PropTorch.
    DeviceError
        A device does not exist, or the solver is not on the first one.
    UnsupportedError
        A device cannot run the problem by the implementation of the solver.

    Examples
    --------
    >>> import torch
    >>> from sweep_core import Acoustic, ricker
    >>> from sweep_torch import PropTorch, parallel
    >>> solver = PropTorch(Acoustic(), shape=(30, 40), dh=10.0, dt=0.001, pml_width=8, impl="eager")
    >>> both = parallel(solver, devices=["cpu", "cpu"])
    >>> wavelet = torch.tensor(ricker(20.0, nt=50, dt=0.001), dtype=torch.float32)
    >>> sources, receivers = torch.tensor([[10, 2], [20, 2], [30, 2]]), torch.tensor([[5, 2], [25, 2]])
    >>> vp = torch.full((30, 40), 2000.0)
    >>> torch.equal(both(wavelet, sources, receivers, [vp]), solver(wavelet, sources, receivers, [vp]))
    True
    """
    return ParallelTorch(solver, devices)


class ParallelTorch(ParallelSolver[torch.Tensor], torch.nn.Module):
    """The result of :func:`parallel`: a solver over several devices, with the parameters of the solver.

    Parameters
    ----------
    solver : PropTorch
        The solver, on the first device.
    devices : sequence of str or torch.device
        The devices.
    """

    if TYPE_CHECKING:
        __call__ = ParallelSolver[torch.Tensor].forward  # torch.nn.Module declares no arguments

    def __init__(self, solver: PropTorch, devices: Sequence[Device]) -> None:
        super().__init__()
        self.devices = tuple(map(check_device, check_parallel(solver, PropTorch, devices)))
        if solver.device != self.devices[0]:
            raise DeviceError(
                f"the solver is on {solver.device}; expected {self.devices[0]}, the first of devices; move the solver "
                "there, or name its device first"
            )
        for device in self.devices:
            choose_impl(solver.problem, solver._requested, device)
        self.solver, self.problem = solver, solver.problem

    @property
    def executor(self) -> DevicesExecutor:
        """The backend over these devices: a :class:`sweep_core.Executor`, which an inversion calls."""
        return DevicesExecutor(self.solver._requested, self.devices)

    @outside_dynamo
    def _record(self, survey: Survey, models: Any, snapshots: Snapshots | None) -> Any:
        shots = Shots(*survey)
        impl = self.solver._requested
        record, fields, self._flags = run_on_devices(self.problem, impl, shots, models, self.devices, snapshots)
        self.solver._caution(values_at_host, models, shots)
        return record if snapshots is None else (record, fields)

    @outside_dynamo
    def _born(self, survey: Survey, models: Any, perturbations: Any, d_wavelet: Any) -> Any:
        shots, impl = Shots(*survey), self.solver._requested
        record = born_on_devices(self.problem, impl, shots, models, perturbations, self.devices, d_wavelet)
        self.solver._caution(values_at_host, models, shots)
        return record


class DevicesExecutor(TorchExecutor):
    """An executor that divides the shots of each call over devices of this process, by a thread for each device.

    Parameters
    ----------
    impl : {'auto', 'c', 'eager'}
        Compiled code, operations of torch, or compiled code if it can run a problem.
    devices : sequence of str or torch.device
        The devices. Results lie on the first one.

    Raises
    ------
    OptionError, DeviceError
        For an unknown `impl`, or a device that does not exist.
    """

    def __init__(self, impl: str, devices: Sequence[Device]) -> None:
        self.devices = tuple(map(check_device, devices))
        super().__init__(impl, self.devices[0])

    def supports(self, problem: Problem) -> Support:
        answers = [TorchExecutor(self.impl, device).supports(problem) for device in dict.fromkeys(self.devices)]
        return min(answers, key=bool)  # the first that refuses

    def _run(self, problem: Problem, shots: Shots, models: Any) -> Any:
        check_problem_and_shots(problem, shots)
        placed = attrs.evolve(shots, wavelet=self.array(shots.wavelet, "wavelet"))
        return run_on_devices(problem, self.impl, placed, models, self.devices)[0]

    def born(self, problem: Problem, shots: Shots, models: Models, perturbations: Models) -> torch.Tensor:
        check_problem_and_shots(problem, shots)
        models, perturbations = self._arrays(models, "model"), self._arrays(perturbations, "perturbation")
        placed = attrs.evolve(shots, wavelet=self.array(shots.wavelet, "wavelet"))
        return born_on_devices(problem, self.impl, placed, models, perturbations, self.devices)


def run_on_devices(
    problem: Problem,
    impl: str,
    shots: Shots,
    models: Any,
    devices: Sequence[torch.device],
    snapshots: Snapshots | None = None,
) -> tuple[torch.Tensor, dict[str, torch.Tensor], list[torch.Tensor | None]]:
    """Return (record, snapshots by field, flag of each part); see :func:`sweep_torch.executor.run`."""
    shape, _ = check_arguments(problem, shots, models, devices[0], snapshots)
    parts = _Parts.of(shape.shots, devices)
    own = parts.shots(shots, shape.by_field)
    earths = [parts.arrays(m, m.ndim > problem.grid.ndim) for m in models]
    calls = [
        partial(run, problem, parts.impl(problem, impl, rank), own[rank], [m[rank] for m in earths], device, snapshots)
        for rank, device in enumerate(parts.devices)
    ]
    records, waves, flags = zip(*parts.at_once(calls, shots.wavelet, *models), strict=True)
    fields = {field: parts.joined([part[field] for part in waves]) for field in waves[0]}
    return parts.joined(records), fields, list(flags)


def born_on_devices(
    problem: Problem,
    impl: str,
    shots: Shots,
    models: Any,
    perturbations: Any,
    devices: Sequence[torch.device],
    wavelet: Any = None,
) -> torch.Tensor:
    """Return the derivative of the record in a direction; see :func:`sweep_torch.executor.born`."""
    shape, _ = check_arguments(problem, shots, models, devices[0])
    check_perturbations(problem, models, perturbations, shots.wavelet, wavelet)
    parts = _Parts.of(shape.shots, devices)
    own = parts.shots(shots, shape.by_field)
    is_own = shots.wavelet.ndim - shape.by_field > 1
    waves = [None] * parts.plan.size if wavelet is None else parts.arrays(wavelet, is_own)
    earths, varied = (
        [parts.arrays(m, m.ndim > problem.grid.ndim) for m in arrays] for arrays in (models, perturbations)
    )
    calls = [
        partial(
            born, problem, parts.impl(problem, impl, rank), own[rank], [m[rank] for m in earths],
            [m[rank] for m in varied], device, waves[rank],
        )
        for rank, device in enumerate(parts.devices)
    ]  # fmt: skip
    directions = [] if wavelet is None else [wavelet]
    return parts.joined(parts.at_once(calls, shots.wavelet, *models, *perturbations, *directions))


@attrs.frozen
class _Parts:
    """The shots of a call over the first devices, one device for each part of the plan."""

    plan: ShotPlan
    devices: Sequence[torch.device]

    @classmethod
    def of(cls, nshots: int, devices: Sequence[torch.device]) -> _Parts:
        """Return the parts of a call; no part is empty, unless there are no shots."""
        size = min(len(devices), max(nshots, 1))
        return cls(ShotPlan(nshots, size), devices[:size])

    def impl(self, problem: Problem, impl: str, rank: int) -> str:
        """Return ``'c'`` or ``'eager'`` for a part."""
        return choose_impl(problem, impl, self.devices[rank])[0]

    def arrays(self, x: torch.Tensor, is_own: bool) -> list[torch.Tensor]:
        """Return the array of each part on its device: the rows of its shots, or all of an array that shots share."""
        if is_own:
            pieces = x.split([len(self.plan.part(rank)) for rank in range(self.plan.size)])
        else:  # not n uses of x: autograd would sum their gradients in the order of their arrival
            pieces = x.expand(self.plan.size, *x.shape).unbind()
        return [piece.to(device) for piece, device in zip(pieces, self.devices, strict=True)]

    def shots(self, shots: Shots, by_field: bool) -> list[Shots]:
        """Return the shots of each part, their wavelets on its device."""
        waves = self.arrays(shots.wavelet, shots.wavelet.ndim - by_field > 1)
        rest = attrs.evolve(shots, wavelet=shots.wavelet.new_empty(0))
        some = [rest.take(list(self.plan.part(rank))) for rank in range(self.plan.size)]
        return [attrs.evolve(part, wavelet=wave) for part, wave in zip(some, waves, strict=True)]

    def joined(self, parts: Sequence[torch.Tensor]) -> torch.Tensor:
        """Return the rows of all parts in the order of the shots, on the first device."""
        return torch.cat([part.to(self.devices[0]) for part in parts])

    def at_once(self, calls: Sequence[Callable[[], Any]], *tensors: torch.Tensor) -> list[Any]:
        """Return the results of the calls of all parts, which run at once.

        Transforms of `tensors` by torch.func, and tracers, belong to this thread, so their parts run one by one.
        """
        if len(calls) == 1 or is_transformed(*tensors) or is_traced():
            return [call() for call in calls]
        threads, count = torch.get_num_threads(), Counter(self.devices)
        share = max(cpu_threads() // max(count[torch.device("cpu")], 1), 1)
        gradient = torch.is_grad_enabled()
        streams = {d: torch.cuda.current_stream(d) for d in self.devices if d.type == "cuda"}

        def on_device(call: Callable[[], Any], device: torch.device) -> Any:
            with ExitStack() as state:  # what torch keeps for each thread
                state.enter_context(torch.set_grad_enabled(gradient))
                state.enter_context(sharing(count[device]))
                if device in streams:
                    state.enter_context(torch.cuda.stream(streams[device]))
                else:
                    torch.set_num_threads(share)
                return call()

        try:
            return run_in_threads([partial(on_device, *pair) for pair in zip(calls, self.devices, strict=True)])
        finally:
            torch.set_num_threads(threads)  # the number is also that of threads to come
