"""PropJax: one problem as a function of JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from sweep_core.acquisition.shots import Shots
from sweep_core.acquisition.snapshots import Snapshots
from sweep_core.execution.call_checks import check_models
from sweep_core.execution.propagator import Propagator, stated_device
from sweep_core.execution.wave_solver import Survey

from .devices import KINDS, check_device, default_device, device_name
from .executor import (
    JaxExecutor,
    born,
    check,
    choose_impl,
    committed_device,
    place,
    run,
    values_at_host,
)
from .memory import left_on


class PropJax(Propagator[jax.Array]):
    """Wave propagation in JAX, differentiable in the models and the wavelet.

    A solver is a function without state: functions that call it may be transformed by jit, grad, vmap, pmap, shard_map,
    scan and checkpoint.
    """

    __call__ = Propagator[jax.Array].forward

    def _start(self, dev: Any, models: Any) -> None:
        device = stated_device(dev, self.problem.equation, check_device)
        if device is None and isinstance(models, list | tuple):
            device = committed_device(models)
        self._device = None if device is None else device_name(device)
        self._models = None if models is None else self._checked(models)
        self._choice()

    def _checked(self, models: Any) -> list[jax.Array]:
        check_models(self.problem, models)
        parameters = self.problem.equation.parameters
        placed = [place(f"model {p.name}", m, self.device) for p, m in zip(parameters, models, strict=True)]
        return [jnp.asarray(m) for m in placed]

    @property
    def device(self) -> jax.Device | None:
        """Device of the computation, if the constructor was given one."""
        return None if self._device is None else check_device(self._device)

    def _choice(self) -> tuple[str, str]:
        return choose_impl(self.problem, self._requested, self.device or default_device())

    def _place(self) -> tuple[str, Callable[[], int | None], dict[str, Any]]:
        device = self.device or default_device()
        return KINDS[device.platform], partial(left_on, device), {"traced": True}

    @property
    def executor(self) -> JaxExecutor:
        return JaxExecutor(self._requested, self.device)

    def _check_call(self, shots: Shots, models: Any) -> None:
        check(self.problem, shots, models, self.device)

    def _own_models(self) -> Any:
        return self._models

    def _record(self, survey: Survey, models: Any, snapshots: Snapshots | None) -> Any:
        shots = Shots(*survey)
        record, fields, flag = run(self.problem, self._requested, shots, models, self.device, snapshots)
        self._flags = [flag]
        self._caution(values_at_host, models, shots)
        if snapshots is None:
            return record
        return record, {field: fields[field] for field in snapshots.fields}  # jit sorts the keys of results

    def _born(self, survey: Survey, models: Any, perturbations: Any, d_wavelet: Any) -> Any:
        shots = Shots(*survey)
        record = born(self.problem, self._requested, shots, models, perturbations, self.device, d_wavelet)
        self._caution(values_at_host, models, shots)
        return record
