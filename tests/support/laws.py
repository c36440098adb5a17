"""Small problems and the table of all that can run them: what the laws are parametrised over."""

import importlib.util
import os
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import attrs
import numpy as np
import pytest

from sweep_core import (
    Acoustic,
    CkptOptions,
    MemoryOptions,
    Shots,
    SweepError,
    backend,
    backends,
    equations,
    make_problem,
    ricker,
)
from sweep_core.reference import ReferenceExecutor

ORDERS = (2, 4, 6, 8, 10)
PLAUSIBLE = {"vp": (1700, 2500), "vs": (800, 1200), "rho": (1800, 2300), "gamma": (5, 50)}
DT = 0.0015
OURS = ("reference", "torch", "jax")
STRATEGIES = {
    "full": MemoryOptions("full"),
    "auto": MemoryOptions("auto"),
    "ckpt": MemoryOptions("ckpt"),
    "ckpt-1": MemoryOptions("ckpt", ckpt=CkptOptions(chunks=1)),
    "ckpt-7": MemoryOptions("ckpt", ckpt=CkptOptions(chunks=7)),
    "ckpt-999": MemoryOptions("ckpt", ckpt=CkptOptions(chunks=999)),
}


def numpy_of(x) -> np.ndarray:
    """The values of an array of any backend."""
    return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)


def error(x, expected) -> float:
    """Largest difference over largest expected value."""
    return float(np.abs(numpy_of(x) - expected).max() / np.abs(expected).max())


def record_error(x, expected) -> float:
    """The worst field's, since stresses are a million times velocities: records (nshots, nt, nrec, nfield)."""
    return max(error(numpy_of(x)[..., i], expected[..., i]) for i in range(expected.shape[-1]))


def known_equations():
    """Every registered equation as a parameter of a test, those of plugins included."""
    return [pytest.param(cls, id=name) for name, cls in sorted(equations().items())]


# --- problems ---------------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Case:
    """A problem and one call of it, in float64 NumPy arrays. Cached, so that the reference runs it once."""

    arguments: dict
    shots: Shots
    models: list

    @property
    def problem(self):
        return make_problem(**self.arguments)

    def typed(self, dtype) -> "Case":
        shots = attrs.evolve(self.shots, wavelet=self.shots.wavelet.astype(dtype))
        return attrs.evolve(self, shots=shots, models=[m.astype(dtype) for m in self.models])

    def remembering(self, strategy: str) -> "Case":
        return attrs.evolve(self, arguments=self.arguments | {"memory": STRATEGIES[strategy]})

    def noise(self, seed=1) -> np.ndarray:
        """Random values in the shape of the record, of each field as large as it is there."""
        record = reference_record(self)
        scale = np.abs(record).max((0, 1, 2))
        return np.random.default_rng(seed).standard_normal(record.shape) * np.where(scale > 0, scale, 1)

    def direction(self, seed=2) -> list:
        """A random perturbation of the models."""
        rng = np.random.default_rng(seed)
        return [rng.standard_normal(m.shape) * m.mean() for m in self.models]


def random_models(equation, shape, rng) -> list:
    """Rough earths: no two cells alike, admissible for every parameter."""
    return [rng.uniform(*PLAUSIBLE.get(p.name, (0.05, 0.15)), shape) for p in equation.parameters]


def random_cells(rng, shape, *leading) -> np.ndarray:
    """Positions with columns (x, .., z)."""
    return np.stack([rng.integers(0, n, leading) for n in shape[::-1]], axis=-1)


@lru_cache
def case(equation=Acoustic, order=4, shape=(19, 23), nt=48, pml=(5, 0, 7, 3), nshots=3, nsrc=2, nrec=5, seed=0) -> Case:
    """A heterogeneous model with a PML of another width at each face, and random shots of random wavelets.

    Receivers sit on corners, edges and sources too; two receivers may share a cell. Wavelets are noise, so that no
    symmetry of a Ricker hides an error in time.
    """
    rng, eq = np.random.default_rng(seed), equation(spatial_order=order)
    sources = random_cells(rng, shape, nshots, nsrc)
    receivers = random_cells(rng, shape, nshots, nrec)
    receivers[:, 0] = sources[:, 0]
    receivers[:, 1] = 0
    receivers[:, 2] = np.array(shape[::-1]) - 1
    arguments = {
        **{"equation": eq, "shape": shape, "dh": (10.0, 8.0, 9.0)[: len(shape)], "dt": DT, "pml_width": pml},
        **{"receiver_type": [f.name for f in eq.fields_in(len(shape))], "memory": STRATEGIES["full"]},
    }
    wavelet = rng.standard_normal((nshots, nsrc, nt))
    return Case(arguments, Shots(wavelet, sources, receivers), random_models(eq, shape, rng))


