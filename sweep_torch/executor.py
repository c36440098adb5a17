"""The torch backend: choose compiled or eager code, check a call, run it."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache, partial, wraps
from typing import Any, TypeVar, cast

import attrs
import numpy as np
import torch

from sweep_core import compiled_support
from sweep_core._util.validators import check_choice
from sweep_core.acquisition.call_shape import CallShape
from sweep_core.acquisition.receivers import empty_record, finalise_record
from sweep_core.acquisition.shots import Shots, samples_of
from sweep_core.acquisition.snapshots import Snapshots
from sweep_core.discretization.stability import excess
from sweep_core.errors import DeviceError, DtypeError, UnsupportedError
from sweep_core.execution.call_checks import (
    check_call,
    check_models,
    check_perturbations,
    check_problem,
    check_problem_and_shots,
    check_record,
    check_survey,
    check_values,
)
from sweep_core.memory import MemoryOptions
from sweep_core.misfit import check_like_record, least_squares
from sweep_core.plugins import IMPLS, Support
from sweep_core.plugins import executor as core
from sweep_core.plugins.executor import DifferentiatingExecutor
from sweep_core.problem import Problem
from sweep_core.typing import Device, Models, Record

from .compiling import outside_dynamo
from .devices import check_device
from .ops import TorchOps, is_readable, mark_inadmissible, tie
from .private import is_transformed, plain, tangent, without_gradient

F = TypeVar("F", bound=Callable[..., Any])


def choose_impl(problem: Problem, impl: str, device: torch.device) -> tuple[str, str]:
    """Return (``'c'`` or ``'eager'``, reason); see :func:`sweep_core.plugins.executor.choose_impl`."""

    def support() -> Support:
        if device.type not in ("cpu", "cuda"):
            return Support(False, f"there is no compiled library for {device.type} devices")
        return compiled_support(problem, device.type)

    return core.choose_impl(impl, problem, device, support)


def host(x: torch.Tensor) -> np.ndarray:
    """Return the values of a tensor as an array that the caller reads at once.

    After ``Tensor.numpy()`` FSDP could not resize the storage of a parameter; ``np.from_dlpack`` avoids this.
    """
    return np.from_dlpack(x.detach().cpu().resolve_neg())


def values_at_host(*tensors: Any) -> list[np.ndarray] | None:
    """Return the tensors' values; None where reading them would stop a device or break a transform."""
    if not is_readable(*tensors):
        return None
    with plain():
        return [host(x) for x in tensors]


def _check_dense(name: str, x: Any) -> None:
    if x.layout != torch.strided:
        verb = "are" if name.endswith("s") else "is"
        raise DtypeError(f"{name} {verb} {x.layout}; expected a dense tensor, such as its to_dense()")


def _on_host(name: str, x: Any) -> Any:
    """Return positions or a mask as a hashable value (shape, dtype, content); None for None."""
    if isinstance(x, torch.Tensor):
        _check_dense(name, x)
        if not x.is_floating_point():  # integers that are made inside torch.func are wrapped, too
            x = without_gradient(x)
        if is_transformed(x):
            raise UnsupportedError(
                f"{name} are transformed (torch.func), and cannot be read on the host; make them outside the "
                "function, or give NumPy arrays"
            )
        with plain():  # inside torch.func even a plain tensor would be wrapped on its way out
            x = host(x)
    if x is None:
        return None
    x = np.asarray(x)
    return x.shape, x.dtype.str, x.tobytes()


@lru_cache(maxsize=32)
def _survey(problem: Problem, mask: Any, *positions: Any) -> Shots:
    """Return checked positions and mask as NumPy arrays.

    Equal values give the same object, which is the key of later caches: the iterations of an inversion repeat them.
    """
    sources, receivers, mask = (None if x is None else np.ndarray(*x).copy() for x in (*positions, mask))
    survey = Shots(None, sources, receivers, mask)
    check_survey(problem, survey)
    return survey


def _check_placed(pairs: Any, device: torch.device) -> None:
    """Check that each (name, x) is a tensor on the device."""
    for name, x in pairs:
        if not isinstance(x, torch.Tensor):
            raise DtypeError(f"{name} is a {type(x).__name__}; expected a torch.Tensor")
        _check_dense(name, x)
        if x.device != device:
            raise DeviceError(
                f"{name} is on {x.device}, the solver computes on {device}; move it there first, nothing is moved "
                "silently"
            )


