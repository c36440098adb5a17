"""Shots: where sources act and receivers listen, checked against a problem."""

from typing import Any

import attrs
import numpy as np

from .errors import DomainError, DtypeError, ShapeError, UnsupportedError


@attrs.frozen(eq=False)
class Shots:
    """Wavelet and positions of some shots.

    Parameters
    ----------
    wavelet : array
        ``(nt,)``, ``(nshots, nt)`` or ``(nshots, nsrc, nt)``; units of the source field.
    sources : integer array
        ``(nshots, ndim)`` or ``(nshots, nsrc, ndim)``; columns (x, z) or (x, y, z) in grid cells.
    receivers : integer array
        ``(nrec, ndim)`` for all shots, or ``(nshots, nrec, ndim)``; the same columns.
    """

    wavelet: Any
    sources: Any
    receivers: Any

    def take(self, indices) -> "Shots":
        """The shots of `indices`, in that order; what is shared by all shots stays shared."""
        indices = np.asarray(indices, dtype=np.int64)
        wavelet = self.wavelet if len(self.wavelet.shape) == 1 else self.wavelet[indices]
        receivers = self.receivers if len(self.receivers.shape) == 2 else self.receivers[indices]
        return Shots(wavelet, self.sources[indices], receivers)

    def __len__(self) -> int:
        return int(self.sources.shape[0])


def cells_of(problem, positions, nshots: int):
    """Flat cells (nshots, n) in the padded grid, for sources or receivers of any array library.

    Sources are (nshots, ndim) or (nshots, n, ndim); receivers shared by all shots are given as (1, n, ndim). The
    dtype of the positions must hold the result.
    """
    ndim, shape = problem.grid.ndim, problem.padded_shape
    cells: Any = 0
    stride = 1
    for axis in reversed(range(ndim)):
        cells = cells + (positions[..., ndim - 1 - axis] + problem.pml[axis][0]) * stride
        stride *= shape[axis]
    cells = cells.reshape(positions.shape[0], -1)
    return cells if cells.shape[0] == nshots else cells.repeat(nshots, 0)


def samples_of(wavelet):
    """The wavelet as (nshots or 1, nsrc or 1, nt)."""
    if len(wavelet.shape) == 1:
        return wavelet[None, None]
    return wavelet[:, None] if len(wavelet.shape) == 2 else wavelet


def _integers(name: str, positions) -> None:
    kind = str(positions.dtype)
    if "int" in kind:
        return
    if "float" in kind:
        raise UnsupportedError(
            f"{name} are {kind}: true positions between nodes are not supported yet; "
            "give whole grid cells in an integer dtype"
        )
    raise DtypeError(f"{name} are of dtype {kind}; expected integers (grid cells)")


def check_positions(name: str, positions, ndim: int) -> None:
    """Shape and dtype of sources or receivers, of any array library."""
    if not hasattr(positions, "shape") or not hasattr(positions, "dtype"):
        raise DtypeError(f"{name} are a {type(positions).__name__}; expected an integer array of grid cells")
    columns = "(x, z)" if ndim == 2 else "(x, y, z)"
    if len(positions.shape) not in (2, 3) or positions.shape[-1] != ndim:
        leading = "nshots" if name == "sources" else "nrec"
        raise ShapeError(
            f"{name} have shape {tuple(positions.shape)}; expected ({leading}, {ndim}) or "
            f"(nshots, n, {ndim}) with columns {columns}"
        )
    _integers(name, positions)


def check_inside(name: str, positions: np.ndarray, shape: tuple[int, ...]) -> None:
    """DomainError for the first position outside the model; positions are (nshots, n, ndim) with columns (x, .., z)."""
    ndim = len(shape)
    sizes = np.array(shape[::-1])
    outside = (positions < 0) | (positions >= sizes)
    if not outside.any():
        return
    shot, n, column = (int(i) for i in np.argwhere(outside)[0])
    axis = ("x", "z")[column] if ndim == 2 else ("x", "y", "z")[column]
    item = name.rstrip("s")
    which = f"{item} {shot}" if name == "sources" and positions.shape[1] == 1 else f"{item} {n} of shot {shot}"
    swapped = positions[..., ::-1]
    hint = (
        f"; all would lie inside if the columns were swapped: SWEEP expects {'(x, z)' if ndim == 2 else '(x, y, z)'}"
        if not ((swapped < 0) | (swapped >= sizes)).any()
        else "; positions are counted in grid cells from the model's own corner, without the PML"
    )
    raise DomainError(
        f"{which} is at {axis} = {positions[shot, n, column]} (cells), outside 0..{sizes[column] - 1}{hint}"
    )
