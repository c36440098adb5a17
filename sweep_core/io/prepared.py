"""Prepared models of an inversion, in one file: true model, smooth initial model, known water and spacing."""

import io
import math
import operator
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from .._util.validators import as_path, check_positive
from ..errors import CheckpointError, DomainError, DtypeError, ShapeError, SweepError
from .arrays import check_version, is_scalar, read_archive
from .quantities import check_plausible
from .replacing import replacing

PREPARE_COMMAND = "seismic-sweep model VP.npy --source-dh DH --target-dh TARGET"
_FORMAT = "sweep-prepared-model"
_VERSION = 1
_KEYS = ("format", "version", "name", "dh", "true", "initial", "water")
_SEA_WATER = (1400.0, 1600.0)  # m/s: a top row within this range is water by default
_WIDEST = 10_000  # cells of a window
_WATER_TOLERANCE = 0.5  # m/s: rounding of the file formats, well below the step to the softest mud


def check_spacing(dh: Any, name: str = "dh") -> float:
    """Return a grid spacing as a float, or raise an error that names the argument."""
    return check_positive(dh, name, "the grid spacing in metres")


def c_ordered(array: Any) -> Any:
    """Return a NumPy array in C order, copied if necessary, and any other object as it is."""
    return np.asarray(array, order="C") if isinstance(array, np.ndarray) else array


def _kind(value: Any) -> str:
    return f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__


def _check_velocity(vp: Any, name: str) -> None:
    """Raise an error unless `vp` is a 2-D array of floating-point velocities above zero."""
    if not isinstance(vp, np.ndarray) or vp.dtype.kind != "f":
        raise DtypeError(f"{name} is {_kind(vp)}; expected a NumPy array of floating-point velocities in m/s")
    if vp.ndim != 2 or vp.size == 0:
        raise ShapeError(f"{name} has shape {vp.shape}; expected (nz, nx), depth first, neither of them zero")
    low, high = float(vp.min()), float(vp.max())
    if not (math.isfinite(low) and math.isfinite(high) and low > 0):  # min and max propagate a NaN
        raise DomainError(
            f"{name} is {low:g} to {high:g} m/s; every cell must be finite and above zero: "
            "replace the bad cells, and check that the file was read with the right byte order and units"
        )


def _check_water(water: Any, shape: tuple[int, ...]) -> None:
    if not isinstance(water, np.ndarray) or water.dtype != np.bool_:
        raise DtypeError(f"water is {_kind(water)}; expected a NumPy array of bool, true in cells of water")
    if water.shape != shape:
        raise ShapeError(f"water has shape {water.shape}; expected {shape}, the shape of the model")


@frozen(eq=False)
class PreparedModel:
    """The true model of an inversion, its initial model and the known water, in C order.

    Instances compare by identity.

    Attributes
    ----------
    true : numpy.ndarray
        P velocity in m/s, `(nz, nx)` float32, depth first. The largest velocity of the rock is from 100 to 20 000.
    initial : numpy.ndarray
        The initial model of the inversion, with the same shape, dtype and unit. It equals `true` in the water.
    water : numpy.ndarray
        `(nz, nx)` bool: cells of water, which are known and stay fixed. May be all false (a land model).
    dh : float
        Grid spacing in metres, the same in depth and along the line.
    name : str
        Name for files and titles.

    Raises
    ------
    DtypeError, ShapeError, DomainError
        The arrays do not fit each other or hold impossible values, `initial` does not hold the known water, or every
        cell is water.
    """

    true: NDArray[np.float32] = field(repr=False, converter=c_ordered)
    initial: NDArray[np.float32] = field(repr=False, converter=c_ordered)
    water: NDArray[np.bool_] = field(repr=False, converter=c_ordered)
    dh: float = field(converter=check_spacing)
    name: str = "model"

    def __attrs_post_init__(self) -> None:
        for name, array in (("true", self.true), ("initial", self.initial)):
            _check_velocity(array, name)
            if array.dtype != np.float32:
                raise DtypeError(f"{name} is {array.dtype}; expected float32: pass {name}.astype('float32')")
        if self.initial.shape != self.true.shape:
            raise ShapeError(f"initial has shape {self.initial.shape}; expected {self.true.shape}, the shape of true")
        _check_water(self.water, self.true.shape)
        if self.water.all():
            raise DomainError("every cell is water; expected some rock to invert for: correct the mask")
        wrong = int(np.count_nonzero(self.initial[self.water] != self.true[self.water]))
        if wrong:
            raise DomainError(
                f"initial differs from true in {wrong} cells of water; the water is known, so copy it: "
                "initial[water] = true[water], or compute initial by smooth(true, water, ...)"
            )
        if not isinstance(self.name, str) or not self.name.strip():
            raise DtypeError(f"name is {self.name!r}; expected a string that is not empty")
        for name, array in (("true", self.true), ("initial", self.initial)):
            check_plausible(array[~self.water], "vp", name)

    @property
    def shape(self) -> tuple[int, int]:
        """`(nz, nx)`."""
        return self.true.shape[0], self.true.shape[1]


