"""ParallelSolver: one solver over several devices of this process, as far as all frameworks share it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._util import peer_names
from .._util.validators import named_arguments
from ..acquisition.snapshots import Snapshots
from ..errors import DeviceError, OptionError
from ..problem import Problem
from ..typing import Mask, Models, Positions, Wavelet
from .propagator import A, OfArrays, Propagator


class ParallelSolver(OfArrays[A]):
    """A solver whose calls divide their shots over several devices of this process.

    A subclass has `_record`, `_born`, `executor`, and the attributes `solver`, `devices` and `_flags`, the arrays by
    which GPUs report unusable values.
    """

    solver: Propagator[A]
    """The solver; it lies on the first device."""
    devices: tuple[Any, ...]
    """The devices. Arguments and results of a call lie on the first one."""
    _flags: Sequence[Any] = ()

    @named_arguments(peer_names.CALL)
    def forward(
        self,
        wavelet: Wavelet,
        sources: Positions,
        receivers: Positions,
        models: Models | None = None,
        receiver_mask: Mask | None = None,
        snapshots: Snapshots | None = None,
    ) -> Any:
        """Return the record of some shots, as a call of the solver does: ``parallel(solver, devices)(...)``.

        Parameters
        ----------
        wavelet, sources, receivers, models, receiver_mask, snapshots
            As for a call of the solver, on the first device.

        Returns
        -------
        record : (nshots, nt, nrec, nfield) array
            The record in the order of the shots, on the first device, with derivatives in models and wavelet.
        wavefields : dict of (nshots, nsnap, nz, nx) arrays
            The snapshots of each field, only with `snapshots`.

        Raises
        ------
        SweepError
            As a call of the solver does.
        """
        models = self.solver._given(models)
        return self._record(wavelet, sources, receivers, models, receiver_mask, snapshots)

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
        """Return the derivative of the record in a direction, as `born` of the solver does.

        Parameters
        ----------
        wavelet, sources, receivers, perturbations, models, receiver_mask, d_wavelet
            As for `born` of the solver, on the first device.

        Returns
        -------
        (nshots, nt, nrec, nfield) array
            The derivative of the record, in the order of the shots, on the first device.

        Raises
        ------
        SweepError
            As `born` of the solver does.
        """
        models = self.solver._given(models)
        return self._born(wavelet, sources, receivers, models, receiver_mask, perturbations, d_wavelet)

    def _record(
        self, wavelet: Any, sources: Any, receivers: Any, models: Any, receiver_mask: Any, snapshots: Any
    ) -> Any:
        """Return the record of :meth:`forward`, or the record and the wavefields."""
        raise NotImplementedError

    def _born(
        self,
        wavelet: Any,
        sources: Any,
        receivers: Any,
        models: Any,
        receiver_mask: Any,
        perturbations: Any,
        d_wavelet: Any,
    ) -> Any:
        """Return the record of :meth:`born`."""
        raise NotImplementedError

    @property
    def executor(self) -> Any:
        """The backend over these devices: a :class:`sweep_core.Executor`, which an inversion calls."""
        raise NotImplementedError

    @property
    def problem(self) -> Problem:
        """The problem of the solver."""
        return self.solver.problem

    @property
    def device(self) -> Any:
        """The first device."""
        return self.devices[0]

    @property
    def impl(self) -> str:
        """The implementation in use, ``'c'`` or ``'eager'``."""
        return self.solver.impl

    def __repr__(self) -> str:
        return f"parallel({self.solver!r}, devices={list(map(str, self.devices))})"

    def explain(self) -> str:
        """Return a sentence: the devices, and the reason for the implementation that each of them uses."""
        return f"shots over {len(self.devices)} devices ({', '.join(map(str, self.devices))}); {self.solver.explain()}"

    def time(self, field: str, nt: int) -> np.ndarray:
        """Return the times (s) of the samples of a recorded field; see the solver."""
        return self.solver.time(field, nt)

    def source_time(self, field: str, nt: int) -> np.ndarray:
        """Return the times (s) at which the samples of a wavelet act on a source field; see the solver."""
        return self.solver.source_time(field, nt)

    def check(self) -> None:
        """Raise the error that a GPU found in the values of the last call, which it cannot raise itself.

        Raises
        ------
        DomainError
            The values of the last call cannot be used, and its record is NaN.
        """
        for flag in self._flags:
            self.solver._flag = flag
            self.solver.check()


def check_parallel(solver: Any, kind: type, devices: Any) -> list[Any]:
    """Return the devices of ``parallel(solver, devices)`` as a list, after checks of both arguments.

    Parameters
    ----------
    solver : object
        The argument `solver`.
    kind : type
        PropTorch or PropJax.
    devices : object
        The argument `devices`.

    Returns
    -------
    list
        The devices, one or more.

    Raises
    ------
    OptionError
        `solver` is no solver of the framework.
    DeviceError
        `devices` is no list of devices.
    """
    if not isinstance(solver, kind):
        raise OptionError(f"solver is {solver!r}; expected a {kind.__name__}, such as {kind.__name__}(equation, ...)")
    if isinstance(devices, str) or not isinstance(devices, Sequence) or not devices:
        raise DeviceError(
            f"devices is {devices!r}; expected a list of one or more devices, such as ['cuda:0', 'cuda:1']"
        )
    return list(devices)
