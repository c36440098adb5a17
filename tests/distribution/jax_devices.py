"""Programs that test_jax_pmap.py runs in separate processes, since JAX counts its devices once: 5 shots on many devices.

python jax_devices.py RESULTS.npz IMPL EQUATION          four virtual CPU devices
python jax_devices.py RESULTS.npz IMPL EQUATION PORT RANK     two processes with two devices each
"""

import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from sweep_core import CkptOptions, DomainError, MemoryOptions, ShotPlan, Shots, equations, ricker
from sweep_core.memory import ckpt
from sweep_jax import JaxExecutor, PropJax
from sweep_jax import distribution as d

SHAPE, NT, COUNT = (20, 24), 30, 5
rng = np.random.default_rng(3)
RANGES = {"vp": (1800, 2400), "vs": (800, 1200), "rho": (1500, 2200)}
TYPES = {"acoustic": ["h1"], "elastic": ["vx", "p"]}
WAVELETS = np.stack([ricker(25 + i, NT, 0.001) for i in range(COUNT)])
SOURCES = np.array([[20, 0], [3, 15], [1, 1], [7, 7], [9, 3]])
RECEIVERS = np.stack([rng.integers(0, 20, (6, 2)) for _ in range(COUNT)])
EQUATION = equations()[sys.argv[3]]()
MODELS = [rng.uniform(*RANGES[p.name], SHAPE) for p in EQUATION.parameters]
OBSERVED = 1e-2 * rng.standard_normal((COUNT, NT, 6, len(TYPES[EQUATION.name])))


def solver_of(impl, shape=SHAPE, **options):
    return PropJax(EQUATION, shape, 10.0, 0.001, pml_width=5, impl=impl, receiver_type=TYPES[EQUATION.name], **options)


def flat(misfit, gradients):
    return [np.asarray(x) for x in (misfit, *gradients)]


compiled = functools.cache(d.make_misfit_and_gradient)


def on_devices(solver, devices, shared=False):
    """Return misfit and gradient by pmap; if `shared`, all shots have the same wavelet and receivers."""
    plan = ShotPlan(COUNT, len(devices))

    def shards(x):
        return d.shard_shots(plan, x, devices)[0]

    wavelet = WAVELETS[0] if shared else shards(WAVELETS)
    receivers = RECEIVERS[0] if shared else shards(RECEIVERS)
    sources, weights = d.shard_shots(plan, SOURCES, devices)
    misfit, gradients = compiled(solver, tuple(devices))(MODELS, wavelet, sources, receivers, shards(OBSERVED), weights)
    return [np.asarray(x.addressable_shards[0].data) for x in (misfit, *gradients)]


def serial(impl, solver, shared=False):
    wavelet, receivers = (WAVELETS[0], RECEIVERS[0]) if shared else (WAVELETS, RECEIVERS)
    shots = Shots(wavelet, SOURCES, receivers)
    return flat(*JaxExecutor(impl).misfit_and_gradient(solver.problem, shots, MODELS, OBSERVED))


def by_executor(executor, problem):
    """Return misfit and gradient, then the record and a pull-back of masked receivers and one wavelet for all shots."""
    mask = np.arange(COUNT * 6).reshape(COUNT, 6) % 4 > 0
    result = flat(*executor.misfit_and_gradient(problem, Shots(WAVELETS, SOURCES, RECEIVERS), MODELS, OBSERVED))
    record, pull = executor.pullback(problem, Shots(WAVELETS[0], SOURCES, RECEIVERS, mask), MODELS)
    return [*result, *flat(record, pull(OBSERVED))]


def by_shard_map(solver, devices):
    """Return the results of the first four shots, one per device, by shard_map and by pmap; both sum inside."""

    def local(models, wavelet, sources, receivers, observed):
        def misfit(models):
            return 0.5 * jnp.sum((solver(wavelet, sources, receivers, models) - observed) ** 2)

        return lax.psum(jax.value_and_grad(misfit)(models), "devices")

    mesh = Mesh(np.array(devices), ("devices",))
    own = (P("devices"),) * 4
    mapped = jax.shard_map(local, mesh=mesh, in_specs=(P(), *own), out_specs=(P(), P()), check_vma=False)
    arguments = [x[:4] for x in (WAVELETS, SOURCES, RECEIVERS, OBSERVED)]
    placed = [d.shard_shots(ShotPlan(4, 4), x, devices)[0] for x in arguments]
    axes = (None, 0, 0, 0, 0)
    pmapped = jax.pmap(local, "devices", in_axes=axes, out_axes=None)(d.replicate(MODELS, devices), *placed)
    return flat(*jax.jit(mapped)(MODELS, *arguments)), flat(*pmapped)


