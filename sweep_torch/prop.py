"""PropTorch: one problem as a torch module."""

from functools import partial

import torch

from sweep_core._util import peer_names
from sweep_core._util.validators import named_arguments
from sweep_core.acquisition.call_shape import wavelet_layout
from sweep_core.acquisition.shots import Shots
from sweep_core.errors import DeviceError, DtypeError, ShapeError, UnsupportedError
from sweep_core.execution.call_checks import check_models
from sweep_core.execution.propagator import BORN, CALL, PARAMETERS, Propagator, documented, stated_device

from . import compiling
from .executor import TorchExecutor, born, check_device, checked, choose_impl, run, values_at_host
from .memory import left_on
from .private import exported, is_replica


@documented(
    PARAMETERS,
    framework="torch",
    device="""str or torch.device, optional
    Where to compute: by default the equation's device, that of `models`, or the CPU.""",
    models="""list of torch.Tensor, optional
    Registered as parameters, and used by calls without `models`.""",
)
class PropTorch(Propagator, torch.nn.Module):
    """Wave propagation in PyTorch, differentiable in the models and the wavelet."""

    _anchor: torch.Tensor

    def _start(self, dev, models):
        device = stated_device(dev, self.problem.equation, check_device)
        if device is None:
            first = models[0] if isinstance(models, list | tuple) and models else None
            device = first.device if isinstance(first, torch.Tensor) else torch.device("cpu")
        choose_impl(self.problem, self._requested, device)
        # What `to` moves where no model is registered.
        self.register_buffer("_anchor", torch.empty(0, device=device), persistent=False)
        self._number = compiling.register(self)
        self._names = []
        if models is not None:
            self._register(models, device)

    def _register(self, models, device):
        check_models(self.problem, models)
        for parameter, model in zip(self.problem.equation.parameters, models, strict=True):
            if not isinstance(model, torch.Tensor):
                raise DtypeError(f"model {parameter.name} is a {type(model).__name__}; expected a torch.Tensor")
            if model.device != device:
                raise DeviceError(f"model {parameter.name} is on {model.device}, the solver computes on {device}")
            value = model if isinstance(model, torch.nn.Parameter) else torch.nn.Parameter(model.detach().clone())
            self.register_parameter(parameter.name, value)
            self._names.append(parameter.name)

    @property
    def device(self) -> torch.device:
        """Where this solver computes: with its parameters, if it has any."""
        return (getattr(self, self._names[0]) if self._names else self._anchor).device

    def _choice(self):
        return choose_impl(self.problem, self._requested, self.device)

    def _place(self):
        return self.device.type, partial(left_on, self.device), {}

    @property
    def executor(self) -> TorchExecutor:
        return TorchExecutor(self._requested, self.device)

    def _check_call(self, shots, models):
        checked(self.problem, shots, models, self.device)

    def _own_models(self):
        return [getattr(self, name) for name in self._names] or None

    @named_arguments(peer_names.CALL)
    @documented(CALL, array="tensor", positions="tensor or array", placed=" and on the device")
    def forward(self, wavelet, sources, receivers, models=None, receiver_mask=None, snapshots=None):
        """Models some shots."""
        if torch.compiler.is_compiling():
            if exported():
                raise UnsupportedError(
                    "torch.export is not supported: a program in a file has no solver; pickle the solver itself, and "
                    "call torch.compile where it runs"
                )
            if snapshots is not None:
                raise UnsupportedError("snapshots are not supported inside torch.compile; call the solver outside")
            positions = [torch.as_tensor(x) for x in (sources, receivers)]
            mask = None if receiver_mask is None else torch.as_tensor(receiver_mask)
            sizes = wavelet_layout(self.problem, wavelet, positions[0])[0], len(self.problem.receiver_type)
            return compiling.record(wavelet, *positions, mask, list(self._given(models)), self._number, *sizes)
        self._check_parted(wavelet, sources, receivers)
        shots = Shots(wavelet, sources, receivers, receiver_mask)
        models = self._given(models)
        record, seen, self._flag = run(self.problem, self.impl, shots, models, self.device, snapshots)
        self._caution(values_at_host, models, shots)
        return record if snapshots is None else (record, seen)

    @named_arguments(peer_names.CALL)
    @documented(BORN, array="tensor")
    def born(self, wavelet, sources, receivers, perturbations, models=None, receiver_mask=None, d_wavelet=None):
        """The derivative of the record in a direction: waves that a perturbed earth scatters once."""
        if torch.compiler.is_compiling():
            raise UnsupportedError("born is not supported inside torch.compile; call it outside")
        self._check_parted(wavelet, sources, receivers)
        shots = Shots(wavelet, sources, receivers, receiver_mask)
        models = self._given(models)
        record = born(self.problem, self.impl, shots, models, perturbations, self.device, d_wavelet)
        self._caution(values_at_host, models, shots)
        return record

    def _check_parted(self, wavelet, sources, receivers) -> None:
        """ShapeError where DataParallel, which cuts each tensor along its first axis, cut another one than that of the
        shots, or could not cut.
        """
        if not is_replica(self):
            return
        if not isinstance(sources, torch.Tensor):
            raise ShapeError(
                f"sources are a {type(sources).__name__}, which DataParallel does not share out: each replica would "
                "model all shots; give a torch.Tensor"
            )
        by_field = isinstance(wavelet, torch.Tensor) and wavelet_layout(self.problem, wavelet, sources)[1]
        for name, x, ndim in (("wavelet", wavelet, 1 + by_field), ("receivers", receivers, 2)):
            if isinstance(x, torch.Tensor) and x.ndim == ndim:
                raise ShapeError(
                    f"{name} of shape {tuple(x.shape)} in a replica of DataParallel, which cuts it along its first "
                    f"axis; expected one that counts shots: give {name}.expand(nshots{', -1' * ndim}), which takes no "
                    "memory"
                )

    def __setstate__(self, state):
        super().__setstate__(state)
        self._number = compiling.register(self)
