"""PropJax: one problem as a function of JAX arrays."""

from functools import partial

import jax
import jax.numpy as jnp

from sweep_core._util import peer_names
from sweep_core._util.validators import named_arguments
from sweep_core.acquisition.shots import Shots
from sweep_core.execution.call_checks import check_models
from sweep_core.execution.propagator import BORN, CALL, PARAMETERS, Propagator, documented, stated_device

from .executor import (
    KINDS,
    JaxExecutor,
    born,
    check,
    check_device,
    choose_impl,
    committed_device,
    default_device,
    device_name,
    place,
    run,
    values_at_host,
)
from .memory import left_on


@documented(
    PARAMETERS,
    framework="JAX",
    device="""str or jax.Device, optional
    Where to compute: by default the equation's device, the one that the arrays of a call are committed to, or the
    one that JAX prefers.""",
    models="""list of arrays, optional
    Used by calls without `models`.""",
)
class PropJax(Propagator):
    """Wave propagation in JAX, differentiable in the models and the wavelet.

    A solver is a function without state: it may be closed over by what is transformed with jit, grad, vmap, pmap,
    shard_map, scan and checkpoint.
    """

    def _start(self, dev, models):
        device = stated_device(dev, self.problem.equation, check_device)
        if device is None and isinstance(models, list | tuple):
            device = committed_device(models)
        self._device = None if device is None else device_name(device)
        self._models = None if models is None else self._checked(models)
        self._choice()

    def _checked(self, models):
        check_models(self.problem, models)
        parameters = self.problem.equation.parameters
        placed = [place(f"model {p.name}", m, self.device) for p, m in zip(parameters, models, strict=True)]
        return [jnp.asarray(m) for m in placed]

    @property
    def device(self) -> jax.Device | None:
        """Where this solver was told to compute, if it was."""
        return None if self._device is None else check_device(self._device)

    def _choice(self):
        return choose_impl(self.problem, self._requested, self.device or default_device())

    def _place(self):
        device = self.device or default_device()
        return KINDS[device.platform], partial(left_on, device), {"traced": True}

    @property
    def executor(self) -> JaxExecutor:
        return JaxExecutor(self._requested, self.device)

    def _check_call(self, shots, models):
        check(self.problem, shots, models, self.device)

    def _own_models(self):
        return self._models

    @named_arguments(peer_names.CALL)
    @documented(CALL, array="array", positions="array", placed="")
    def __call__(self, wavelet, sources, receivers, models=None, receiver_mask=None, snapshots=None):
        """Models some shots.

        Notes
        -----
        What becomes of NumPy arrays after the call does not matter. Those that a transform is given, such as
        ``jax.vjp`` of a function that calls this one, JAX may read later, where they are.

        Values that are traced are checked when the program runs. What is compiled then raises a
        ``jax.errors.JaxRuntimeError`` with the same text; the record is NaN on a GPU, under pmap and shard_map, where
        one device must not leave the others waiting, and with ``impl='eager'``.
        """
        shots = Shots(wavelet, sources, receivers, receiver_mask)
        models = self._given(models)
        record, seen, self._flag = run(self.problem, self._requested, shots, models, self.device, snapshots)
        self._caution(values_at_host, models, shots)
        if snapshots is None:
            return record
        return record, {field: seen[field] for field in snapshots.fields}  # jit sorts what it returns

    @named_arguments(peer_names.CALL)
    @documented(BORN, array="array")
    def born(self, wavelet, sources, receivers, perturbations, models=None, receiver_mask=None, d_wavelet=None):
        """The derivative of the record in a direction: waves that a perturbed earth scatters once."""
        shots = Shots(wavelet, sources, receivers, receiver_mask)
        models = self._given(models)
        record = born(self.problem, self._requested, shots, models, perturbations, self.device, d_wavelet)
        self._caution(values_at_host, models, shots)
        return record
