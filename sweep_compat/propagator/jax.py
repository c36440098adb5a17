"""PropJax by the name and arguments of sweep-solver."""

import jax.numpy as jnp

from sweep_core.errors import UnsupportedError
from sweep_core.validators import named_arguments
from sweep_jax import PropJax as Solver

from .base import Translated


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
        """Models some shots.

        Parameters
        ----------
        wavelet : (nt,), (nshots, nt), or (nsrc, nt) of one shot with several sources
            Taken to the dtype of the models.
        sources : (nshots, ndim) or (1, nsrc, ndim)
            Cells, columns (x, z) or (x, y, z).
        receivers : (nshots, nrec, ndim)
        models : list of arrays
            In the order of ``equation.models``.

        Returns
        -------
        (nshots, nt, nrec, nfield) array

        Raises
        ------
        SweepError
        """
        if wave_equation is not None or aux_args:
            raise UnsupportedError("wave_equation and aux_args are not supported; make a solver of that equation")
        return self._propagate(wavelet, sources, receivers, models, adj, return_wavefield)
