"""The torch backend: chooses compiled or eager, checks a call, runs it."""

import numpy as np
import torch

from sweep_core import executor as core
from sweep_core import native as compiled
from sweep_core.call import check_call, check_survey, check_values
from sweep_core.errors import DeviceError, DtypeError, OptionError, UnsupportedError
from sweep_core.executor import IMPLS, Support
from sweep_core.misfit import least_squares
from sweep_core.problem import Problem
from sweep_core.survey import Shots, check_positions


def check_device(device) -> torch.device:
    """A torch device that exists here; DeviceError otherwise."""
    try:
        checked = torch.device(device)
        torch.empty(0, device=checked)
    except (RuntimeError, TypeError, AssertionError) as error:
        reason = str(error).split("\n")[0]
        raise DeviceError(f"device {device!r} cannot be used: {reason}; 'cpu' always can") from None
    if checked.type == "cuda" and checked.index is None:
        checked = torch.device("cuda", torch.cuda.current_device())
    return checked


def choose_impl(problem: Problem, impl: str, device: torch.device) -> tuple[str, str]:
    """(``'c'`` or ``'eager'``, why); see :func:`sweep_core.executor.choose_impl`."""

    def support():
        if device.type not in ("cpu", "cuda"):
            return Support(False, f"there is no compiled library for {device.type} devices")
        return compiled.supports(problem.equation.name, problem.grid.ndim, device.type)

    return core.choose_impl(impl, problem.equation.name, device, support)


def _positions(name, positions, ndim):
    check_positions(name, positions, ndim)
    if not isinstance(positions, torch.Tensor):
        return np.asarray(positions)
    if torch._C._functorch.is_functorch_wrapped_tensor(positions):
        raise UnsupportedError(f"{name} are transformed (torch.func): positions are read on the host and cannot be")
    with torch._C._DisableFuncTorch():  # inside torch.func even a plain tensor would be wrapped on its way out
        return positions.cpu().numpy()


def run(problem: Problem, impl: str, shots: Shots, models, device: torch.device):
    """(record, flag or None) of checked arguments; differentiable in models and wavelet."""
    for name, x in [
        ("wavelet", shots.wavelet),
        *((f"model {i}", m) for i, m in enumerate(_sequence(models))),
    ]:
        if not isinstance(x, torch.Tensor):
            raise DtypeError(f"{name} is a {type(x).__name__}; expected a torch.Tensor")
        if x.device != device:
            raise DeviceError(f"{name} is on {x.device}, the solver computes on {device}; nothing is moved silently")
    shape = check_call(problem, shots, models)
    ndim = problem.grid.ndim
    host = Shots(
        shots.wavelet,
        _positions("sources", shots.sources, ndim),
        _positions("receivers", shots.receivers, ndim),
    )
    check_survey(problem, host)
    from . import native, propagate

    if native.readable(shots.wavelet, *models):
        check_values(problem, [m.detach().numpy() for m in models], shots.wavelet.detach().numpy())
    if impl == "c":
        return native.propagate(problem, shape, host, models)
    placed = Shots(shots.wavelet, *(torch.as_tensor(p, device=device) for p in (host.sources, host.receivers)))
    return propagate.propagate(problem, shape, placed, models), None


def _sequence(models):
    return models if isinstance(models, list | tuple) else ()


class TorchExecutor:
    """The executor that ``sweep_core.backend('torch')`` returns.

    Parameters
    ----------
    impl : {'auto', 'c', 'eager'}
    device : str or torch.device
    """

    name = "torch"

    def __init__(self, impl: str = "auto", device="cpu"):
        if impl not in IMPLS:
            raise OptionError(f"impl is {impl!r}; expected one of {IMPLS}")
        self.impl, self.device = impl, check_device(device)

    def supports(self, problem) -> Support:
        try:
            return Support(True, choose_impl(problem, self.impl, self.device)[1])
        except UnsupportedError as error:
            return Support(False, str(error))

    def _run(self, problem, shots, models):
        impl = choose_impl(problem, self.impl, self.device)[0]
        placed = Shots(self.array(shots.wavelet), shots.sources, shots.receivers)
        return run(problem, impl, placed, models, self.device)[0]

    def array(self, x) -> torch.Tensor:
        """A tensor on the executor's device, from a tensor there or from a NumPy array."""
        return x if isinstance(x, torch.Tensor) else torch.from_numpy(np.array(x)).to(self.device)

    def forward(self, problem, shots, models):
        with torch.no_grad():
            return self._run(problem, shots, [self.array(m) for m in models])

    def misfit_and_gradient(self, problem, shots, models, observed):
        leaves = [self.array(m).detach().requires_grad_() for m in models]
        with torch.enable_grad():
            misfit, _ = least_squares(self._run(problem, shots, leaves), self.array(observed))
            gradients = torch.autograd.grad(misfit, leaves)
        return misfit.detach(), list(gradients)

    def born(self, problem, shots, models, perturbations):
        raise UnsupportedError("Born modelling is not supported by backend 'torch' yet; backend 'reference' has it")
