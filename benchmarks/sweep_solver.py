"""sweep-solver, the SWEEP of DeepWave-KAUST, on a case: eager PyTorch and JAX.

It adds the wavelet as it is and then records: its sample t is our sample t + 1 times cell volume / (dt v)^2, with v at
the source.
On a CPU it is slow, so it computes only the first steps of a case; the comparison is of the time per cell and step. It
keeps all history, its fastest strategy.
"""

import math

import numpy as np
import torch

from .cases import DH, DT, Case
from .sides import TorchSide


def _solver(case: Case, kind, backend):
    from sweep.equations import Acoustic, Acoustic3D
    from sweep.propagator import Full

    equation = {2: Acoustic, 3: Acoustic3D}[len(case.shape)](spatial_order=case.order, backend=backend, device="cpu")
    return kind(equation, shape=case.shape, dh=DH, dt=DT, abcn=case.pml, memory=Full())


def _survey(case: Case):
    """Return (wavelet, sources, receivers) and vp."""
    wavelet, sources, receivers, vp = case.arrays()
    return (wavelet, sources, np.tile(receivers, (case.shots, 1, 1))), vp


def _ours(record, sources, vp):
    """Return its record, (shots, steps, receivers, 1), in our layout and units."""
    at_source = vp[tuple(sources.T[::-1])][:, None, None]
    return record[..., 0].swapaxes(1, 2) * (DT * at_source) ** 2 / DH**vp.ndim


class Eager(TorchSide):
    """sweep-solver with eager PyTorch, since its compiled code needs a GPU."""

    name, packages, rounds, updates = "sweep-solver", ("sweep-solver",), 1, 3e7
    share = "first steps, 0.03 Gcell updates or 8 steps; one round"

    def __init__(self, case: Case):
        from sweep.propagator.torch import PropTorch

        self.case = case.first_steps(self.updates)
        self.survey, vp = _survey(self.case)
        self.solver, self.vp = _solver(case, PropTorch, "torch"), torch.from_numpy(vp)

    def record(self, vp):
        record = _ours(self.solver(*self.survey, models=[vp]), self.survey[1], vp)
        return torch.nn.functional.pad(record[..., :-1], (1, 0))


class Jax:
    """sweep-solver with JAX, jitted."""

    name, packages, rounds, updates = "sweep-solver JAX", ("sweep-solver", "jax"), math.inf, 1e8
    share = "first steps, 0.1 Gcell updates or 8 steps"

    def __init__(self, case: Case):
        import jax
        from sweep.propagator.jax import PropJax

        self.case = case.first_steps(self.updates)
        survey, vp = _survey(self.case)
        self.vp = jax.numpy.asarray(vp)
        solver = _solver(case, PropJax, "jax")

        def record(vp):
            record = _ours(solver(*survey, models=[vp]), survey[1], vp)
            return jax.numpy.pad(record[..., :-1], ((0, 0), (0, 0), (1, 0)))

        self._record = jax.jit(record)
        self._gradient = jax.jit(jax.grad(lambda vp: (record(vp) ** 2).sum() / 2))

    def forward(self):
        return torch.from_numpy(np.array(self._record(self.vp)))

    def gradient(self):
        return torch.from_numpy(np.array(self._gradient(self.vp)))
