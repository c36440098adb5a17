"""The sizes of one call of a solver, and the layout of its wavelet."""

from math import prod
from typing import Any

import attrs

from .._util.validators import is_whole
from ..errors import DomainError, DtypeError, ShapeError
from ..numerics.time_dispersion import overrun
from ..problem import Problem
from .snapshots import Snapshots


@attrs.frozen
class CallShape:
    """The sizes of one call; hashable, so that compiled code may be cached by them.

    Parameters
    ----------
    shots, steps, sources, receivers : int
        Number of shots, of time steps, and of sources and receivers of a shot.
    dtype : {'float32', 'float64'}
        Dtype of models, wavelet and record.
    earths : int
        1 if all shots share the models, else the number of shots.
    source_taps, receiver_taps : int
        Nodes that a position is interpolated from, along each axis.
    snapshots : Snapshots, optional
        Checked snapshots of the call.
    samples : int
        Samples of the wavelet, which may be fewer than steps.
    by_field : bool
        True if each source field has a wavelet of its own.
    """

    shots: int
    steps: int
    sources: int
    receivers: int
    dtype: str
    earths: int = 1
    source_taps: int = 1
    receiver_taps: int = 1
    snapshots: Snapshots | None = None
    samples: int = 0
    by_field: bool = False

    def record_shape(self, problem: Problem) -> tuple[int, int, int, int]:
        """Return the shape of the record of all steps: (nshots, steps, nrec, nfield)."""
        return (self.shots, self.steps, self.receivers, len(problem.receiver_type))


def call_shape(problem: Problem, nshots: int, nt: int, nsources: int, nreceivers: int | None, dtype: str) -> CallShape:
    """Return the shape of a future call, on nodes and of one earth.

    If `nreceivers` is None, receivers are at each cell of the top.
    """
    counts = {"nshots": nshots, "nt": nt, "nsources": nsources, "nreceivers": nreceivers}
    for name, value in counts.items():
        absent = value is None and name == "nreceivers"
        if not absent and not is_whole(value, 1):
            raise DomainError(f"{name} is {value!r}; expected a whole number from 1 on")
    if not isinstance(dtype, str) or dtype not in ("float32", "float64"):
        raise DtypeError(f"dtype is {dtype!r}; expected 'float32' or 'float64'")
    steps = nt + (overrun(nt) if problem.time_dispersion == "corrected" else 0)
    return CallShape(nshots, steps, nsources, nreceivers or prod(problem.grid.shape[1:]), dtype, samples=nt)


def wavelet_layout(problem: Problem, wavelet: Any, sources: Any) -> tuple[int, bool]:
    """Return (nt, by_field) of a wavelet for sources (nshots, ndim) or (nshots, nsrc, ndim).

    by_field is True if each source field has its own wavelet.
    """
    nshots, nsrc = int(sources.shape[0]), int(sources.shape[1]) if len(sources.shape) == 3 else 1
    if not hasattr(wavelet, "shape") or not hasattr(wavelet, "dtype"):
        raise DtypeError(f"wavelet is a {type(wavelet).__name__}; expected an array of shape (nt,)")
    shape = tuple(int(n) for n in wavelet.shape)
    full, nfield = (nshots, nsrc), len(problem.source_type)
    shared = len(shape) in (1, 2, 3) and shape[:-1] == full[: len(shape) - 1]
    by_field = not shared and len(shape) in (2, 3, 4) and shape[-1] == nfield and shape[:-2] == full[: len(shape) - 2]
    if not (shared or by_field) or shape[-1 - by_field] == 0:
        own = f"; a last axis of {nfield} holds a wavelet for each source field" if nfield > 1 else ""
        raise ShapeError(
            f"wavelet has shape {shape} for {nshots} shots of {nsrc} sources; expected (nt,), ({nshots}, nt) or "
            f"({nshots}, {nsrc}, nt){own}"
        )
    return shape[-1 - by_field], by_field