def write_prepared(path: str | os.PathLike[str], model: PreparedModel) -> Path:
    """Write a model to a .npz file, completely or not at all. An existing file is replaced.

    Parameters
    ----------
    path : path-like
        The file, without a change of its suffix. Missing folders are created.
    model : PreparedModel
        The model.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    StorageError
        The disk is full, or the system refuses to write.
    """
    target = as_path(path)
    scalars = (np.array(_FORMAT), np.array(_VERSION), np.array(model.name), np.array(model.dh))
    entries: dict[str, Any] = dict(zip(_KEYS, (*scalars, model.true, model.initial, model.water), strict=True))
    packed = io.BytesIO()
    np.savez_compressed(packed, **entries)
    with replacing(target) as stream:
        stream.write(packed.getbuffer())
    return target


def _load_entries(path: Path) -> dict[str, NDArray[Any]]:
    try:
        entries = read_archive(path, _KEYS, "a prepared model")
    except CheckpointError as error:
        raise CheckpointError(f"{error}; write it with: {PREPARE_COMMAND}") from error
    missing = [key for key in _KEYS if key not in entries]
    if missing:
        raise CheckpointError(
            f"{path} is not a prepared model: it has no {', '.join(missing)}; "
            f"write a prepared model with: {PREPARE_COMMAND}"
        )
    return entries


def read_prepared(path: str | os.PathLike[str], dh: float | None = None) -> PreparedModel:
    """Read a model from a file of `write_prepared`.

    Parameters
    ----------
    path : path-like
        The file.
    dh : float, optional
        The spacing of the caller's grid (m). Another spacing than that of the file is an error: a model at the wrong
        spacing looks right and gives wrong arrival times.

    Returns
    -------
    PreparedModel
        The model.

    Raises
    ------
    CheckpointError
        The file is missing, damaged, or not a prepared model.
    DomainError
        `dh` is not the spacing of the file.
    """
    path = as_path(path)
    entries = _load_entries(path)
    if not is_scalar(entries["format"], _FORMAT):
        raise CheckpointError(f"{path} was not written by SWEEP; write a prepared model with: {PREPARE_COMMAND}")
    check_version(path, entries, _VERSION, f"update SWEEP, or write the file again with: {PREPARE_COMMAND}")
    try:
        model = PreparedModel(
            true=entries["true"],
            initial=entries["initial"],
            water=entries["water"],
            dh=entries["dh"].item(),
            name=entries["name"].item(),
        )
    except (SweepError, ValueError) as error:
        raise CheckpointError(f"{path} does not hold a valid model: {error}") from error
    if dh is not None and not math.isclose(check_spacing(dh), model.dh, rel_tol=1e-6):
        raise DomainError(
            f"dh is {dh:g} m; expected {model.dh:g} m, the spacing of {path}: use dh = {model.dh:g}, "
            f"or prepare a model with: {PREPARE_COMMAND.replace('TARGET', f'{dh:g}')}"
        )
    return model


