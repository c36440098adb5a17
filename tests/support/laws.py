"""Cases of the laws and the table of executors, as parameters of tests; sweep_core.testing has the laws."""

import importlib.util
import os
import sys
from collections.abc import Callable

import attrs
import numpy as np
import pytest

from sweep_core import Acoustic, Snapshots, equations
from sweep_core._util.arrays import numpy_of
from sweep_core.equations import BROUGHT
from sweep_core.execution.answers import error as _error
from sweep_core.execution.answers import record_error, unequal
from sweep_core.native.codegen import shipped
from sweep_core.testing import cases, entries
from sweep_core.testing.cases import (
    DH,
    ONE_AXIS,
    STRATEGIES,
    VARIANTS,
    Case,
    born_of_cell,
    case,
    of_another_wavelet,
    random_cells,
    reference_born,
    reference_record,
    ricker_case,
    stable_dt,
)
from sweep_core.testing.entries import Entry

__all__ = [
    "DH",
    "ONE_AXIS",
    "STRATEGIES",
    "VARIANTS",
    "Case",
    "born_of_cell",
    "case",
    "of_another_wavelet",
    "random_cells",
    "record_error",
    "reference_born",
    "reference_record",
    "ricker_case",
    "stable_dt",
    "variant",
]
ORDERS = (2, 4, 6, 8, 10)
OURS = ("reference", "torch", "jax", "dask")
"""Backends whose entries are named above, and Dask, whose workers run one of them (tests/distribution/test_dask.py)."""


def error(x, expected) -> float:
    """Return the largest difference over the largest expected value, of arrays of any backend."""
    return _error(numpy_of(x), expected)


def wavelet_and_adjoint(entry, setup):
    """Check <F x, y> = <x, F^T y> in the wavelet, whose record is linear in it."""
    y = setup.noise()
    pulled, _ = entry.pulled_back(setup, y)
    x, pushed = of_another_wavelet(setup)
    assert unequal((pushed * y).sum(), (x * pulled).sum(), [x * pulled]) < 1e-12


ASKED = Snapshots(["h1"], every=5, region=((2, 15), (4, 19)))


def with_snapshots(this):
    """Return the function vp -> (misfit of the record, snapshots) of a solver with its survey and weights."""

    def both(vp, wavelet=this.wavelet):
        record, snapshots = this.solver(wavelet, **this.survey, models=[vp], snapshots=ASKED)
        return (record * this.weights).sum(), snapshots["h1"]

    return both


def born_of_snapshots(example: Case, request: Snapshots) -> np.ndarray:
    """Return the derivative of snapshots, (nshots, nsnap, nz, nx), along `example.direction()`.

    Receivers in all cells of the region record it.
    """
    (top, bottom), (left, right) = request.region
    z, x = np.mgrid[top:bottom, left:right]
    receivers = np.broadcast_to(np.stack([x, z], -1).reshape(-1, 2), (len(example.shots), z.size, 2))
    everywhere = attrs.evolve(example, shots=attrs.evolve(example.shots, receivers=receivers))
    snapshots = reference_born(everywhere)[:, :: request.every, :, example.problem.receiver_type.index(*request.fields)]
    return snapshots.reshape(*snapshots.shape[:2], *z.shape)


SHIPPED_NAMES = {equation.name for equation in shipped()}
"""Equations that the installed libraries hold: three that use every operator of compiled code."""


def shipped_equations():
    """Return the equations of installed libraries and of plugins as parameters of a test.

    They are enough for tests of what a framework does with a solver.
    """
    return [param for param in known_equations() if not param.marks]


def known_equations():
    """Return every registered equation as a parameter of a test; ours that are compiled on first use are marked."""
    further = {cls.name for cls in BROUGHT} - SHIPPED_NAMES
    return [
        pytest.param(cls, id=name, marks=[pytest.mark.slow, pytest.mark.further] if name in further else [])
        for name, cls in sorted(equations().items())
    ]


def variant(name, equation=Acoustic, *arguments, **options) -> Case:
    """Return a variant of sweep_core.testing; skip the test if the equation lacks its number of dimensions."""
    ndim = len({**VARIANTS, **ONE_AXIS}[name].get("shape", cases.default_shape(equation())))
    if ndim not in equation().ndims:
        pytest.skip(f"{equation.name} has no {ndim}-D form")
    return cases.variant(name, equation, *arguments, **options)


# --- executors --------------------------------------------------------------------------------------------------------


