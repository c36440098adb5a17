"""Elastic models for an inversion: true and smooth vp, vs and rho, from a folder of arrays or computed from vp."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from ..equations import Elastic
from ..errors import CheckpointError, DomainError, ShapeError, SweepError
from .arrays import read_array
from .prepared import PreparedModel, c_ordered, check_spacing, downsample, find_water
from .quantities import check_plausible, check_section

NAMES = ("vp", "vs", "rho")
_FILE = re.compile(r"(?P<name>.+)_(?P<dh>\d+(p\d+)?)m_vp_true\.npy")


@frozen(eq=False)
class ElasticModel:
    """The true model of an inversion, its initial model and the known water, in C order.

    Instances compare by identity.

    Attributes
    ----------
    true, initial : numpy.ndarray
        `(3, nz, nx)` float32: vp and vs in m/s, rho in kg/m3. They are equal in the water, where vs is zero.
    water : numpy.ndarray
        `(nz, nx)` bool: cells of water, which are known and stay fixed.
    dh : float
        Grid spacing in metres, the same in depth and along the line.
    name : str
        Name for files and titles.

    Raises
    ------
    ShapeError, DomainError
        The arrays do not fit each other, or no solid has such values.
    """

    true: NDArray[np.float32] = field(repr=False, converter=c_ordered)
    initial: NDArray[np.float32] = field(repr=False, converter=c_ordered)
    water: NDArray[np.bool_] = field(repr=False, converter=c_ordered)
    dh: float = field(converter=check_spacing)
    name: str = "model"

    def __attrs_post_init__(self) -> None:
        if self.true.ndim != 3 or len(self.true) != 3 or {self.initial.shape} != {self.true.shape}:
            raise ShapeError(
                f"true has shape {self.true.shape}, initial has shape {self.initial.shape}; expected (3, nz, nx) for "
                "both"
            )
        if self.water.shape != self.true.shape[1:] or self.water.all():
            raise ShapeError(f"water has shape {self.water.shape}; expected {self.true.shape[1:]}, with some rock")
        for name, (vp, vs, rho) in (("true", self.true), ("initial", self.initial)):
            if not Elastic().admits(vp, vs, rho).all():
                raise DomainError(
                    f"{name} holds values that no solid has; expected rho > 0, vs >= 0 and vp > sqrt(4/3) vs"
                )
            for key, values in zip(NAMES, (vp, vs, rho), strict=True):
                check_plausible(values[~self.water], key, name)
        if (self.initial != self.true)[:, self.water].any() or self.true[1, self.water].any():
            raise DomainError(
                "initial or vs is wrong in the water, which is known; expected initial equal to true there, and vs = 0"
            )


def elastic_from_vp(model: PreparedModel) -> ElasticModel:
    """Return an elastic model computed from vp; the initial model comes from the smooth vp in the same way.

    vs follows the mudrock line (Castagna et al. 1985, Geophysics 50), but is at least vp / 4. rho follows Gardner et
    al. (1974, Geophysics 39). Water has 1000 kg/m3 and vs = 0.

    Parameters
    ----------
    model : PreparedModel
        True and smooth vp (m/s).

    Returns
    -------
    ElasticModel
        The model, named `<name>-elastic`.

    Raises
    ------
    DomainError
        No solid has such values.
    """

    def earth(vp: NDArray[np.float32]) -> NDArray[np.float32]:
        vs = np.where(model.water, 0, np.maximum((vp - 1360) / 1.16, vp / 4))
        return np.stack([vp, vs, np.where(model.water, 1000, 310 * vp**0.25)]).astype(np.float32)

    return ElasticModel(earth(model.true), earth(model.initial), model.water, model.dh, f"{model.name}-elastic")


def read_elastic(folder: Path, dh: float | None = None) -> ElasticModel:
    """Read `<name>_<spacing>m_{vp,vs,rho}_{true,smooth}.npy`, and restore the water in the initial model.

    A file name writes a spacing of 12.5 m as 12p5.

    Parameters
    ----------
    folder : path
        A folder with one such set of files.
    dh : float, optional
        Spacing of the result (m), a whole multiple of the spacing of the files. Stiffnesses are averaged by harmonic
        means, density by arithmetic means, water apart from rock. By default the spacing of the files.

    Returns
    -------
    ElasticModel
        The model, named `<name>-elastic`.

    Raises
    ------
    CheckpointError
        Files are missing or cannot be read.
    DtypeError, ShapeError, DomainError
        A file does not hold (nz, nx) numbers in SI units, no solid has such values, or `dh` does not fit.
    """
    matches = [match for path in sorted(folder.glob("*.npy")) if (match := _FILE.fullmatch(path.name))]
    if len(matches) != 1:
        raise CheckpointError(f"{folder} holds {len(matches)} files <name>_<spacing>m_vp_true.npy; expected one")
    stem, spacing = matches[0][0].removesuffix("vp_true.npy"), float(matches[0]["dh"].replace("p", "."))
    true, smooth = _load(folder / stem)
    try:
        water, target = find_water(true[0]), check_spacing(spacing if dh is None else dh)
        # Smoothing has blurred the water of the initial model: restore the known water before averaging.
        smooth = [np.where(water, known, values) for known, values in zip(true, smooth, strict=True)]
        (coarse, wet), (initial, _) = (_coarser(earth, spacing, target, water) for earth in (true, smooth))
        return ElasticModel(coarse, np.where(wet, coarse, initial), wet, target, f"{matches[0]['name']}-elastic")
    except SweepError as error:
        raise type(error)(f"{folder / stem}*.npy: {error}") from error


def _coarser(earth: Any, spacing: float, target: float, water: Any) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    vp, vs, rho = (values.astype(np.float64) for values in earth)
    vs = np.where(water, vp, vs)  # a harmonic mean needs numbers above zero; water is averaged apart from rock
    density, wet = downsample(rho, spacing, target, water, power=1)
    pi, mu = (downsample(rho * speed**2, spacing, target, water, power=-1)[0] for speed in (vp, vs))
    return np.stack([np.sqrt(pi / density), np.where(wet, 0, np.sqrt(mu / density)), density]), wet


def _load(stem: Path) -> Iterator[list[NDArray[Any]]]:
    """Yield vp, vs and rho of one shape: the true ones, then the smooth ones."""
    shape = None
    for kind in ("true", "smooth"):
        arrays = []
        for name in NAMES:
            path = stem.with_name(f"{stem.name}{name}_{kind}.npy")
            values = read_array(path)
            check_section(values, name, str(path))
            shape = shape or values.shape
            if values.shape != shape:
                raise ShapeError(f"{path} holds an array of shape {values.shape}; expected that of true vp, {shape}")
            arrays.append(values)
        yield arrays
