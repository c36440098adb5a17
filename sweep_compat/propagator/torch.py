"""PropTorch by the name and arguments of sweep-solver."""

import torch

from sweep_core._util.validators import named_arguments
from sweep_core.execution.propagator import documented
from sweep_torch import PropTorch as Solver

from .base import CALL, Translated

__all__ = ["PropTorch"]


class PropTorch(Translated, torch.nn.Module):
    """A propagator of sweep-solver that runs as :class:`sweep_torch.PropTorch`."""

    _kind, _xp, _backend = Solver, torch, "torch"

    @staticmethod
    def _wave(wavelet, like):
        return torch.as_tensor(wavelet).to(like)

    @staticmethod
    def _like(x, like):
        return x.to(like)

    @named_arguments({})
    @documented(CALL, array="tensor", taken="NumPy or torch; taken to the dtype and the device")
    def forward(self, wavelet, sources, receivers, models=None, adj=False, return_wavefield=False):
        """Models some shots."""
        return self._propagate(wavelet, sources, receivers, models, adj, return_wavefield)