VARIANTS = {
    "free surface": {"free_surface": True},
    "between nodes": {"between": True},
    "free surface, between nodes": {"free_surface": True, "between": True, "sources": True},
    "an earth each": {"earths": True, "sources": True},
    "increments between nodes, an earth each": {"source_scaling": "increment", "between": True, "earths": True},
    "edges as given": {"edge_gradient": "interior"},
    "no time dispersion, masked": {"time_dispersion": "corrected", "masked": True},
    "3-D": {"shape": (11, 12, 13), "sources": True},
    "3-D, free surface, between nodes": {"shape": (11, 12, 13), "free_surface": True, "between": True},
}
"""What a problem may have beside a 2-D grid with absorbing faces and a survey on its nodes; sources of every field."""


@lru_cache
def variant(name, equation=Acoustic, order=4, nt=40, seed=3) -> Case:
    """A `case` of VARIANTS: rough earth, layers of other widths at each face, receivers at the corners."""
    asked = dict(VARIANTS[name])
    shape = asked.pop("shape", (19, 23))
    between, earths, masked, every = (asked.pop(key, False) for key in ("between", "earths", "masked", "sources"))
    rng, eq, ndim = np.random.default_rng(seed), equation(spatial_order=order), len(shape)
    top, names = int("free_surface" in asked), [f.name for f in eq.fields_in(ndim)]
    low, high = np.array([0] * (ndim - 1) + [top]), np.array(shape[::-1]) - 1
    sources, receivers = (rng.integers(low, high + 1, (3, n, ndim)) for n in (2, 5))
    receivers[:, 0], receivers[:, 1], receivers[:, 2] = sources[:, 0], low, high
    if between:
        sources, receivers = (
            np.clip(x + rng.uniform(-0.5, 0.5, x.shape), low + 0.2 * top, high) for x in (sources, receivers)
        )
    mask = rng.random((3, 5)) < 0.7 if masked else None
    if masked:
        receivers[~mask] = -99
    arguments = {
        **{"equation": eq, "shape": shape, "dh": (10.0, 8.0, 9.0)[:ndim], "dt": DT, "memory": STRATEGIES["full"]},
        **{
            "pml_width": (5 - 5 * top, 4, 7, 6, 4, 5)[: 2 * ndim],
            "receiver_type": names,
        },
        **({"source_type": names} if every else {}),
        **asked,
    }
    models = random_models(eq, (3, *shape) if earths else shape, rng)
    return Case(arguments, Shots(rng.standard_normal((3, 2, nt)), sources, receivers, mask), models)


def ricker_case(nt=60, **options) -> Case:
    """A `case` with one smooth wavelet for all."""
    made = case(nt=nt, **options)
    return attrs.evolve(made, shots=attrs.evolve(made.shots, wavelet=ricker(30, nt, DT, delay=0.03)))


@lru_cache
def reference_record(made: Case) -> np.ndarray:
    return ReferenceExecutor().forward(made.problem, made.shots, made.models)


@lru_cache
def reference_born(made: Case) -> np.ndarray:
    return ReferenceExecutor().born(made.problem, made.shots, made.models, made.direction())


def born_of_cell(made: Case, cell, parameter=0) -> np.ndarray:
    """The derivative of the record in one cell of one model, exact to rounding."""
    direction = [np.zeros(m.shape) for m in made.models]
    direction[parameter][cell] = 1
    return ReferenceExecutor().born(made.problem, made.shots, made.models, direction)


# --- what runs them ---------------------------------------------------------------------------------------------------


@attrs.frozen
class Entry:
    """One line of the table of executors.

    `make` gives an executor. `solver` gives the function (wavelet, models) -> record of a case, and `pullback` the
    gradients (of wavelet, of models) for a cotangent: what the protocol leaves to a framework.
    """

    name: str
    make: Callable[[], Any]
    solver: Callable | None = None
    pullback: Callable | None = None

    def executor_for(self, problem):
        """The executor; the test is skipped where it does not support the problem, with its reason."""
        try:
            executor = self.make()
        except (SweepError, ImportError) as reason:
            self._absent(str(reason))
        support = executor.supports(problem)
        if not support:
            self._absent(support.reason)
        return executor

    def _absent(self, reason: str):
        """Skips the test, unless compiled code was promised and it is not the equation that lacks it."""
        promised = os.environ.get("SWEEP_REQUIRE_NATIVE") and self.name in ("torch-c", "jax-c")
        if promised and "no compiled kernel" not in reason:
            pytest.fail(f"{self.name}: {reason}")
        pytest.skip(f"{self.name}: {reason}")

    def forward(self, made: Case) -> np.ndarray:
        return numpy_of(self.executor_for(made.problem).forward(made.problem, made.shots, made.models))

    def misfit_and_gradient(self, made: Case, observed):
        executor = self.executor_for(made.problem)
        misfit, gradient = executor.misfit_and_gradient(made.problem, made.shots, made.models, observed)
        return float(misfit), [numpy_of(g) for g in gradient]

    def born(self, made: Case) -> np.ndarray:
        executor = self.executor_for(made.problem)
        return numpy_of(executor.born(made.problem, made.shots, made.models, made.direction()))

    def jacobian_transposed(self, made: Case, cotangent) -> list:
        """The gradient whose residual is `cotangent`, in the dtype of the case."""
        cotangent = cotangent.astype(made.models[0].dtype)
        return self.misfit_and_gradient(made, self.forward(made) - cotangent)[1]

    def pulled_back(self, made: Case, cotangent):
        self.executor_for(made.problem)
        return self.pullback(made, cotangent)