def check_arguments(
    problem: Problem, shots: Shots, models: Any, device: torch.device, snapshots: Snapshots | None = None
) -> tuple[CallShape, Shots]:
    """Check arguments; return (shape, positions and mask as NumPy arrays)."""
    _check_placed([("wavelet", shots.wavelet), *((f"model {i}", m) for i, m in enumerate(_sequence(models)))], device)
    shape = check_call(problem, shots, models, snapshots)
    named = ("receiver_mask", shots.mask), ("sources", shots.sources), ("receivers", shots.receivers)
    survey = _survey(problem, *(_on_host(name, x) for name, x in named))
    values = values_at_host(*models, shots.wavelet)
    if values is not None:
        check_values(problem, values[:-1], samples_of(values[-1], shape.by_field))
    return shape, survey


def in_own_precision(function: F) -> F:
    """Return `function` with torch.autocast off on the device among its arguments."""

    @wraps(function)
    def call(*args: Any) -> Any:
        (device,) = (x for x in args if isinstance(x, torch.device))
        lowers = torch.amp.is_autocast_available(device.type)
        with torch.autocast(device.type, enabled=False) if lowers else nullcontext():
            return function(*args)

    return cast(F, call)


@outside_dynamo
@in_own_precision
def run(
    problem: Problem, impl: str, shots: Shots, models: Any, device: torch.device, snapshots: Snapshots | None = None
) -> Any:
    """Return (record, snapshots by field, flag or None).

    The record has derivatives in models and wavelet; with ``impl='eager'`` also in positions.
    """
    shape, survey = check_arguments(problem, shots, models, device, snapshots)
    from . import native, propagate
    from .memory import allocating

    def to_device(x: Any, at_host: Any) -> Any:
        x = x.to(device) if isinstance(x, torch.Tensor) else torch.as_tensor(at_host, device=device)
        return x if x.is_floating_point() else x.long()  # torch has few operations on unsigned integers

    mask = None if survey.mask is None else torch.as_tensor(survey.mask, device=device)
    flag = None
    if impl == "c":
        for name, x in (("sources", shots.sources), ("receivers", shots.receivers)):
            if isinstance(x, torch.Tensor) and x.requires_grad and torch.is_grad_enabled():
                raise UnsupportedError(
                    f"impl='c' has no derivative in positions, and {name} ask for one; use impl='eager'"
                )
    differentiable = shots.wavelet, *models, shots.sources, shots.receivers
    if not shape.shots:
        return *_without_shots(problem, shape, device, *differentiable), flag
    if impl == "c":
        with allocating(problem.memory):
            record, fields, flag = native.propagate(problem, shape, survey, shots.wavelet, models)
    else:
        positions = to_device(shots.sources, survey.sources), to_device(shots.receivers, survey.receivers)
        unread = not is_readable(*models, shots.wavelet)  # not checked: inadmissible values give NaN
        models = mark_inadmissible(problem, models) if unread else models
        with allocating(problem.memory):
            record, fields = propagate.propagate(problem, shape, Shots(shots.wavelet, *positions, mask), models)
            record = record + tie(*differentiable)
        if unread:
            stable = excess(problem, TorchOps(problem, models[0].dtype, device), models) <= 1
            record = record * torch.where(stable, 1.0, float("nan")).to(record.dtype)
    count = snapshots.count(shape.samples) if snapshots else 0
    record = finalise_record(torch, problem, shape, mask, record)
    _check_finite(problem, record)
    return record, {f: s[:, :count] for f, s in fields.items()}, flag


def _check_finite(problem: Problem, record: Any) -> None:
    """Raise NotFiniteError for a record that is not finite, if `check_finite` of the problem asks for this."""

    def read() -> Any:
        shown = without_gradient(record)
        return None if is_transformed(shown) else host(shown)

    values = values_at_host(record)
    check_record(problem, None if values is None else values[0], read)


def _without_shots(problem: Problem, shape: Any, device: torch.device, *differentiable: Any) -> Any:
    """Return (record, snapshots) of no shots; the record has a zero derivative in the arguments `differentiable`."""
    record, waves = empty_record(problem, shape, partial(torch.zeros, dtype=getattr(torch, shape.dtype), device=device))
    return record + tie(*differentiable), waves


