"""Shots: where sources act and receivers listen, checked against a problem."""

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from .._util.arrays import dtype_name
from .._util.validators import shot_numbers
from ..errors import DomainError, DtypeError, ShapeError
from ..numerics.grid import AXES
from .positions import RADIUS, interpolated


@attrs.frozen(eq=False)
class Shots:
    """Wavelet and positions of some shots.

    Parameters
    ----------
    wavelet : array
        ``(nt,)``, ``(nshots, nt)`` or ``(nshots, nsrc, nt)``; units of the source field. A trailing ``nfield`` where
        each field of source_type has its own.
    sources : integer or floating-point array
        ``(nshots, ndim)`` or ``(nshots, nsrc, ndim)``; columns (z), (x, z) or (x, y, z) in grid cells. Integers name
        nodes, other positions are interpolated.
    receivers : integer or floating-point array
        ``(nrec, ndim)`` for all shots, or ``(nshots, nrec, ndim)``; the same columns.
    mask : bool array, optional
        ``(nshots, nrec)``: a receiver that is False records zero and sends back nothing, wherever it is.

    Examples
    --------
    >>> import numpy as np
    >>> shots = Shots(np.zeros(100), sources=np.array([[10, 2], [20, 2]]), receivers=np.array([[5, 2], [15, 2]]))
    >>> len(shots), len(shots.take([1]))
    (2, 1)
    """

    wavelet: Any
    sources: Any
    receivers: Any
    mask: Any = None

    def take(self, indices: Any) -> "Shots":
        """Return the shots of `indices`, counted from 0, in that order; what is shared by all shots stays shared."""
        indices = shot_numbers(indices, len(self))
        own = len(self.wavelet.shape) > 1 and self.wavelet.shape[0] == len(self)  # otherwise (nt, nfield) for all
        wavelet = self.wavelet[indices] if own else self.wavelet
        receivers = self.receivers if len(self.receivers.shape) == 2 else self.receivers[indices]
        return Shots(wavelet, self.sources[indices], receivers, None if self.mask is None else self.mask[indices])

    def __len__(self) -> int:
        return int(self.sources.shape[0])


def samples_of(wavelet: Any, by_field: bool) -> Any:
    """Return the wavelet as (nshots or 1, nsrc or 1, nfield or 1, nt); `by_field` is that of the CallShape."""
    wavelet = wavelet.swapaxes(-1, -2) if by_field else wavelet[..., None, :]
    if len(wavelet.shape) == 2:
        return wavelet[None, None]
    return wavelet[:, None] if len(wavelet.shape) == 3 else wavelet


def _columns(ndim: int) -> str:
    """Return the columns of positions, ``"(x, z)"`` in two dimensions."""
    return f"({', '.join(reversed(AXES[ndim]))})"


def check_positions(name: str, positions: Any, ndim: int) -> None:
    """Check the shape and dtype of sources or receivers of any array library."""
    if not hasattr(positions, "shape") or not hasattr(positions, "dtype"):
        raise DtypeError(f"{name} are a {type(positions).__name__}; expected an array of grid cells")
    if len(positions.shape) not in (2, 3) or positions.shape[-1] != ndim:
        leading = "nshots" if name == "sources" else "nrec"
        raise ShapeError(
            f"{name} have shape {tuple(positions.shape)}; expected ({leading}, {ndim}) or "
            f"(nshots, n, {ndim}) with columns {_columns(ndim)}"
        )
    kind = dtype_name(positions)
    if "int" not in kind and kind not in ("float32", "float64"):
        raise DtypeError(
            f"{name} are of dtype {positions.dtype}; expected integers (nodes) or float32, float64 (true positions)"
        )


def check_mask(mask: Any, nshots: int, nrec: int) -> None:
    """Check the shape and dtype of a receiver mask."""
    if mask is None:
        return
    if not hasattr(mask, "shape") or str(mask.dtype) not in ("bool", "torch.bool"):
        raise DtypeError(f"receiver_mask is {getattr(mask, 'dtype', type(mask).__name__)}; expected an array of bool")
    if tuple(mask.shape) != (nshots, nrec):
        raise ShapeError(f"receiver_mask has shape {tuple(mask.shape)}; expected (nshots, nrec) = ({nshots}, {nrec})")


def check_inside(name: str, positions: np.ndarray, problem: Any, fields: Sequence[str]) -> None:
    """Raise a DomainError for the first invalid position of (nshots, n, ndim) with columns (x, .., z)."""
    shape, ndim = problem.grid.shape, problem.grid.ndim
    names, sizes = problem.grid.axes[::-1], np.array(shape[::-1])

    def first(wrong: np.ndarray, reason: Callable[[int], str]) -> None:
        if not wrong.any():
            return
        shot, n, column = (int(i) for i in np.argwhere(wrong)[0])
        item = name.rstrip("s")
        which = f"{item} {shot}" if name == "sources" and positions.shape[1] == 1 else f"{item} {n} of shot {shot}"
        raise DomainError(f"{which} is at {names[column]} = {positions[shot, n, column]} (cells), {reason(column)}")

    swapped = positions[..., ::-1]
    hint = (
        f"all would lie inside if the columns were swapped: SWEEP expects {_columns(ndim)}"
        if ((swapped >= 0) & (swapped < sizes)).all()
        else "positions are counted in grid cells from the model's own corner, without the PML"
    )
    first(~((positions >= 0) & (positions <= sizes - 1)), lambda column: f"outside 0..{sizes[column] - 1}; {hint}")
    between = interpolated(positions)
    stated = [problem.field(name) for name in fields]
    zero = [f.name for f in stated if f.on_surface or (between and f.parity < 0)]
    if problem.free_surface and zero:
        surface = np.zeros(positions.shape, bool)
        surface[..., -1] = positions[..., -1] == 0
        first(surface, lambda column: f"on the free surface, where {zero} is zero; move it below")
    if not between:
        return
    for field in stated:
        _check_taps(first, positions, problem, field)


def _check_taps(
    first: Callable[[np.ndarray, Callable[[int], str]], None], positions: Any, problem: Any, field: Any
) -> None:
    """Raise a DomainError for the first position whose interpolation reaches beyond the PML."""
    ndim, sizes, names = problem.grid.ndim, np.array(problem.grid.shape[::-1]), problem.grid.axes[::-1]
    positions = positions - np.array([0.5 * (name in field.stagger) for name in names])
    base = np.floor(positions)
    low, high = (np.array([w[side] for w in problem.pml[::-1]]) for side in (0, 1))
    above = (base - RADIUS + 1 + low < 0) & (np.arange(ndim) != ndim - 1 if problem.free_surface else True)
    beyond = (positions != base) & (above | (base + RADIUS > sizes - 1 + high))
    first(
        beyond,
        lambda column: (
            f"and its interpolation needs {RADIUS} nodes on either side, beyond the PML "
            f"({low[column]} and {high[column]} cells wide along {names[column]}); widen the PML or use a node"
        ),
    )
