"""A generator of faulted, folded, layered models under water, for users without a real model.

Lengths in this module are fractions of the depth of the model. So the geology depends on the seed and the proportions
of the model, and not on its spacing: a finer grid of the same extent holds the same earth in more detail.
"""

import math
import operator
from typing import Any

import numpy as np
from attrs import frozen
from numpy.random import Generator
from numpy.typing import NDArray

from .._util.validators import check_positive
from ..errors import DomainError, DtypeError, ShapeError
from .prepared import PreparedModel, check_spacing, downsample, smooth

_WATER, _MUD, _FASTEST = (
    1500.0,
    1540.0,
    4500.0,
)  # m/s; mud is faster than water by more than the tolerance of find_water
_FEWEST = 16
"""The least number of cells along an axis. Fewer cells hold no geology."""
_FINE_ROWS, _FINEST = 300, 6
"""Rows of the fine grid, which is averaged down, and the largest ratio of both grids."""

Array = NDArray[np.float64]


@frozen(eq=False)
class _Waves:
    """A smooth random curve: a sum of sines between -amplitude and amplitude."""

    amplitude: float
    numbers: Array
    phases: Array
    weights: Array

    @classmethod
    def draw(cls, rng: Generator, amplitude: float, shortest: float, longest: float, count: int = 4) -> "_Waves":
        lengths = np.geomspace(longest, shortest, count) * rng.uniform(0.85, 1.15, count)
        weights = lengths / lengths.sum()
        return cls(amplitude, 2 * math.pi / lengths, rng.uniform(0, 2 * math.pi, count), weights)

    def __call__(self, x: Array) -> Array:
        total = np.zeros_like(x)
        for number, phase, weight in zip(self.numbers, self.phases, self.weights, strict=True):
            total += weight * np.sin(number * x + phase)
        return self.amplitude * total


@frozen
class _Fault:
    """A straight normal fault: the rock above it (the hanging wall) has slid down along it."""

    surface: float  # x at z = 0
    side: int  # +1 dips to the right, -1 to the left
    dip: float  # radians from the horizontal
    slip: float

    def undo(self, x: Array, z: Array) -> tuple[Array, Array]:
        """Return the position of the rock of (x, z) before the slip."""
        hanging = self.side * (x - self.surface) > z / math.tan(self.dip)
        back_x, back_z = self.side * self.slip * math.cos(self.dip), self.slip * math.sin(self.dip)
        return np.where(hanging, x - back_x, x), np.where(hanging, z - back_z, z)


@frozen(eq=False)
class _Beds:
    """A pile of beds over the depositional coordinate, each with a small contrast to the velocity trend."""

    tops: Array
    contrast: Array

    @classmethod
    def draw(cls, rng: Generator, thickness: float, spread: float) -> "_Beds":
        count = math.ceil(5.0 / thickness)
        tops = -1.5 + np.cumsum(np.clip(thickness * rng.lognormal(0.0, 0.5, count), 0.4 * thickness, 2.5 * thickness))
        # Alternating signs make every interface reflect; independent draws sometimes make many beds without one.
        signs = np.where(np.arange(count + 1) % 2, 1.0, -1.0)
        return cls(tops, spread * (0.6 * signs * rng.uniform(0.2, 1.0, count + 1) + 0.5 * rng.normal(size=count + 1)))

    def velocity(self, bed_depth: Array, depth: Array) -> Array:
        """Return the velocity (m/s). Compaction depends equally on the depth of deposition and on the present depth."""
        trend = 1680.0 + 2250.0 * np.clip(0.5 * (bed_depth + depth), 0.0, 1.3) ** 0.85
        return trend * (1.0 + self.contrast[np.searchsorted(self.tops, bed_depth)])


@frozen(eq=False)
class _Geology:
    """All random parts of a model; `velocity` evaluates them at any point."""

    seafloor: _Waves
    water_depth: float
    shelf: tuple[float, float]
    unconformity: _Waves
    unconformity_depth: float
    fold: _Waves
    dip: float
    centre: float
    faults: tuple[_Fault, ...]
    young: _Beds
    old: _Beds
    lens: tuple[float, float, float, float]
    gas: tuple[float, float, float, float]

    @classmethod
    def draw(cls, rng: Generator, aspect: float, water_depth: float | None, faults: int | None) -> "_Geology":
        depth = rng.uniform(0.085, 0.125) if water_depth is None else water_depth
        seafloor = _Waves.draw(rng, 0.16 * depth, 0.35, 1.6)
        shelf = (aspect * rng.uniform(0.3, 0.7), 0.22 * depth * rng.choice([-1.0, 1.0]))
        base = depth + rng.uniform(0.09, 0.15)
        unconformity = _Waves.draw(rng, 0.03, 0.5, 2.0)
        fold = _Waves.draw(rng, rng.uniform(0.07, 0.10), 0.45, 2.2)
        dip = rng.uniform(0.03, 0.07) * rng.choice([-1.0, 1.0]) / max(1.0, 0.5 * aspect)
        count = max(2, round(1.3 * aspect)) if faults is None else faults
        places = aspect * (np.arange(count) + rng.uniform(0.15, 0.85, count)) / max(count, 1)
        sides, dips = rng.choice([-1, 1], count, p=[0.3, 0.7]), np.radians(rng.uniform(52.0, 70.0, count))
        slips = rng.uniform(0.035, 0.11, count)
        fault_planes = tuple(_Fault(*values) for values in zip(places - 0.35 * sides, sides, dips, slips, strict=True))
        young, old = _Beds.draw(rng, 0.022, 0.05), _Beds.draw(rng, 0.035, 0.13)
        x = np.linspace(0.12, 0.88, 200) * aspect
        crest = float(x[np.argmin(fold(x) + dip * (x - aspect / 2))])
        half = min(0.36, 0.18 * aspect)
        lens = (aspect * rng.uniform(0.25, 0.75), rng.uniform(0.6, 0.75), half, rng.uniform(0.04, 0.06))
        gas = (crest, base + rng.uniform(0.1, 0.16), 0.4 * half, rng.uniform(0.018, 0.028))
        return cls(
            *(seafloor, depth, shelf, unconformity, base, fold, dip, aspect / 2),
            *(fault_planes, young, old, lens, gas),
        )

    def bottom(self, x: Array) -> Array:
        place, height = self.shelf
        return self.water_depth + self.seafloor(x) + height * np.tanh((x - place) / 0.35)

    def velocity(self, x: Array, z: Array) -> Array:
        """Return the P velocity of the rock in m/s."""
        bottom = self.bottom(x)
        base = self.unconformity_depth + self.unconformity(x) + 0.4 * (bottom - self.water_depth)
        young = self.young.velocity(z - 0.6 * base + 0.6 * self.unconformity_depth, z - bottom)
        old_x, old_z = np.broadcast_arrays(x, z)
        for fault in reversed(self.faults):
            old_x, old_z = fault.undo(old_x, old_z)
        bed = old_z - self.fold(old_x) - self.dip * (old_x - self.centre)
        old = self.old.velocity(bed, z - bottom)
        old = np.where(_inside(self.gas, old_x, bed), 0.8 * old, old)
        old = np.where(_inside(self.lens, old_x, bed), _FASTEST, old)
        return np.clip(np.where(z < base, young, old), _MUD, _FASTEST)


