"""ParallelSolver: one solver over several devices of this process, as far as all frameworks share it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import DeviceError, OptionError
from .propagator import Propagator
from .wave_solver import A, WaveSolver


class ParallelSolver(WaveSolver[A]):
    """A solver whose calls divide their shots over several devices of this process.

    A subclass has the attributes `solver` and `devices`, and the methods that :class:`WaveSolver` names.
    """

    solver: Propagator[A]
    """The solver; it lies on the first device."""
    devices: tuple[Any, ...]
    """The devices. Arguments and results of a call lie on the first one."""

    def _own_models(self) -> Any:
        return self.solver._own_models()

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


def check_parallel(solver: Any, kind: type, devices: Any) -> list[Any]:
    """Return the devices of ``parallel(solver, devices)``, one or more, as a list.

    An OptionError refuses a solver that is not of `kind`, PropTorch or PropJax.
    """
    if not isinstance(solver, kind):
        raise OptionError(f"solver is {solver!r}; expected a {kind.__name__}, such as {kind.__name__}(equation, ...)")
    if isinstance(devices, str) or not isinstance(devices, Sequence) or not devices:
        raise DeviceError(
            f"devices is {devices!r}; expected a list of one or more devices, such as ['cuda:0', 'cuda:1']"
        )
    return list(devices)