@outside_dynamo
@in_own_precision
def born(
    problem: Problem,
    impl: str,
    shots: Shots,
    models: Any,
    perturbations: Any,
    device: torch.device,
    wavelet: Any = None,
) -> torch.Tensor:
    """Return the derivative of the record in direction `perturbations` of the models and `wavelet` of the wavelet."""
    shape, survey = check_arguments(problem, shots, models, device)
    check_perturbations(problem, models, perturbations, shots.wavelet, wavelet)
    _check_placed([(f"perturbation {i}", p) for i, p in enumerate(perturbations)], device)
    _check_placed([] if wavelet is None else [("the wavelet's perturbation", wavelet)], device)
    if not shape.shots:
        return _without_shots(problem, shape, device, *perturbations, *(() if wavelet is None else (wavelet,)))[0]
    if impl == "c":
        from . import native

        record = native.born(problem, shape, survey, shots.wavelet, models, perturbations, wavelet)
        mask = None if survey.mask is None else torch.as_tensor(survey.mask, device=device)
        record = finalise_record(torch, problem, shape, mask, record)
        _check_finite(problem, record)
        return record

    # Forward mode recomputes nothing.
    problem = attrs.evolve(problem, memory=MemoryOptions("full", known_above=problem.memory.known_above))

    def forward(models: Any, wave: Any) -> Any:
        return run(problem, impl, attrs.evolve(shots, wavelet=wave), list(models), device)[0]

    tangents = tuple(perturbations), torch.zeros_like(shots.wavelet) if wavelet is None else wavelet
    return tangent(forward, (tuple(models), shots.wavelet), tangents)


def _sequence(models: Any) -> Any:
    return models if isinstance(models, list | tuple) else ()


class TorchExecutor(DifferentiatingExecutor):
    """The executor that ``sweep_core.backend('torch')`` returns.

    Parameters
    ----------
    impl : {'auto', 'c', 'eager'}
        Compiled code, operations of torch, or compiled code if it can run a problem.
    device : str or torch.device
        Device of the computation.

    Raises
    ------
    OptionError, DeviceError
        For an unknown `impl`, or a device that does not exist.
    """

    name = "torch"

    def __init__(self, impl: str = "auto", device: Device = "cpu") -> None:
        check_choice(impl, "impl", IMPLS)
        self.impl, self.device = impl, check_device(device)

    def supports(self, problem: Problem) -> Support:
        check_problem(problem)
        try:
            return Support(True, choose_impl(problem, self.impl, self.device)[1])
        except UnsupportedError as error:
            return Support(False, str(error))

    def _run(self, problem: Problem, shots: Shots, models: Any) -> Any:
        check_problem_and_shots(problem, shots)
        impl = choose_impl(problem, self.impl, self.device)[0]
        placed_shots = attrs.evolve(shots, wavelet=self.array(shots.wavelet, "wavelet"))
        return run(problem, impl, placed_shots, models, self.device)[0]

    def array(self, x: Any, name: str) -> torch.Tensor:
        """Return a tensor on the executor's device, from a tensor there or a NumPy array.

        Raises
        ------
        DtypeError
            For any other `x`.
        """
        if isinstance(x, torch.Tensor):
            return x
        if not isinstance(x, np.ndarray) or x.dtype.kind not in "biuf":
            kind = f"an array of {x.dtype}" if isinstance(x, np.ndarray) else f"a {type(x).__name__}"
            raise DtypeError(f"{name} is {kind}; expected a torch.Tensor or a NumPy array of numbers")
        return torch.from_numpy(np.array(x)).to(self.device)

    def _arrays(self, values: Any, name: str) -> Any:
        """Return the arrays of a list; any other value unchanged, for later checks to refuse."""
        return [self.array(x, f"{name} {i}") for i, x in enumerate(values)] if _sequence(values) else values

    def forward(self, problem: Problem, shots: Shots, models: Models) -> torch.Tensor:
        with torch.no_grad():
            return self._run(problem, shots, self._arrays(models, "model"))

    def misfit_and_gradient(
        self, problem: Problem, shots: Shots, models: Models, observed: Record
    ) -> tuple[Any, list[torch.Tensor]]:
        record, pull = self.pullback(problem, shots, models)
        misfit, residual = least_squares(record, self.array(observed, "observed"))
        return misfit, pull(residual)

    def pullback(
        self, problem: Problem, shots: Shots, models: Models
    ) -> tuple[torch.Tensor, Callable[[Any], list[torch.Tensor]]]:
        check_problem_and_shots(problem, shots)
        check_models(problem, models)
        leaves = [m.detach().requires_grad_() for m in self._arrays(models, "model")]
        with torch.enable_grad():
            record = self._run(problem, shots, leaves)

        def pull(cotangent: Any) -> list[torch.Tensor]:
            weights = self.array(cotangent, "the cotangent")
            check_like_record("the cotangent", weights, record)
            return list(torch.autograd.grad(record, leaves, weights.to(record.dtype), retain_graph=True))

        return record.detach(), pull

    def born(self, problem: Problem, shots: Shots, models: Models, perturbations: Models) -> torch.Tensor:
        check_problem_and_shots(problem, shots)
        models, perturbations = self._arrays(models, "model"), self._arrays(perturbations, "perturbation")
        placed = attrs.evolve(shots, wavelet=self.array(shots.wavelet, "wavelet"))
        impl = choose_impl(problem, self.impl, self.device)[0]
        return born(problem, impl, placed, models, perturbations, self.device)