def bad_source(solver, devices):
    """Return the error message, record and gradient for a source outside the model on one of the devices."""
    bad = SOURCES.copy()
    bad[1, 0] = 24
    try:
        plan = ShotPlan(COUNT, 4)
        sources, weights = d.shard_shots(plan, bad, devices)
        observed, _ = d.shard_shots(plan, OBSERVED, devices)
        wavelets, _ = d.shard_shots(plan, WAVELETS, devices)
        d.make_misfit_and_gradient(solver, devices)(MODELS, wavelets, sources, RECEIVERS[0], observed, weights)
        text = "nothing was refused"
    except DomainError as error:
        text = str(error)

    def local(models, sources):
        record, pull = jax.vjp(lambda models: solver(WAVELETS[:1], sources, RECEIVERS[0], models), models)
        return record, lax.psum(jnp.stack(pull(jnp.ones_like(record))[0]), "devices")

    sources, _ = d.shard_shots(ShotPlan(4, 4), bad[:4], devices)
    record, gradient = jax.pmap(local, "devices", in_axes=(None, 0))(d.replicate(MODELS, devices), sources)
    return text, np.asarray(record), np.asarray(gradient)


def unstable_second_device(solver):
    """Return records and gradients with an unstable model on the second device.

    The first slice detects it, before a wave reaches the receiver.
    """
    models = [np.full(solver.problem.grid.shape, RANGES[p.name][0], float) for p in EQUATION.parameters]

    def local(scale):
        record, pull = jax.vjp(
            lambda models: solver(WAVELETS[:1], np.array([[[2, 2]]]), np.array([[199, 9]]), models),
            [jnp.asarray(m).at[3, 4].multiply(scale) for m in models],
        )
        return record, pull(jnp.ones_like(record))[0][0]

    return [np.asarray(x) for x in jax.pmap(local)(jnp.array([1.0, 9.0]))]


def four_devices(impl):
    d.set_virtual_cpu_devices(4)
    devices, solver = d.local_devices(4), solver_of(impl)
    results = {"serial": serial(impl, solver), "serial-shared": serial(impl, solver, shared=True)}
    for count in (2, 4):
        for repeat in range(3 if count == 4 else 1):
            results[f"{count}-{repeat}"] = on_devices(solver, devices[:count])
    results["shared"] = on_devices(solver, devices, shared=True)
    four = Shots(*(x[:4] for x in (WAVELETS, SOURCES, RECEIVERS)))
    results["serial-four"] = flat(*JaxExecutor(impl).misfit_and_gradient(solver.problem, four, MODELS, OBSERVED[:4]))
    executors = {"devices": d.DevicesExecutor(impl, devices), "serial-devices": JaxExecutor(impl)}
    results |= {name: by_executor(executor, solver.problem) for name, executor in executors.items()}
    results["shard_map"], results["pmap"] = by_shard_map(solver, devices)
    bad = dict(zip(("text", "bad-record", "bad-gradient"), bad_source(solver, devices), strict=True))
    if impl == "c":
        ckpt.SEGMENT = 4
        memory = MemoryOptions("ckpt", ckpt=CkptOptions("recursive", count=2))
        sliced, wide = solver_of(impl, memory=memory), solver_of(impl, (20, 200), memory=memory)
        results["sliced"] = on_devices(sliced, devices)
        names = "sliced-text", "sliced-bad-record", "sliced-bad-gradient"
        bad |= dict(zip(names, bad_source(sliced, devices), strict=True))
        bad["fast-record"], bad["fast-gradient"] = unstable_second_device(wide)
    return {f"{k}/{i}": x for k, v in results.items() for i, x in enumerate(v)} | bad


def two_processes(impl, port, rank):
    d.set_virtual_cpu_devices(2)
    assert d.setup_distributed(f"localhost:{port}", 2, rank) == (rank, 2)
    solver = solver_of(impl)
    results = {"serial": serial(impl, solver), "all": on_devices(solver, jax.devices())}
    d.teardown_distributed()
    return {f"{k}/{i}": x for k, v in results.items() for i, x in enumerate(v)}


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    path, impl, _, *group = sys.argv[1:]
    np.savez(path, **(two_processes(impl, *map(int, group)) if group else four_devices(impl)))
