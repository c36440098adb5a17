"""The straight line of a 2-D model over the map, and how far a survey is off it."""

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from ..errors import DomainError, DtypeError, ShapeError


def _pair(value: Any) -> tuple[float, float]:
    pair = np.asarray(value)
    if pair.shape != (2,) or pair.dtype.kind not in "iuf" or not np.isfinite(pair).all():
        raise ShapeError(f"{value!r} is no point of a map; expected (x, y)")
    return float(pair[0]), float(pair[1])


def _unit(value: Any) -> tuple[float, float]:
    x, y = _pair(value)
    length = math.hypot(x, y)
    if length == 0:
        raise DomainError("the direction of a line is (0, 0); expected a vector (x, y) of the map")
    return x / length, y / length


@attrs.frozen
class Line:
    """Where x of a 2-D model runs on the map.

    Parameters
    ----------
    origin : (x, y)
        Point of the map at x = 0, metres.
    direction : (x, y)
        Where x grows to; any length but zero.
    """

    origin: tuple[float, float] = attrs.field(converter=_pair, default=(0.0, 0.0))
    direction: tuple[float, float] = attrs.field(converter=_unit, default=(1.0, 0.0))

    @property
    def azimuth(self) -> float:
        """Degrees from north (y) over east (x)."""
        return math.degrees(math.atan2(*self.direction)) % 360

    def project(self, xy: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Metres along the line, and off it to its left, of points (..., 2)."""
        east, north = np.moveaxis(np.asarray(xy, dtype=np.float64) - self.origin, -1, 0)
        (x, y) = self.direction
        return x * east + y * north, x * north - y * east

    def place(self, along: NDArray[np.floating]) -> NDArray[np.float64]:
        """Points (..., 2) of the map so many metres along the line."""
        return self.origin + np.asarray(along, dtype=np.float64)[..., None] * self.direction


def check_line(line: Any) -> None:
    """DtypeError unless it is a Line, or None."""
    if line is not None and not isinstance(line, Line):
        raise DtypeError(f"line is {line!r}; expected sweep_core.io.Line")


def fit_line(xy: NDArray[np.floating]) -> Line:
    """Return the line with the least squared distance from points; its origin is the first of them along it.

    It points to growing x, or growing y where it runs more north than east.

    Parameters
    ----------
    xy : (n, 2) array
        Points of the map (m).

    Returns
    -------
    Line

    Raises
    ------
    ShapeError, DomainError
        For points that are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> round(fit_line(np.array([[0.0, 0.0], [100.0, 100.0]])).azimuth, 6)
    45.0
    """
    xy = np.unique(np.asarray(xy, dtype=np.float64).reshape(-1, 2), axis=0)
    centre = xy.mean(axis=0)
    spread = np.linalg.svd(xy - centre, full_matrices=False)[2][0] if len(xy) > 1 else np.array([1.0, 0.0])
    if spread[np.argmax(np.abs(spread))] < 0:
        spread = -spread
    through = Line(centre, spread)
    along, _ = through.project(xy)
    return Line(through.place(along.min()), spread)


@attrs.frozen
class Misfit:
    """How well a survey lies on its line, metres.

    Attributes
    ----------
    rms, largest : float
        Distance of sources and receivers from the line.
    offset : float
        The largest difference between the distance of a source and its receiver and that of their projections: what
        times of arrival are wrong by, times the velocity.
    """

    rms: float = 0.0
    largest: float = 0.0
    offset: float = 0.0


def misfit_to(line: Line, sources: NDArray[np.floating], receivers: NDArray[np.floating]) -> Misfit:
    """The misfit of pairs (n, 2) of source and receiver."""
    (s, off_s), (r, off_r) = line.project(sources), line.project(receivers)
    off = np.concatenate([off_s, off_r])
    offset = np.abs(np.hypot(r - s, off_r - off_s) - np.abs(r - s))
    return Misfit(float(np.sqrt(np.mean(off**2))), float(np.abs(off).max()), float(offset.max()))