@attrs.frozen
class Framework(Entry):
    """One line of the table of executors, with functions of the framework beyond the protocol.

    `solver` returns the function (wavelet, models) -> record of a case. `pullback` returns the gradients (of wavelet,
    of models) for a cotangent.
    """

    solver: Callable | None = None
    pullback: Callable | None = None

    def absent(self, reason):
        """Skip the test, or fail if SWEEP_REQUIRE_NATIVE is set and the equation has compiled code."""
        is_required = os.environ.get("SWEEP_REQUIRE_NATIVE") and self.name in ("torch-c", "jax-c")
        if is_required and "no compiled kernel" not in reason and "run backward in time" not in reason:
            pytest.fail(f"{self.name}: {reason}")
        super().absent(reason)

    def pulled_back(self, example: Case, cotangent):
        self.executor_for(example.problem)
        return self.pullback(example, cotangent)


def _torch(impl, device="cpu"):
    def make():
        from sweep_torch import TorchExecutor

        return TorchExecutor(impl, device)

    def solver(example):
        from sweep_torch import PropTorch

        prop = PropTorch(**example.arguments, impl=impl, dev=device)
        survey = {name: getattr(example.shots, name) for name in ("sources", "receivers")}
        return lambda wavelet, models: prop(wavelet, **survey, models=models, receiver_mask=example.shots.mask)

    def pullback(example, cotangent):
        import torch

        arrays = [torch.tensor(x, device=device, requires_grad=True) for x in (example.shots.wavelet, *example.models)]
        record = solver(example)(arrays[0], arrays[1:])
        first, *rest = torch.autograd.grad(record, arrays, torch.tensor(cotangent, device=device, dtype=record.dtype))
        return numpy_of(first), [numpy_of(x) for x in rest]

    return Framework(f"torch-{impl}" + ("" if device == "cpu" else f"-{device}"), make, 0.0, solver, pullback)


def _jax(impl):
    def make():
        import sweep_jax

        return sweep_jax.JaxExecutor(impl)

    def solver(example):
        from sweep_jax import PropJax

        prop = PropJax(**example.arguments, impl=impl)

        def call(wavelet, models):
            survey = {name: getattr(example.shots, name) for name in ("sources", "receivers")}
            return prop(wavelet, **survey, models=models, receiver_mask=example.shots.mask)

        return call

    def pullback(example, cotangent):
        import jax
        import jax.numpy as jnp

        arrays = jnp.asarray(example.shots.wavelet), [jnp.asarray(m) for m in example.models]
        record, back = jax.vjp(solver(example), *arrays)
        first, rest = back(jnp.asarray(cotangent, record.dtype))
        return numpy_of(first), [numpy_of(x) for x in rest]

    # XLA fuses the steps of a chunk differently.
    rounding = 1e-12 if impl == "eager" else 0.0
    return Framework(f"jax-{impl}", make, rounding, solver, pullback)


def has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


TABLE = (
    *entries.entries("reference"),
    *(_torch(impl) for impl in ("eager", "c") if has("torch")),
    *(_jax(impl) for impl in ("eager", "c") if has("jax") and has("sweep_jax.executor")),
    *(entry for entry in entries.entries() if entry.name.partition("-")[0] not in OURS),
    *(_torch(impl, "cuda") for impl in ("eager", "c") if has("torch")),
)


def executors(*names, gradient=False, pullback=False):
    """Return the table (all of it, or `names`) as parameters of a test; `gradient` leaves out the reference."""
    return [
        pytest.param(entry, id=entry.name, marks=[pytest.mark.gpu] if entry.name.endswith("cuda") else [])
        for entry in TABLE
        if (not names or entry.name in names)
        and not (gradient and entry.name == "reference")
        and not (pullback and not getattr(entry, "pullback", None))
    ]


def executors_and_orders(*names, **options):
    """Return each executor with each order; JAX compiles a new problem for seconds and has only two orders."""
    return [
        pytest.param(*entry.values, order, id=f"{entry.id}-{order}", marks=entry.marks)
        for entry in executors(*names, **options)
        for order in (ORDERS if "jax" not in entry.id else (4, 8))
    ]


def executors_and_variants(**options):
    """Return each executor with every variant of every equation; JAX has one equation per variant, in turn.

    JAX compiles for seconds. A free surface runs with all equations, because each of them treats it differently.
    """
    return [
        pytest.param(
            *entry.values,
            name,
            *equation.values,
            id=f"{equation.id}-{name}-{entry.id}",
            marks=[*entry.marks, *equation.marks],
        )
        for entry in executors(**options)
        for i, name in enumerate(VARIANTS)
        for j, equation in enumerate(known_equations())
        if "jax" not in entry.id or name == "free surface" or (i + j) % len(known_equations()) == 0
    ]


def forget() -> None:
    """Drop JAX's compiled programs: numbers of threads and instruction sets are constants in them."""
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
