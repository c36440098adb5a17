"""WaveSolver: the calls and the documentation that the solvers of all frameworks share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, overload

import numpy as np

from .._util import peer_names
from .._util.validators import named_arguments
from ..acquisition.snapshots import Snapshots
from ..errors import DomainError, OptionError
from ..problem import Problem
from ..typing import Mask, Models, Positions, Record, Wavelet

A = TypeVar("A", bound=Record)
"""The array of a framework."""

if TYPE_CHECKING:

    class OfArrays(Generic[A]):
        """A class that is generic in the array of a framework."""

else:

    class OfArrays:
        """The same without `Generic`, whose layout keeps FSDP from replacing the class of a module."""

        def __class_getitem__(cls, array: type) -> type:
            return cls


Survey: TypeAlias = tuple[Any, Any, Any, Any]
"""The arguments of Shots. A call passes them on as they are, because torch.compile cannot trace the class."""


class WaveSolver(OfArrays[A]):
    """A function from shots and models to records, whose arrays are of type A.

    A subclass has the attribute `problem`, and `_own_models`, `_record`, `_born` and `executor`. GPUs report unusable
    values of a call in `_flags`, arrays of one number.
    """

    problem: Problem
    """The problem."""
    _flags: Sequence[Any] = ()

    def _own_models(self) -> Any:
        """Return the models of the constructor, or None."""
        raise NotImplementedError

    def _record(self, survey: Survey, models: Any, snapshots: Snapshots | None) -> Any:
        """Return the record of :meth:`forward`, or the record and the wavefields."""
        raise NotImplementedError

    def _born(self, survey: Survey, models: Any, perturbations: Any, d_wavelet: Any) -> Any:
        """Return the record of :meth:`born`."""
        raise NotImplementedError

    @overload
    def forward(
        self,
        wavelet: Wavelet,
        sources: Positions,
        receivers: Positions,
        models: Models | None = None,
        receiver_mask: Mask | None = None,
        snapshots: None = None,
    ) -> A: ...

    @overload
    def forward(
        self,
        wavelet: Wavelet,
        sources: Positions,
        receivers: Positions,
        models: Models | None = None,
        receiver_mask: Mask | None = None,
        *,
        snapshots: Snapshots,
    ) -> tuple[A, dict[str, A]]: ...

    @named_arguments(peer_names.CALL)
    def forward(
        self,
        wavelet: Wavelet,
        sources: Positions,
        receivers: Positions,
        models: Models | None = None,
        receiver_mask: Mask | None = None,
        snapshots: Snapshots | None = None,
    ) -> A | tuple[A, dict[str, A]]:
        """Return the record of some shots: ``solver(...)`` is this method.

        Parameters
        ----------
        wavelet : (nt,), (nshots, nt) or (nshots, nsrc, nt) array
            Source time function, one sample each dt, in the unit of the source field and of the dtype of the models;
            of torch also on their device. A trailing ``nfield`` gives each source field a wavelet of its own.
        sources : (nshots, ndim) or (nshots, nsrc, ndim) array
            Positions in grid cells, columns (z), (x, z) or (x, y, z). Integers name nodes. Floating-point positions are
            interpolated by a windowed sinc (8 cells along each axis), and differentiable with ``impl='eager'``.
        receivers : (nrec, ndim) or (nshots, nrec, ndim) array
            Positions in grid cells, as `sources`; without ``nshots`` the same for all shots.
        models : list of (nz, nx) or (nshots, nz, nx) arrays, optional
            Models in the order and the units of ``equation.parameters``, one earth for all shots, or one for each. By
            default the models of the constructor.
        receiver_mask : (nshots, nrec) bool array, optional
            A receiver that is False records zero and sends back nothing, wherever it is.
        snapshots : Snapshots, optional
            Wavefields to return beside the record.

        Returns
        -------
        record : (nshots, nt, nrec, nfield) array
            ``record[:, k]`` is the field at time k dt, before ``wavelet[k]`` acts; a field that is staggered in time
            is that of (k + 1/2) dt. See :meth:`time`.
        wavefields : dict of (nshots, nsnap, nz, nx) arrays
            The snapshots of each field, only with `snapshots`.

        Raises
        ------
        ShapeError, DtypeError, DeviceError
            An array has the wrong shape or dtype, or is on another device.
        DomainError
            A value is out of bounds, or a position outside the model.
        StabilityError
            The time step is unstable in these models.
        NotFiniteError
            The record holds NaN or infinite numbers; see `check_finite` of the constructor.

        Notes
        -----
        The record is differentiable in the models and the wavelet, and the call is linear in the wavelet.

        JAX reads NumPy arrays before the call returns. It may read those that are given to a transform, such as
        ``jax.vjp`` of a function that calls the solver, later. Traced values are checked when the program runs.
        Compiled code then raises a ``jax.errors.JaxRuntimeError`` with the same text. On a GPU, under pmap and
        shard_map, and with ``impl='eager'``, the record is NaN instead: one device must not leave the others waiting.

        Examples
        --------
        >>> import torch
        >>> from sweep_core import Acoustic, ricker
        >>> from sweep_torch import PropTorch
        >>> solver = PropTorch(Acoustic(), shape=(30, 40), dh=10.0, dt=0.001, pml_width=8, impl="eager")
        >>> wavelet = torch.tensor(ricker(20.0, nt=50, dt=0.001), dtype=torch.float32)
        >>> sources, receivers = torch.tensor([[20, 15]]), torch.tensor([[10, 2], [20, 2], [30, 2]])
        >>> solver(wavelet, sources, receivers, models=[torch.full((30, 40), 2000.0)]).shape
        torch.Size([1, 50, 3, 1])
        """
        return self._record((wavelet, sources, receivers, receiver_mask), self._given(models), snapshots)

    @named_arguments(peer_names.CALL)
    def born(
        self,
        wavelet: Wavelet,
        sources: Positions,
        receivers: Positions,
        perturbations: Models,
        models: Models | None = None,
        receiver_mask: Mask | None = None,
        d_wavelet: Wavelet | None = None,
    ) -> A:
        """Return the derivative of the record in a direction: the waves that a perturbed earth scatters once.

        Parameters
        ----------
        wavelet, sources, receivers, models, receiver_mask
            As for a call.
        perturbations : list of (nz, nx) or (nshots, nz, nx) arrays
            One for each model, of its shape, dtype and unit.
        d_wavelet : array, optional
            Perturbation of the wavelet, of its shape and dtype; none by default.

        Returns
        -------
        (nshots, nt, nrec, nfield) array
            The derivative of the record.

        Raises
        ------
        SweepError
            As a call; a ShapeError or DtypeError also for a perturbation unlike its model.

        Notes
        -----
        For the acoustic equation, with u of the unperturbed earth,

        (1 / vp^2) du_tt - lap du = (2 dvp / vp^3) u_tt + ds.

        The result is the derivative of the discrete steps, exact to rounding. It is linear and differentiable in its
        directions; its transpose is the gradient of a call.
        """
        survey = wavelet, sources, receivers, receiver_mask
        return self._born(survey, self._given(models), perturbations, d_wavelet)

    @property
    def executor(self) -> Any:
        """The backend as this solver uses it: a :class:`sweep_core.Executor`, which an inversion calls."""
        raise NotImplementedError

    def time(self, field: str, nt: int) -> np.ndarray:
        """Return the times (s) of the samples of a recorded field.

        Parameters
        ----------
        field : str
            One of `receiver_type`.
        nt : int
            Number of samples.

        Returns
        -------
        (nt,) float64 array
            k dt, or (k + 1/2) dt of a field that is staggered in time.

        Raises
        ------
        OptionError, DomainError
            The field is not recorded, or `nt` is no number of samples.
        """
        return self.problem.time(field, nt)

    def source_time(self, field: str, nt: int) -> np.ndarray:
        """Return the times (s) at which the samples of a wavelet act on a source field.

        Parameters
        ----------
        field : str
            One of `source_type`.
        nt : int
            Number of samples.

        Returns
        -------
        (nt,) float64 array
            The times, midway between the values of the field that a sample leads from and to.

        Raises
        ------
        OptionError, DomainError
            The field has no source, or `nt` is no number of samples.
        """
        return self.problem.source_time(field, nt)

    def check(self) -> None:
        """Raise the error that a GPU found in the values of the last call, which it cannot raise itself.

        Raises
        ------
        DomainError
            The values of the last call cannot be used, and its record is NaN.
        """
        for flag in self._flags:
            if flag is not None and (status := int(flag[0])):
                raise DomainError(
                    f"values of the last call are invalid (status {status}), so its record is NaN; check them"
                )

    def _given(self, models: Any) -> Any:
        """Return the models of a call: its own, or those of the constructor."""
        models = self._own_models() if models is None else models
        if models is None:
            raise OptionError("models are missing; pass models=[...] to the call or to the constructor")
        return models

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_flags": ()}