def _torch(impl, device="cpu"):
    def make():
        from sweep_torch import TorchExecutor

        return TorchExecutor(impl, device)

    def solver(made):
        from sweep_torch import PropTorch

        prop = PropTorch(**made.arguments, impl=impl, dev=device)
        survey = {name: getattr(made.shots, name) for name in ("sources", "receivers")}
        return lambda wavelet, models: prop(wavelet, **survey, models=models, receiver_mask=made.shots.mask)

    def pullback(made, cotangent):
        import torch

        arrays = [torch.tensor(x, device=device, requires_grad=True) for x in (made.shots.wavelet, *made.models)]
        record = solver(made)(arrays[0], arrays[1:])
        first, *rest = torch.autograd.grad(record, arrays, torch.tensor(cotangent, device=device, dtype=record.dtype))
        return numpy_of(first), [numpy_of(x) for x in rest]

    return Entry(f"torch-{impl}" + ("" if device == "cpu" else f"-{device}"), make, solver, pullback)


def _jax(impl, device="cpu"):
    def make():
        import sweep_jax

        return sweep_jax.JaxExecutor(impl)

    def solver(made):
        from sweep_jax import PropJax

        prop = PropJax(**made.arguments, impl=impl)

        def call(wavelet, models):
            survey = {name: getattr(made.shots, name) for name in ("sources", "receivers")}
            return prop(wavelet, **survey, models=models, receiver_mask=made.shots.mask)

        return call

    def pullback(made, cotangent):
        import jax
        import jax.numpy as jnp

        arrays = jnp.asarray(made.shots.wavelet), [jnp.asarray(m) for m in made.models]
        record, back = jax.vjp(solver(made), *arrays)
        first, rest = back(jnp.asarray(cotangent, record.dtype))
        return numpy_of(first), [numpy_of(x) for x in rest]

    return Entry(f"jax-{impl}" + ("" if device == "cpu" else f"-{device}"), make, solver, pullback)


def _strangers():
    """Backends of other packages that this environment has registered."""
    names = [status.name for status in backends() if status.available and status.name not in OURS]
    return [Entry(name, lambda name=name: backend(name)) for name in names]


def has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


TABLE = (
    Entry("reference", ReferenceExecutor),
    *(_torch(impl) for impl in ("eager", "c") if has("torch")),
    *(_jax(impl) for impl in ("eager", "c") if has("jax") and has("sweep_jax.executor")),
    *_strangers(),
    *(_torch(impl, "cuda") for impl in ("eager", "c") if has("torch")),
)


def executors(*names, gradient=False, pullback=False):
    """The table as parameters of a test: all of it, or `names`; with `gradient`, what is not the reference."""
    return [
        pytest.param(entry, id=entry.name, marks=[pytest.mark.gpu] if entry.name.endswith("cuda") else [])
        for entry in TABLE
        if (not names or entry.name in names)
        and not (gradient and entry.name == "reference")
        and not (pullback and entry.pullback is None)
    ]


def executors_and_orders(*names, **options):
    """Each with each, but JAX, which compiles for seconds whenever a problem is new, with two orders."""
    return [
        pytest.param(*entry.values, order, id=f"{entry.id}-{order}", marks=entry.marks)
        for entry in executors(*names, **options)
        for order in (ORDERS if "jax" not in entry.id else (4, 8))
    ]


def executors_and_variants(**options):
    """Each with every variant of every equation, but JAX, which compiles for seconds, with each of one in turn.

    Of all equations where the surface is free, which each of them treats in its own way.
    """
    return [
        pytest.param(*entry.values, name, *equation.values, id=f"{equation.id}-{name}-{entry.id}", marks=entry.marks)
        for entry in executors(**options)
        for i, name in enumerate(VARIANTS)
        for j, equation in enumerate(known_equations())
        if "jax" not in entry.id or name == "free surface" or (i + j) % len(known_equations()) == 0
    ]


def forget() -> None:
    """Drops what JAX has compiled: threads and instruction sets are constants of it."""
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