def find_water(vp: NDArray[np.floating[Any]], velocity: float | None = None) -> NDArray[np.bool_]:
    """Find the water: in every column, the cells from the top down to the first that is not water.

    Parameters
    ----------
    vp : numpy.ndarray
        Velocity in m/s, `(nz, nx)`.
    velocity : float, optional
        Velocity of the water in m/s; cells within 0.5 m/s of it count. By default the most frequent value of the top
        row if it lies between 1400 and 1600 m/s. Otherwise the model is a land model, without water.

    Returns
    -------
    numpy.ndarray
        `(nz, nx)` bool. Cells of the same velocity below other rock are not water.

    Raises
    ------
    DtypeError, ShapeError, DomainError
        `vp` is not a velocity model, or `velocity` is not a velocity.
    """
    _check_velocity(vp, "vp")
    if velocity is None:
        values, counts = np.unique(vp[0], return_counts=True)
        velocity = float(values[np.argmax(counts)])
        if not _SEA_WATER[0] <= velocity <= _SEA_WATER[1]:
            return np.zeros(vp.shape, dtype=bool)
    else:
        velocity = check_positive(velocity, "velocity", "the velocity of water in m/s")
    return np.logical_and.accumulate(np.abs(c_ordered(vp) - vp.dtype.type(velocity)) <= _WATER_TOLERANCE, axis=0)


def _box_sum(values: NDArray[np.float64], radius: int, axis: int) -> NDArray[np.float64]:
    """Return the sum over 2 radius + 1 cells along one axis of an array, which its mirror image continues."""
    if radius == 0:
        return values
    width = [(0, 0), (0, 0)]
    width[axis] = (radius + 1, radius)
    running = np.cumsum(np.pad(values, width, mode="symmetric"), axis=axis)
    ahead, behind = [slice(None)] * 2, [slice(None)] * 2
    ahead[axis], behind[axis] = slice(2 * radius + 1, None), slice(None, -2 * radius - 1)
    return running[tuple(ahead)] - running[tuple(behind)]


def _count(value: Any, name: str, least: int, most: float = math.inf) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise DtypeError(f"{name} is {value!r}; expected an integer") from None
    if not least <= number <= most:
        raise DomainError(f"{name} is {number}; expected {least} {'or more' if most == math.inf else f'to {most}'}")
    return number


def smooth(
    vp: NDArray[np.floating[Any]], water: NDArray[np.bool_], radii: tuple[int, int], passes: int = 3
) -> NDArray[np.float32]:
    """Smooth the rock by repeated running means, and keep the water and the seafloor exactly.

    The mean is that of slowness, which keeps travel times, the kinematics of the initial model. The window averages
    only rock: nothing leaks through the seafloor in either direction. Mirror images continue the model at its edges.
    Three passes are close to a Gaussian with a standard deviation of `sqrt(passes * r * (r + 1) / 3)` cells for a
    radius of `r`.

    Parameters
    ----------
    vp : numpy.ndarray
        Velocity in m/s, `(nz, nx)`.
    water : numpy.ndarray
        `(nz, nx)` bool, true in cells that do not change.
    radii : tuple of int
        Half widths `(rz, rx)` of the window in cells, at most 10 000. A window has `2 r + 1` cells; 0 does not smooth
        along an axis.
    passes : int
        Number of passes, at least 1.

    Returns
    -------
    numpy.ndarray
        `(nz, nx)` float32 in m/s, between the slowest and the fastest rock.

    Raises
    ------
    DtypeError, ShapeError, DomainError
        The model, the mask, a radius or `passes` is not as described.
    """
    _check_velocity(vp, "vp")
    _check_water(water, vp.shape)
    if not isinstance(radii, tuple | list) or len(radii) != 2:
        raise ShapeError(f"radii is {radii!r}; expected two integers (rz, rx) in cells")
    rz, rx = (_count(r, f"radii[{i}]", 0, _WIDEST) for i, r in enumerate(radii))
    passes = _count(passes, "passes", 1)
    rock = (~water).astype(np.float64)
    # The weight of a cell of rock is at least one, because it counts itself; 0.5 allows for rounding in the sums.
    weight = np.maximum(_box_sum(_box_sum(rock, rz, 0), rx, 1), 0.5)
    slowness = 1.0 / vp.astype(np.float64)
    for _ in range(passes):
        slowness = _box_sum(_box_sum(slowness * rock, rz, 0), rx, 1) / weight
    result = vp.astype(np.float32, order="C")
    result[~water] = 1.0 / slowness[~water]
    return result


