"""The problems that are timed, and how each side runs them: PropTorch and Deepwave, the same arrays in both."""

import attrs
import numpy as np
import torch

from sweep_core import Acoustic, MemoryOptions, ricker
from sweep_torch import PropTorch

DH, DT, SPEED, FREQ = 10.0, 0.001, 2500.0, 10.0


@attrs.frozen
class Case:
    """A homogeneous earth with sources and receivers along its top; float32."""

    name: str
    shape: tuple[int, int]
    pml: int
    steps: int
    shots: int
    order: int
    receivers: int = 100

    @property
    def cell_updates(self) -> int:
        """Cells, PML included, times steps and shots."""
        nz, nx = (n + 2 * self.pml for n in self.shape)
        return nz * nx * self.steps * self.shots

    def arrays(self):
        """(wavelet, sources, receivers, vp): NumPy, positions as (x, z)."""
        nx = self.shape[1]
        sources = np.stack([np.linspace(2, nx - 3, self.shots).astype(int), np.full(self.shots, 2)], axis=1)
        receivers = np.stack([np.linspace(0, nx - 1, self.receivers).astype(int), np.full(self.receivers, 3)], axis=1)
        wavelet = ricker(FREQ, self.steps, DT).astype(np.float32)
        return wavelet, sources, receivers, np.full(self.shape, SPEED, np.float32)


FORWARD = [
    Case(
        f"1000 x 1000 + 20, order {order}, {shots} shot{'s' * (shots > 1)}",
        (1000, 1000),
        20,
        250,
        shots,
        order,
    )
    for order in (4, 8)
    for shots in (1, 4)
]
GRADIENT = Case("94 x 288 + 50, nt 2000, 8 shots, order 4", (94, 288), 50, 2000, 8, 4, receivers=288)


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
            return self._run(self.vp) / -(DH**2)

    def gradient(self):
        vp = self.vp.clone().requires_grad_()
        record = self._run(vp)
        record.backward(torch.ones_like(record))
        return vp.grad
