"""SWEEP and Deepwave on a case.

A side gives its record, (shots, receivers, steps), in our units, and the gradient of half the sum of its squares with
respect to vp. A peer also states its name, the packages that it needs, its share of a case, and its largest number of
rounds.
"""

import math
import warnings

import numpy as np
import torch

from sweep_core import Acoustic, MemoryOptions
from sweep_torch import PropTorch

from .cases import DH, DT, FREQ, SPEED, Case


class TorchSide:
    """A side that torch differentiates: it has `vp` and `record(vp)`."""

    def forward(self):
        with torch.no_grad():
            return self.record(self.vp)

    def gradient(self):
        vp = self.vp.clone().requires_grad_()
        record = self.record(vp)
        record.backward(record.detach())
        return vp.grad


class Sweep(TorchSide):
    """SWEEP on a case."""

    def __init__(
        self, case: Case, memory: str | MemoryOptions = "auto", device: str = "cpu", edge_gradient: str = "exact"
    ):
        wavelet, sources, receivers, vp = case.arrays()
        self.solver = PropTorch(
            Acoustic(case.order),
            case.shape,
            DH,
            DT,
            dev=device,
            pml_width=case.pml,
            edge_gradient=edge_gradient,
            impl="c",
            memory=MemoryOptions(memory) if isinstance(memory, str) else memory,
        )
        self.case, self.survey = case, (torch.from_numpy(wavelet).to(device), sources, receivers)
        self.vp = torch.from_numpy(vp).to(device)

    def record(self, vp):
        return self.solver(*self.survey, models=[vp])[..., 0].transpose(1, 2)


class Deepwave(TorchSide):
    """`deepwave.scalar` on a case, whose record is -cell volume times ours."""

    name, packages, rounds, share = "Deepwave", ("deepwave",), math.inf, "all"

    def __init__(self, case: Case, device: str = "cpu"):
        import deepwave

        # Without a layer its field is zero outside, as ours is.
        warnings.filterwarnings("ignore", category=deepwave.ZeroWidthFaceWarning)
        wavelet, sources, receivers, vp = case.arrays()
        self.scalar, self.case, self.vp = deepwave.scalar, case, torch.from_numpy(vp).to(device)
        self.wavelet = torch.from_numpy(wavelet).expand(case.shots, 1, -1).to(device).contiguous()
        self.sources = torch.from_numpy(sources[:, None, ::-1].copy()).to(device)
        self.receivers = torch.from_numpy(np.tile(receivers[None, :, ::-1], (case.shots, 1, 1))).to(device)

    def record(self, vp):
        record = self.scalar(
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
        return record / -(DH**vp.ndim)
