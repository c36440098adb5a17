"""PropJax with the name and arguments of sweep-solver."""

from typing import Any

import jax.numpy as jnp

from sweep_core._util.validators import named_arguments
from sweep_core.errors import UnsupportedError
from sweep_jax import PropJax as Solver

from .base import Translated

__all__ = ["PropJax"]


class PropJax(Translated):
    """A propagator of sweep-solver that runs as :class:`sweep_jax.PropJax`."""

    _kind, _xp, _backend = Solver, jnp, "jax"

    @staticmethod
    def _wave(wavelet: Any, like: Any) -> jnp.ndarray:
        return jnp.asarray(wavelet, jnp.asarray(like).dtype)

    @staticmethod
    def _like(x: Any, like: Any) -> jnp.ndarray:
        return x.astype(like.dtype)

    @named_arguments({})
    def __call__(
        self,
        wavelet: Any,
        sources: Any,
        receivers: Any,
        models: Any = None,
        return_wavefield: bool = False,
        adj: bool = False,
        wave_equation: Any = None,
        aux_args: Any = (),
    ) -> jnp.ndarray:
        """Return the record of some shots.

        Parameters
        ----------
        wavelet : (nt,), (nshots, nt), or (nsrc, nt) array of one shot with several sources
            Converted to the dtype of the models.
        sources : (nshots, ndim) or (1, nsrc, ndim) array
            Positions in grid cells, columns (x, z) or (x, y, z).
        receivers : (nshots, nrec, ndim) array
            Positions in grid cells, as `sources`.
        models : list of (nz, nx) arrays
            Models in the order of ``equation.models``.
        return_wavefield, adj, wave_equation, aux_args : optional
            Arguments of sweep-solver; only their default values are accepted.

        Returns
        -------
        (nshots, nt, nrec, nfield) array

        Raises
        ------
        SweepError
            As a call of :class:`sweep_jax.PropJax`; an UnsupportedError for functions that SWEEP lacks.
        """
        if wave_equation is not None or aux_args:
            raise UnsupportedError("wave_equation and aux_args are not supported; make a solver for that equation")
        return self._propagate(wavelet, sources, receivers, models, adj, return_wavefield)
