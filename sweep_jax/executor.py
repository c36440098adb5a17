"""The JAX backend: choose compiled or eager code, check a call, run it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import jax
import jax.numpy as jnp
import numpy as np

from sweep_core._util.validators import check_choice
from sweep_core.acquisition.call_shape import CallShape
from sweep_core.acquisition.positions import interpolated
from sweep_core.acquisition.receivers import empty_record
from sweep_core.acquisition.shots import Shots, samples_of
from sweep_core.acquisition.snapshots import Snapshots
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
from sweep_core.memory import make_strategy
from sweep_core.misfit import check_like_record, least_squares
from sweep_core.plugins import IMPLS, Support
from sweep_core.plugins import executor as core
from sweep_core.plugins.executor import DifferentiatingExecutor
from sweep_core.problem import Problem
from sweep_core.typing import Device, Models, Record

from . import native, propagate, shim
from .devices import KINDS, check_device, default_device, device_name
from .private import Tracer, varies_over_devices


def choose_impl(problem: Problem, impl: str, device: jax.Device) -> tuple[str, str]:
    """Return (``'c'`` or ``'eager'``, reason); see :func:`sweep_core.plugins.executor.choose_impl`."""

    def support() -> Support:
        if device.platform not in KINDS:
            return Support(False, f"there is no compiled library for {device.platform} devices")
        kind, remembers = KINDS[device.platform], make_strategy(problem.memory)
        if refusal := remembers.traced_refusal or remembers.refusal_of(kind, problem.equation.levels):
            return Support(False, refusal)
        return shim.supports(problem.equation, problem.grid.ndim, kind, remembers.strips)

    return core.choose_impl(impl, problem, device_name(device), support)


def refuse_rounding(name: str, x: Any) -> None:
    """Raise DtypeError for float64 of NumPy where JAX would make it float32."""
    rounded = jax.dtypes.canonicalize_dtype(np.float64) != np.float64
    if rounded and isinstance(x, np.ndarray) and x.dtype == np.float64:
        raise DtypeError(
            f"{name} is float64, which JAX would round to float32; call jax.config.update('jax_enable_x64', True) "
            "first, or give float32"
        )


def place(name: str, x: Any, device: jax.Device | None) -> Any:
    """Return `x` for JAX: traced, or an array committed to `device` or to none.

    NumPy arrays are copied: JAX reads their memory later, and the caller may write there in the meantime.

    Raises
    ------
    DtypeError, DeviceError
        If JAX would silently convert or move `x`.
    """
    if isinstance(x, Tracer):
        if varies_over_devices(jax.typeof(x)):
            raise UnsupportedError(
                f"{name} is traced by a jax.shard_map with check_vma=True, which SWEEP does not support yet; use "
                "check_vma=False, and add gradients up by jax.lax.psum"
            )
        return x
    if isinstance(x, np.ndarray):
        refuse_rounding(name, x)
        return x.copy() if device is None else jax.device_put(x.copy(), device)
    if not isinstance(x, jax.Array):
        raise DtypeError(f"{name} is a {type(x).__name__}; expected a jax.Array or a NumPy array")
    devices = x.devices()
    if len(devices) > 1:
        raise DeviceError(
            f"{name} is spread over {len(devices)} devices, each of which would do all the work; call the solver "
            "inside jax.pmap or jax.shard_map, or give an array of one device"
        )
    (there,) = devices
    if device is None or there == device:
        return x
    if x.committed:
        raise DeviceError(
            f"{name} is on {device_name(there)}, the solver computes on {device_name(device)}; move it there "
            "first, nothing is moved silently"
        )
    return jax.device_put(x, device)


def committed_device(arrays: Any) -> jax.Device | None:
    """Return the device of the first array that is committed to one, or None."""
    for x in arrays:
        if isinstance(x, jax.Array) and not isinstance(x, Tracer) and x.committed and len(x.devices()) == 1:
            return next(iter(x.devices()))
    return None


def readable(x: Any) -> np.ndarray | None:
    """Return the values of an array, also under `jax.grad`; None if this would stop a device or break a transform."""
    x = native.without_gradient(x)
    if isinstance(x, Tracer):
        return None
    if isinstance(x, jax.Array) and not (x.is_fully_addressable and all(d.platform == "cpu" for d in x.devices())):
        return None
    return np.asarray(x)


def values_at_host(*arrays: Any) -> list[np.ndarray] | None:
    """Return the values of all arrays; None if one of them is not `readable`."""
    values = [v for x in arrays if (v := readable(x)) is not None]
    return values if len(values) == len(arrays) else None


def check_readable(problem: Problem, shape: CallShape, shots: Shots, models: Any) -> None:
    """Raise DomainError or StabilityError for values that can be read; compiled code checks the others."""
    values = values_at_host(*models, shots.wavelet)
    if values is not None:
        check_values(problem, values[:-1], samples_of(values[-1], shape.by_field))
    middle = np.array([[n // 2 for n in reversed(problem.grid.shape)]], np.int32)
    sources, receivers = (readable(x) for x in (shots.sources, shots.receivers))
    mask = None if shots.mask is None or receivers is None else readable(shots.mask)
    if shots.mask is not None and mask is None:
        receivers = None
    sources, receivers = (middle if p is None else p for p in (sources, receivers))
    check_survey(problem, Shots(None, sources, receivers, mask))


def check(
    problem: Problem, shots: Shots, models: Any, device: jax.Device | None, snapshots: Snapshots | None = None
) -> Any:
    """Check arguments; return (shape, shots, models) with wavelet and models placed on the device."""
    shots = attrs.evolve(shots, wavelet=place("wavelet", shots.wavelet, device))
    if isinstance(models, list | tuple):
        models = [place(f"model {i}", m, device) for i, m in enumerate(models)]
    shape = check_call(problem, shots, models, snapshots)
    check_readable(problem, shape, shots, models)
    return shape, shots, models


def run(
    problem: Problem,
    impl: str,
    shots: Shots,
    models: Any,
    device: jax.Device | None,
    snapshots: Snapshots | None = None,
) -> Any:
    """Check arguments, run, and return (record, snapshots by field, flag or None).

    The record has derivatives in models and wavelet; eager code also in positions. The computation is on `device`; if
    this is None, on the device of the arrays.
    """
    device = device or committed_device((shots.wavelet, *_sequence(models)))
    shape, shots, models = check(problem, shots, models, device, snapshots)
    placed = {name: positions_on(name, getattr(shots, name), device) for name in ("sources", "receivers")}
    mask = None if shots.mask is None else place("receiver_mask", shots.mask, device)
    shots = attrs.evolve(shots, mask=mask, **placed)
    if not shape.shots:
        return *empty_record(problem, shape, partial(jnp.zeros, dtype=shape.dtype)), None
    device, unread = device or default_device(), values_at_host(*models, shots.wavelet) is None
    if choose_impl(problem, impl, device)[0] == "eager":
        (record, waves), flag = propagate.propagate(problem, shape, shots, models, unread), None
    else:
        with native.refusals(problem.memory):
            kind = KINDS[device.platform]
            record, waves, flag = native.propagate(problem, shape, shots, models, kind, device, unread)
            computed = native.without_gradient(record)
            if device.platform == "cpu" and not isinstance(computed, Tracer):
                computed.block_until_ready()
    count = snapshots.count(shape.samples) if snapshots else 0
    waves = {field: x[:, :count] for field, x in waves.items()}
    check_record(problem, readable(record), partial(read, record))
    return record, waves, None if device.platform == "cpu" or isinstance(flag, Tracer) else flag


def read(record: Any) -> np.ndarray | None:
    """Return the record's values even if a device must stop; None if a transform hides them."""
    record = native.without_gradient(record)
    return None if isinstance(record, Tracer) else np.asarray(record)