def _cell_sums(rows: Callable[[slice], NDArray[np.float64]], ratio: int) -> NDArray[np.float64]:
    """Return the sums over windows of `ratio` rows, centred on every `ratio`-th row. `rows` computes a slice."""
    total = rows(slice(0, None, ratio)).copy()
    for offset in range(1, ratio // 2 + 1):
        weight = 0.5 if 2 * offset == ratio else 1.0  # an even window ends on half cells
        ahead, behind = rows(slice(offset, None, ratio)), rows(slice(ratio - offset, None, ratio))
        total[: len(ahead)] += weight * ahead
        total[1:] += weight * behind[: len(total) - 1]
    return total


def downsample(
    vp: NDArray[np.floating[Any]], source_dh: float, target_dh: float, water: NDArray[np.bool_], power: int = -2
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Average a model to a coarser grid without aliasing, with a sharp seafloor.

    Coarse node `k` lies at fine node `k * ratio`, so positions in metres stay. Its value is the mean over the coarse
    cell around it, which the edges of the model cut. The mean is that of `1 / vp**2`, the coefficient of the
    constant-density wave equation, because waves much longer than a cell see this mean. A coarse cell is water if more
    than half of it is water. Water is averaged over water, rock over rock.

    Parameters
    ----------
    vp : numpy.ndarray
        Velocity in m/s, `(nz, nx)`.
    source_dh, target_dh : float
        Spacing before and after (m); the second is a whole multiple of the first.
    water : numpy.ndarray
        `(nz, nx)` bool, see `find_water`.
    power : int
        The mean is that of `vp**power`. Use -1 for a stiffness, and 1 for a density, in place of `vp`.

    Returns
    -------
    vp : numpy.ndarray
        `((nz - 1) // ratio + 1, (nx - 1) // ratio + 1)` float32 in m/s.
    water : numpy.ndarray
        Same shape, bool.

    Raises
    ------
    DomainError
        `target_dh` is not a whole multiple of `source_dh`, is more than 10 000 times as large, or a velocity is not
        above zero.
    DtypeError, ShapeError
        The model or the mask is not as described.
    """
    _check_velocity(vp, "vp")
    _check_water(water, vp.shape)
    source_dh, target_dh = check_spacing(source_dh, "source_dh"), check_spacing(target_dh, "target_dh")
    if target_dh / source_dh > _WIDEST:
        raise DomainError(
            f"target_dh is {target_dh:g} m; expected at most {_WIDEST} times source_dh, which is {source_dh:g} m"
        )
    ratio = round(target_dh / source_dh)
    if ratio < 1 or not math.isclose(ratio * source_dh, target_dh, rel_tol=1e-6):
        near = max(1, math.floor(target_dh / source_dh))
        raise DomainError(
            f"target_dh is {target_dh:g} m; expected a whole multiple of source_dh, which is {source_dh:g} m: "
            f"the nearest are {near * source_dh:g} and {(near + 1) * source_dh:g} m"
        )

    def window(mask: NDArray[np.bool_], power: int) -> NDArray[np.float64]:
        tall = _cell_sums(lambda s: mask[s] * vp[s].astype(np.float64) ** power, ratio)
        return _cell_sums(lambda s: tall.T[s], ratio).T

    wet_weight, dry_weight = window(water, 0), window(~water, 0)
    wet = wet_weight > dry_weight
    weight = np.where(wet, wet_weight, dry_weight)
    mean = np.where(wet, window(water, power), window(~water, power)) / weight
    return (mean ** (1 / power)).astype(np.float32, order="C"), c_ordered(wet)
