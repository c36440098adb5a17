"""PropTorch with the name and arguments of sweep-solver."""

from typing import Any

import torch

from sweep_core._util.validators import named_arguments
from sweep_torch import PropTorch as Solver

from .base import Translated

__all__ = ["PropTorch"]


class PropTorch(Translated, torch.nn.Module):
    """A propagator of sweep-solver that runs as :class:`sweep_torch.PropTorch`."""

    _kind, _xp, _backend = Solver, torch, "torch"

    @staticmethod
    def _wave(wavelet: Any, like: Any) -> torch.Tensor:
        return torch.as_tensor(wavelet).to(like)

    @staticmethod
    def _like(x: Any, like: Any) -> torch.Tensor:
        return x.to(like)

    @named_arguments({})
    def forward(
        self,
        wavelet: Any,
        sources: Any,
        receivers: Any,
        models: Any = None,
        adj: bool = False,
        return_wavefield: bool = False,
    ) -> torch.Tensor:
        """Return the record of some shots.

        Parameters
        ----------
        wavelet : (nt,), (nshots, nt), or (nsrc, nt) array of one shot with several sources
            NumPy array or tensor; converted to the dtype and the device of the models.
        sources : (nshots, ndim) or (1, nsrc, ndim) array
            Positions in grid cells, columns (x, z) or (x, y, z).
        receivers : (nshots, nrec, ndim) array
            Positions in grid cells, as `sources`.
        models : list of (nz, nx) tensors
            Models in the order of ``equation.models``.
        adj, return_wavefield : optional
            Arguments of sweep-solver; only their default values are accepted.

        Returns
        -------
        (nshots, nt, nrec, nfield) tensor

        Raises
        ------
        SweepError
            As a call of :class:`sweep_torch.PropTorch`; an UnsupportedError for functions that SWEEP lacks.
        """
        return self._propagate(wavelet, sources, receivers, models, adj, return_wavefield)