def born(
    problem: Problem,
    impl: str,
    shots: Shots,
    models: Any,
    perturbations: Any,
    device: jax.Device | None,
    wavelet: Any = None,
    forward: Callable[..., Any] = run,
) -> jax.Array:
    """Return the derivative of the record in direction `perturbations` of the models and `wavelet` of the wavelet.

    `forward` returns the record, as the first of its results, like :func:`run`.
    """
    device = device or committed_device((shots.wavelet, *_sequence(models)))
    check_call(problem, shots, models)
    check_perturbations(problem, models, perturbations, shots.wavelet, wavelet)

    def placed(name: str, x: Any) -> Any:
        return jnp.asarray(place(name, x, device))

    wave, own = placed("wavelet", shots.wavelet), [placed(f"model {i}", m) for i, m in enumerate(models)]
    varied = [placed(f"perturbation {i}", p) for i, p in enumerate(perturbations)]
    waves = jnp.zeros_like(wave) if wavelet is None else placed("the wavelet's perturbation", wavelet)

    def record_of(models: Any, wave: Any) -> Any:
        return forward(problem, impl, attrs.evolve(shots, wavelet=wave), models, device)[0]

    with native.refusals(problem.memory):
        record = jax.jvp(record_of, (own, wave), (varied, waves))[1]
    check_record(problem, readable(record), partial(read, record))
    return record