def _inside(ellipse: tuple[float, float, float, float], x: Array, z: Array) -> NDArray[np.bool_]:
    """Return True in a body with a flat base and a domed top, such as a reef, a salt pillow or a gas cap."""
    centre_x, base, half_width, height = ellipse
    return (z <= base) & (((x - centre_x) / half_width) ** 2 + ((z - base) / (2 * height)) ** 2 <= 1.0)


def _check(shape: Any, seed: Any, faults: Any) -> tuple[int, int]:
    if not isinstance(shape, tuple | list) or len(shape) != 2:
        raise ShapeError(f"shape is {shape!r}; expected (nz, nx)")
    try:
        nz, nx = (operator.index(n) for n in shape)
        operator.index(seed)
        operator.index(0 if faults is None else faults)
    except TypeError:
        raise DtypeError(f"shape is {shape!r}, seed is {seed!r}, faults is {faults!r}; expected integers") from None
    if min(nz, nx) < _FEWEST:
        raise ShapeError(f"shape is {(nz, nx)}; expected at least {_FEWEST} cells along each axis")
    if seed < 0 or (faults is not None and faults < 0):
        raise DomainError(f"seed is {seed}, faults is {faults}; expected zero or more")
    return nz, nx


def _render(geology: _Geology, nz: int, nx: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return velocity and water on the grid, averaged from a finer grid so that thin beds do not alias."""
    ratio = min(_FINEST, max(1, math.ceil(_FINE_ROWS / nz)))
    z: Array = np.linspace(0.0, 1.0, (nz - 1) * ratio + 1)[:, None]
    x: Array = np.linspace(0.0, (nx - 1) / (nz - 1), (nx - 1) * ratio + 1)[None, :]
    wet = z < np.maximum(geology.bottom(x), 0.51 / (nz - 1))  # the top row stays water on the coarse grid
    fine = np.where(wet, _WATER, geology.velocity(x, z)).astype(np.float32)
    return downsample(fine, 1.0, ratio, wet)


def faulted_model(
    shape: tuple[int, int],
    dh: float,
    seed: int = 0,
    *,
    water_depth: float | None = None,
    faults: int | None = None,
    radii: tuple[int, int] | None = None,
    passes: int = 3,
) -> PreparedModel:
    """Draw a random model: water over relief, young beds, an unconformity, and faulted and folded beds below.

    A fast lens and a slow gas cap lie in the old beds and are faulted with them. Water has 1500 m/s, rock from 1540 to
    4500 m/s, independently of the depth of the model.

    Parameters
    ----------
    shape : tuple of int
        `(nz, nx)`, at least 16 cells along each axis.
    dh : float
        Grid spacing in metres.
    seed : int
        Seed of the random numbers. The same seed, shape and spacing give the same model.
    water_depth : float, optional
        Mean depth of the water in metres, from one cell to half of the model; about a tenth by default.
    faults : int, optional
        Number of faults; by default about one for every 0.8 depths along the line, and at least two.
    radii : tuple of int, optional
        Half widths in cells of the smoothing that computes the initial model; by default `nz // 16` for both.
    passes : int
        Number of smoothing passes, see `smooth`.

    Returns
    -------
    PreparedModel
        The model, named `faulted-<seed>`.

    Raises
    ------
    ShapeError, DtypeError, DomainError
        An argument is not as described.
    """
    nz, nx = _check(shape, seed, faults)
    dh = check_spacing(dh)
    depth = (nz - 1) * dh
    relative = None
    if water_depth is not None:
        relative = check_positive(water_depth, "water_depth", "the depth of the water in metres") / depth
        if not dh <= water_depth <= 0.5 * depth:
            raise DomainError(
                f"water_depth is {water_depth:g} m; expected from one cell, {dh:g} m, to half of the model, "
                f"{depth / 2:g} m"
            )
    geology = _Geology.draw(np.random.default_rng(seed), (nx - 1) / (nz - 1), relative, faults)
    true, water = _render(geology, nz, nx)
    if radii is None:
        radii = (max(1, nz // 16), max(1, nz // 16))
    return PreparedModel(true, smooth(true, water, radii, passes), water, dh, f"faulted-{seed}")
