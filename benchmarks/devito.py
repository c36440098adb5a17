"""Devito on a case: its leapfrog with a sponge as wide as our PML, compiled for the machine, shot after shot.

Its axes are x, (y,) z, the reverse of ours.
"""

import math
from functools import cached_property

import numpy as np
import torch

from .cases import DH, DT, SPEED, Case


def sponge(shape, width) -> np.ndarray:
    """Return Cerjan-like damping, s/m^2, as in Devito's own examples: 1.5 ln(1000) / width times distance squared."""
    damp = np.zeros(shape, np.float32)
    for axis, n in enumerate(shape):
        depth = np.maximum(width - np.minimum(np.arange(n), np.arange(n)[::-1]), 0) / width
        profile = 1.5 * np.log(1000) / (width * DH) * (depth - np.sin(2 * np.pi * depth) / (2 * np.pi)) / SPEED
        damp += profile.reshape([-1 if a == axis else 1 for a in range(len(shape))]).astype(np.float32)
    return damp


class Devito:
    """Devito on a case; see :mod:`benchmarks.sides`."""

    name, packages, rounds, share = "Devito", ("devito",), math.inf, "all"

    def __init__(self, case: Case):
        import devito

        devito.configuration["log-level"] = "ERROR"
        devito.configuration["language"] = "openmp"
        wavelet, sources, receivers, vp = case.arrays()
        pml = case.pml
        shape = tuple(n + 2 * pml for n in case.shape[::-1])
        extent = tuple((n - 1) * DH for n in shape)
        self.grid = grid = devito.Grid(shape=shape, extent=extent, dtype=np.float32)
        self.m = devito.Function(name="m", grid=grid, space_order=case.order)
        self.m.data[:] = np.pad(1 / vp.T**2, pml, mode="edge")
        self.damp = 0
        if pml:
            self.damp = devito.Function(name="damp", grid=grid)
            self.damp.data[:] = sponge(shape, pml)
        self.src = devito.SparseTimeFunction(name="src", grid=grid, npoint=1, nt=case.steps + 1)
        self.src.data[:-1, 0] = wavelet
        self.rec = devito.SparseTimeFunction(name="rec", grid=grid, npoint=len(receivers), nt=case.steps + 1)
        self.rec.coordinates.data[:] = (receivers + pml) * DH
        self.devito, self.case, self.sources = devito, case, (sources + pml) * DH
        self.volume = DH ** len(shape)

    def _field(self, name, **kwargs):
        return self.devito.TimeFunction(name=name, grid=self.grid, time_order=2, space_order=self.case.order, **kwargs)

    def _operator(self, update, u, dt_u, points, *more):
        """Return the operator of a step of `u` to `update` with `points` injected, and `more` equations after it."""
        equation = self.m * u.dt2 - u.laplace + self.damp * dt_u
        step = self.devito.Eq(update, self.devito.solve(equation, update))
        injected = points.inject(field=update, expr=points * self.grid.stepping_dim.spacing**2 / self.m)
        return self.devito.Operator([step, injected, *more])

    def _modelling(self, u):
        return u, self._operator(u.forward, u, u.dt, self.src, self.rec.interpolate(expr=u))

    @cached_property
    def plain(self):
        """A field of three time levels, and the operator that fills `rec`."""
        return self._modelling(self._field("u"))

    @cached_property
    def saved(self):
        """A field of all time levels, and the operator that fills `rec`."""
        return self._modelling(self._field("u", save=self.case.steps + 1))

    @cached_property
    def imaging(self):
        """The adjoint field, the image, and the operator that injects `rec` and correlates with `saved`."""
        v, image = self._field("v"), self.devito.Function(name="image", grid=self.grid)
        correlate = self.devito.Inc(image, -self.saved[0] * v.dt2)
        return v, image, self._operator(v.backward, v, v.dt.T, self.rec, correlate)

    def _shot(self, source, u, operator):
        self.src.coordinates.data[0] = source
        u.data[: min(3, len(u.data))] = 0
        operator.apply(time_m=1, time_M=self.case.steps - 1, dt=DT)

    def forward(self):
        records = []
        for source in self.sources:
            self._shot(source, *self.plain)
            records.append(np.array(self.rec.data[:-1]).T)
        return torch.from_numpy(np.stack(records)) / self.volume

    def gradient(self):
        v, image, operator = self.imaging
        image.data[:] = 0
        for source in self.sources:
            self._shot(source, *self.saved)
            v.data[:] = 0
            operator.apply(time_m=1, time_M=self.case.steps - 1, dt=DT)
        inside = tuple(slice(self.case.pml, n - self.case.pml) for n in self.grid.shape)
        of_m = np.array(image.data[inside]).T / self.volume**2
        return torch.from_numpy(of_m * (-2 / SPEED**3))
