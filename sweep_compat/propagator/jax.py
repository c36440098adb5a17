"""PropJax by the name and arguments of sweep-solver."""

import jax.numpy as jnp

from sweep_core._util.validators import named_arguments
from sweep_core.errors import UnsupportedError
from sweep_core.execution.propagator import documented
from sweep_jax import PropJax as Solver

from .base import CALL, Translated

__all__ = ["PropJax"]


class PropJax(Translated):
    """A propagator of sweep-solver that runs as :class:`sweep_jax.PropJax`."""

    _kind, _xp, _backend = Solver, jnp, "jax"

    @staticmethod
    def _wave(wavelet, like):
        return jnp.asarray(wavelet, jnp.asarray(like).dtype)

    @staticmethod
    def _like(x, like):
        return x.astype(like.dtype)

    @named_arguments({})
    @documented(CALL, array="array", taken="Taken to the dtype")
    def __call__(
        self,
        wavelet,
        sources,
        receivers,
        models=None,
        return_wavefield=False,
        adj=False,
        wave_equation=None,
        aux_args=(),
    ):
        """Models some shots."""
        if wave_equation is not None or aux_args:
            raise UnsupportedError("wave_equation and aux_args are not supported; make a solver of that equation")
        return self._propagate(wavelet, sources, receivers, models, adj, return_wavefield)
