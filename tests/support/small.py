"""A problem of 30 x 40 cells for small tests."""

import numpy as np
import pytest

import sweep_core as sweep
from sweep_core import Acoustic, Shots, make_problem

NZ, NX, DT, NT = 30, 40, 0.001, 100
VP = np.full((NZ, NX), 2000.0)
reference = sweep.backend("reference")


def problem(shape=(NZ, NX), dh=10.0, dt=DT, order=4, **options):
    return make_problem(Acoustic(spatial_order=order), shape, dh, dt, **options)


def record(example, wavelet, sources, receivers, models=(VP,)):
    return reference.forward(example, Shots(wavelet, np.array(sources), np.array(receivers)), list(models))


def torch_solver(**options):
    pytest.importorskip("torch")
    from sweep_torch import PropTorch

    return PropTorch(Acoustic(), **{"shape": (NZ, NX), "dh": 10.0, "dt": DT} | options)


def jax_solver(**options):
    """Return a solver in JAX."""
    pytest.importorskip("jax")
    from sweep_jax import PropJax

    return PropJax(Acoustic(), shape=(NZ, NX), dh=10.0, dt=DT, **options)