def _sequence(models: Any) -> Any:
    return models if isinstance(models, list | tuple) else ()


def positions_on(name: str, x: Any, device: jax.Device | None) -> Any:
    """Return checked positions; JAX has no 64-bit types unless they are enabled."""
    if isinstance(x, np.ndarray):
        x = x.astype(jax.dtypes.canonicalize_dtype(np.float64) if interpolated(x) else np.int32)
    return place(name, x, device)


class JaxExecutor(DifferentiatingExecutor):
    """The executor that ``sweep_core.backend('jax')`` returns.

    Parameters
    ----------
    impl : {'auto', 'c', 'eager'}
        Compiled code, operations of JAX, or compiled code if it can run a problem.
    device : str or jax.Device, optional
        Device of the computation; by default the one that arrays are committed to, or the one that JAX prefers.

    Raises
    ------
    OptionError, DeviceError
        For an unknown `impl`, or a device that does not exist.
    """

    name = "jax"

    def __init__(self, impl: str = "auto", device: Device = None) -> None:
        check_choice(impl, "impl", IMPLS)
        self.impl, self.device = impl, None if device is None else check_device(device)

    def supports(self, problem: Problem) -> Support:
        check_problem(problem)
        try:
            return Support(True, choose_impl(problem, self.impl, self.device or default_device())[1])
        except UnsupportedError as error:
            return Support(False, str(error))

    def forward(self, problem: Problem, shots: Shots, models: Models) -> jax.Array:
        check_problem_and_shots(problem, shots)
        return run(problem, self.impl, shots, models, self.device)[0]

    def misfit_and_gradient(
        self, problem: Problem, shots: Shots, models: Models, observed: Record
    ) -> tuple[Any, list[jax.Array]]:
        record, pull = self.pullback(problem, shots, models)
        misfit, residual = least_squares(record, place("observed", observed, self.device))
        return misfit, pull(residual)

    def pullback(
        self, problem: Problem, shots: Shots, models: Models
    ) -> tuple[jax.Array, Callable[[Any], list[jax.Array]]]:
        check_problem_and_shots(problem, shots)
        check_models(problem, models)
        leaves = [place(f"model {i}", m, self.device) for i, m in enumerate(models)]
        with native.refusals(problem.memory):
            record, back = jax.vjp(lambda leaves: self.forward(problem, shots, leaves), leaves)
            jax.block_until_ready(record)

        def pull(cotangent: Any) -> list[jax.Array]:
            weights = jnp.asarray(place("the cotangent", cotangent, self.device), record.dtype)
            check_like_record("the cotangent", weights, record)
            with native.refusals(problem.memory):
                return jax.block_until_ready(back(weights)[0])

        return record, pull

    def born(self, problem: Problem, shots: Shots, models: Models, perturbations: Models) -> jax.Array:
        check_problem_and_shots(problem, shots)
        return born(problem, self.impl, shots, models, perturbations, self.device)
