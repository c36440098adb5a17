"""The problems that are timed, and how each side runs them, the same arrays in all."""

from math import prod

import attrs
import numpy as np
import torch

from sweep_core import Acoustic, MemoryOptions, ricker
from sweep_torch import PropTorch

DH, DT, SPEED, FREQ = 10.0, 0.001, 2500.0, 10.0


@attrs.frozen
class Case:
    """A homogeneous earth with sources and receivers along a line at a quarter of its depth, where what Devito's sponge
    reflects is small beside the direct wave; float32.
    """

    name: str
    shape: tuple[int, ...]
    pml: int
    steps: int
    shots: int
    order: int
    receivers: int = 100

    @property
    def cell_updates(self) -> int:
        """Cells, PML included, times steps and shots."""
        return prod(n + 2 * self.pml for n in self.shape) * self.steps * self.shots

    def arrays(self):
        """(wavelet, sources, receivers, vp): NumPy, positions as (x, z) or (x, y, z)."""
        nz, nx, middle = self.shape[0], self.shape[-1], [self.shape[0] // 2] * (len(self.shape) - 2)

        def line(first, last, count, depth):
            x = np.linspace(first, last, count).astype(int)
            return np.stack([x, *(np.full(count, m) for m in middle), np.full(count, depth)], axis=1)

        ends = (2, nx - 3) if self.shots > 1 else (nx // 2, nx // 2)
        sources, receivers = line(*ends, self.shots, nz // 4), line(0, nx - 1, self.receivers, nz // 4 + 1)
        wavelet = ricker(FREQ, self.steps, DT).astype(np.float32)
        return wavelet, sources, receivers, np.full(self.shape, SPEED, np.float32)


def _square(order, shots):
    return Case(
        f"1000 x 1000 + 20, order {order}, {shots} shot{'s' * (shots > 1)}", (1000, 1000), 20, 250, shots, order
    )


GRADIENT = Case("94 x 288 + 50, nt 2000, 8 shots, order 4", (94, 288), 50, 2000, 8, 4, receivers=288)
PLANE = [*(_square(order, shots) for order in (4, 8) for shots in (1, 4)), GRADIENT]
SPACE = [Case(f"150^3 + 20, nt 100, order {order}", (150, 150, 150), 20, 100, 1, order) for order in (4, 8)]
BARE = [
    Case(f"190^3, no absorbing layer, nt 100, order {order}", (190, 190, 190), 0, 100, 1, order) for order in (4, 8)
]


class Sweep:
    """Our side of a case."""

    def __init__(self, case: Case, strategy: str = "auto"):
        wavelet, sources, receivers, vp = case.arrays()
        self.solver = PropTorch(
            Acoustic(case.order),
            case.shape,
            DH,
            DT,
            pml_width=case.pml,
            impl="c",
            memory=MemoryOptions(strategy),
        )
        self.survey = torch.from_numpy(wavelet), sources, receivers
        self.vp = torch.from_numpy(vp)

    def forward(self):
        with torch.no_grad():
            return self.solver(*self.survey, models=[self.vp])[..., 0].transpose(1, 2)

    def gradient(self):
        vp = self.vp.clone().requires_grad_()
        record = self.solver(*self.survey, models=[vp])
        record.backward(torch.ones_like(record))
        return vp.grad


class Deepwave:
    """Deepwave's side: `scalar`, whose record is -cell volume times ours."""

    name = "Deepwave"

    def __init__(self, case: Case):
        import deepwave

        wavelet, sources, receivers, vp = case.arrays()
        self.scalar, self.case, self.vp = deepwave.scalar, case, torch.from_numpy(vp)
        self.wavelet = torch.from_numpy(wavelet).expand(case.shots, 1, -1).contiguous()
        self.sources = torch.from_numpy(sources[:, None, ::-1].copy())
        self.receivers = torch.from_numpy(np.tile(receivers[None, :, ::-1], (case.shots, 1, 1)))

    def _run(self, vp):
        return self.scalar(
            vp,
            DH,
            DT,
            source_amplitudes=self.wavelet,
            source_locations=self.sources,
            receiver_locations=self.receivers,
            accuracy=self.case.order,
            pml_width=self.case.pml,
            pml_freq=FREQ,
            max_vel=SPEED,
        )[-1]

    def forward(self):
        with torch.no_grad():
            return self._run(self.vp) / -(DH**self.vp.ndim)

    def gradient(self):
        vp = self.vp.clone().requires_grad_()
        record = self._run(vp)
        record.backward(torch.ones_like(record))
        return vp.grad


class Devito:
    """Devito's side: its leapfrog with a sponge as wide as our PML, compiled for the machine, shot after shot."""

    name = "Devito"

    def __init__(self, case: Case):
        import devito

        devito.configuration["log-level"] = "ERROR"
        devito.configuration["language"] = "openmp"
        wavelet, sources, receivers, vp = case.arrays()
        ndim, pml = len(case.shape), case.pml
        # Its axes are x, (y,) z; ours are turned.
        shape = tuple(n + 2 * pml for n in case.shape[::-1])
        extent = tuple((n - 1) * DH for n in shape)
        grid = devito.Grid(shape=shape, extent=extent, dtype=np.float32)
        m = devito.Function(name="m", grid=grid, space_order=case.order)
        m.data[:] = np.pad(1 / vp.T**2, pml, mode="edge")
        u = devito.TimeFunction(name="u", grid=grid, time_order=2, space_order=case.order)
        equation = m * u.dt2 - u.laplace
        if pml:
            damp = devito.Function(name="damp", grid=grid)
            damp.data[:] = self._sponge(shape, pml)
            equation += damp * u.dt
        self.case, self.u, self.sources = case, u, (sources + pml) * DH
        self.src = devito.SparseTimeFunction(name="src", grid=grid, npoint=1, nt=case.steps)
        self.src.data[:, 0] = wavelet
        self.rec = devito.SparseTimeFunction(name="rec", grid=grid, npoint=len(receivers), nt=case.steps)
        self.rec.coordinates.data[:] = (receivers + pml) * DH
        dt = grid.stepping_dim.spacing
        terms = [
            devito.Eq(u.forward, devito.solve(equation, u.forward)),
            self.src.inject(field=u.forward, expr=self.src * dt**2 / m),
            self.rec.interpolate(expr=u),
        ]
        self.operator, self.volume = devito.Operator(terms), DH**ndim

    @staticmethod
    def _sponge(shape, width):
        """Cerjan-like damping, s/m^2, as in Devito's own examples: 1.5 ln(1000) / width times distance squared."""
        damp = np.zeros(shape, np.float32)
        for axis, n in enumerate(shape):
            depth = np.maximum(width - np.minimum(np.arange(n), np.arange(n)[::-1]), 0) / width
            profile = 1.5 * np.log(1000) / (width * DH) * (depth - np.sin(2 * np.pi * depth) / (2 * np.pi)) / SPEED
            damp += profile.reshape([-1 if a == axis else 1 for a in range(len(shape))]).astype(np.float32)
        return damp

    def forward(self):
        records = []
        for source in self.sources:
            self.src.coordinates.data[0] = source
            self.u.data[:] = 0
            self.operator.apply(time_m=1, time_M=self.case.steps - 1, dt=DT)
            records.append(np.array(self.rec.data[:]).T)
        return torch.from_numpy(np.stack(records)) / self.volume
