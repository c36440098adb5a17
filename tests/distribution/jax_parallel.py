"""Run by test_jax_parallel.py in a process of its own, since JAX counts its devices once: parallel() on five devices.

python jax_parallel.py RESULTS.json IMPL SCOPE
"""

import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from sweep_core import Shots, Snapshots, SweepError, equations
from sweep_core.execution.answers import error
from sweep_core.inversion import Stage, invert
from sweep_core.native.codegen import shipped
from sweep_core.testing.cases import case, variant
from sweep_jax import PropJax, distribution, parallel

DEVICES = [f"cpu:{i}" for i in range(5)]


def record_and_gradients(solver, example, wavelet=None):
    """Return the record, and the gradients in the wavelet and each model for a fixed cotangent."""
    shots = example.shots

    def call(wavelet, models):
        return solver(wavelet, shots.sources, shots.receivers, models=models, receiver_mask=shots.mask)

    record, back = jax.vjp(call, jnp.asarray(shots.wavelet), [jnp.asarray(m) for m in example.models])
    first, rest = back(jnp.asarray(np.random.default_rng(1).standard_normal(record.shape)))
    assert record.devices() == first.devices() == {jax.devices()[0]}
    return [np.asarray(x) for x in (record, first, *rest)]


def differences(example, impl, counts):
    """Return, by the number of devices, the values of the record that differ and the largest error of a gradient."""
    solver = PropJax(**example.arguments, impl=impl)
    record, *expected = record_and_gradients(solver, example)
    results = {}
    for count in counts:
        own, *gradients = record_and_gradients(parallel(solver, DEVICES[:count]), example)
        pairs = [(a, b) for a, b in zip(gradients, expected, strict=True) if b.any()]
        results[count] = int((own != record).sum()), error(own, record), max(error(a, b) for a, b in pairs)
    return results


SHIPPED_NAMES = {equation.name for equation in shipped()}


def laws(impl, scope):
    shots = (1, 2, 5, 7) if scope == "all" else (5,)
    results = {
        f"{name}, {nshots} shots": differences(
            case(cls, nshots=nshots, nt=16), impl, (1, 2, 4, 5) if scope == "all" else (4,)
        )
        for name, cls in sorted(equations().items())
        if scope == "all" or name in SHIPPED_NAMES
        for nshots in shots
    }
    for name in ("no time dispersion, masked", "increments between nodes, an earth each"):
        results[name] = differences(variant(name, nt=16), impl, (2,))
    return results


def message(function, *arguments, **options):
    try:
        function(*arguments, **options)
    except SweepError as failure:
        return f"{type(failure).__name__}: {failure}"
    return "nothing was refused"


def operations(impl):
    """Return what the operations of two devices and of one have in common, and messages."""
    example = case(nshots=5, nt=24)
    solver = PropJax(**example.arguments, models=[jnp.asarray(m) for m in example.models], impl=impl)
    two = parallel(solver, DEVICES[:2])
    survey = jnp.asarray(example.shots.wavelet), example.shots.sources, example.shots.receivers
    shots, models = Shots(*survey), [jnp.asarray(m) for m in example.models]
    asked, direction = Snapshots(["h1"], every=5), [jnp.asarray(d) for d in example.direction()]
    pairs = {
        "snapshots": [f(*survey, snapshots=asked)[1]["h1"] for f in (two, solver)],
        "born": [f.born(*survey, direction) for f in (two, solver)],
        "born of a wavelet": [f.born(*survey, direction, d_wavelet=survey[0]) for f in (two, solver)],
    }
    observed = 0.9 * solver(*survey)
    for f in (two, solver):
        executor, problem = f.executor, solver.problem
        assert executor.supports(problem)
        record, pull = executor.pullback(problem, shots, models)
        misfit, gradients = executor.misfit_and_gradient(problem, shots, models, observed)
        own = record, *pull(observed), misfit, *gradients, executor.born(problem, shots, models, direction)
        for i, x in enumerate((*own, executor.forward(problem, shots, models))):
            pairs.setdefault(f"executor {i}", []).append(x)
        start = [0.99 * np.asarray(models[0])]
        inverted = invert(f, *survey, np.asarray(observed), start, Stage(2), batch=5, progress=False)
        pairs.setdefault("invert", []).append(inverted.models[0])
    none = Shots(survey[0][:0], survey[1][:0], survey[2][:0])
    bad = example.shots.sources.copy()
    bad[4, 1, 0] = 99
    messages = {
        "jit": message(jax.jit(two), survey[0], *survey[1:]),
        "vmap": message(jax.vmap(lambda w: two(w, *survey[1:])), jnp.stack([survey[0]] * 2)),
        "shot": message(two, survey[0], bad, survey[2]),
        "twice": message(parallel, solver, ["cpu:0", "cpu:0"]),
        "none": message(parallel, solver, []),
        "missing": message(parallel, solver, ["cpu:9"]),
        "elsewhere": message(parallel, PropJax(**example.arguments, dev="cpu:1"), DEVICES),
        "no solver": message(parallel, two, DEVICES),
        "keyword": message(two, *survey, nt=3),
    }
    return {
        "errors": {name: error(np.asarray(a), np.asarray(b)) for name, (a, b) in pairs.items()},
        "messages": messages,
        "no shots": [list(two(none.wavelet, none.sources, none.receivers).shape)],
        "about": [repr(two) == f"parallel({solver!r}, devices={[str(d) for d in two.devices]})", two.explain()],
    }


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    path, impl, scope = sys.argv[1:]
    distribution.set_virtual_cpu_devices(5)
    Path(path).write_text(json.dumps({"laws": laws(impl, scope)} | (operations(impl) if scope == "some" else {})))
