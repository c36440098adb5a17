"""PropTorch: one problem as a torch module."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from sweep_core.acquisition.call_shape import wavelet_layout
from sweep_core.acquisition.shots import Shots
from sweep_core.acquisition.snapshots import Snapshots
from sweep_core.errors import DeviceError, DtypeError, ShapeError, UnsupportedError
from sweep_core.execution.call_checks import check_models
from sweep_core.execution.propagator import Propagator, stated_device
from sweep_core.execution.wave_solver import Survey

from . import compiling
from .chain_memory import chain_of
from .devices import check_device
from .executor import TorchExecutor, born, check_arguments, choose_impl, run, values_at_host
from .memory import left_on
from .private import is_exporting, is_replica


class PropTorch(Propagator[torch.Tensor], torch.nn.Module):
    """Wave propagation in PyTorch, differentiable in the models and the wavelet.

    A solver is a module: :meth:`forward` documents its call. Models given to the constructor are parameters of the
    module, named as in the equation, and calls without `models` use them.
    """

    if TYPE_CHECKING:
        __call__ = Propagator[torch.Tensor].forward  # torch.nn.Module declares no arguments

    _anchor: torch.Tensor

    def _start(self, dev: Any, models: Any) -> None:
        device = stated_device(dev, self.problem.equation, check_device)
        if device is None:
            first = models[0] if isinstance(models, list | tuple) and models else None
            device = first.device if isinstance(first, torch.Tensor) else torch.device("cpu")
        choose_impl(self.problem, self._requested, device)
        # `to` moves this buffer, so `device` is right even without registered models.
        self.register_buffer("_anchor", torch.empty(0, device=device), persistent=False)
        self._number = compiling.register(self)
        self._names: list[str] = []
        if models is not None:
            self._register(models, device)

    def _register(self, models: Any, device: torch.device) -> None:
        check_models(self.problem, models)
        for parameter, model in zip(self.problem.equation.parameters, models, strict=True):
            if not isinstance(model, torch.Tensor):
                raise DtypeError(f"model {parameter.name} is a {type(model).__name__}; expected a torch.Tensor")
            if model.device != device:
                raise DeviceError(
                    f"model {parameter.name} is on {model.device}, the solver computes on {device}; move it there"
                )
            value = model if isinstance(model, torch.nn.Parameter) else torch.nn.Parameter(model.detach().clone())
            self.register_parameter(parameter.name, value)
            self._names.append(parameter.name)

    @property
    def device(self) -> torch.device:
        """Device of the computation: that of the parameters, if there are any."""
        return (getattr(self, self._names[0]) if self._names else self._anchor).device

    def _choice(self) -> tuple[str, str]:
        return choose_impl(self.problem, self._requested, self.device)

    def _place(self) -> tuple[str, Callable[[], int | None], dict[str, Any]]:
        return self.device.type, partial(left_on, self.device), {"chain": chain_of(self.problem)}

    @property
    def executor(self) -> TorchExecutor:
        return TorchExecutor(self._requested, self.device)

    def _check_call(self, shots: Shots, models: Any) -> None:
        check_arguments(self.problem, shots, models, self.device)

    def _own_models(self) -> Any:
        return [getattr(self, name) for name in self._names] or None

    def _record(self, survey: Survey, models: Any, snapshots: Snapshots | None) -> Any:
        if torch.compiler.is_compiling():
            if is_exporting():
                raise UnsupportedError(
                    "torch.export is not supported: a program in a file has no solver; pickle the solver itself, and "
                    "call torch.compile where it runs"
                )
            if snapshots is not None:
                raise UnsupportedError("snapshots are not supported inside torch.compile; call the solver outside")
            wavelet, *rest = survey
            sources, receivers, mask = (None if x is None else torch.as_tensor(x) for x in rest)
            sizes = wavelet_layout(self.problem, wavelet, sources)[0], len(self.problem.receiver_type)
            return compiling.record(wavelet, sources, receivers, mask, list(models), self._number, *sizes)
        shots = Shots(*survey)
        self._check_replica(shots)
        record, fields, flag = run(self.problem, self.impl, shots, models, self.device, snapshots)
        self._flags = [flag]
        self._caution(values_at_host, models, shots)
        return record if snapshots is None else (record, fields)

    def _born(self, survey: Survey, models: Any, perturbations: Any, d_wavelet: Any) -> Any:
        if torch.compiler.is_compiling():
            raise UnsupportedError("born is not supported inside torch.compile; call it outside")
        shots = Shots(*survey)
        self._check_replica(shots)
        record = born(self.problem, self.impl, shots, models, perturbations, self.device, d_wavelet)
        self._caution(values_at_host, models, shots)
        return record

    def _check_replica(self, shots: Shots) -> None:
        """Raise ShapeError where DataParallel cut an axis that does not count shots, or could not cut.

        DataParallel cuts each tensor along its first axis.
        """
        if not is_replica(self):
            return
        wavelet, sources = shots.wavelet, shots.sources
        if not isinstance(sources, torch.Tensor):
            raise ShapeError(
                f"sources are a {type(sources).__name__}, which DataParallel does not split, so that each replica "
                "would model all shots; pass a torch.Tensor"
            )
        by_field = isinstance(wavelet, torch.Tensor) and wavelet_layout(self.problem, wavelet, sources)[1]
        for name, x, ndim in (("wavelet", wavelet, 1 + by_field), ("receivers", shots.receivers, 2)):
            if isinstance(x, torch.Tensor) and x.ndim == ndim:
                raise ShapeError(
                    f"{name} has shape {tuple(x.shape)} in a replica of DataParallel, which splits the first axis; "
                    f"expected shots along this axis: pass {name}.expand(nshots{', -1' * ndim}), which takes no memory"
                )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._number = compiling.register(self)
