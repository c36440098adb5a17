"""The straight line of a 2-D model on the map, and the distance of a survey from it."""

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from ..errors import DomainError, DtypeError, ShapeError


def _pair(value: Any) -> tuple[float, float]:
    pair = np.asarray(value)
    if pair.shape != (2,) or pair.dtype.kind not in "iuf" or not np.isfinite(pair).all():
        raise ShapeError(f"{value!r} is not a point of a map; expected (x, y)")
    return float(pair[0]), float(pair[1])


def _unit(value: Any) -> tuple[float, float]:
    x, y = _pair(value)
    length = math.hypot(x, y)
    if length == 0:
        raise DomainError("the direction of a line is (0, 0); expected a nonzero vector (x, y) of the map")
    return x / length, y / length


@attrs.frozen
class Line:
    """The x axis of a 2-D model on the map.

    Parameters
    ----------
    origin : (x, y)
        Point of the map at x = 0 (m).
    direction : (x, y)
        Direction of growing x, of any length but zero.

    Raises
    ------
    ShapeError, DomainError
        One of them is not a pair of finite numbers, or the direction is zero.
    """

    origin: tuple[float, float] = attrs.field(converter=_pair, default=(0.0, 0.0))
    direction: tuple[float, float] = attrs.field(converter=_unit, default=(1.0, 0.0))

    @property
    def azimuth(self) -> float:
        """Direction of the line in degrees from north (y) towards east (x)."""
        return math.degrees(math.atan2(*self.direction)) % 360

    def project(self, xy: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the distances of points along the line, and from the line to its left.

        Parameters
        ----------
        xy : (..., 2) array
            Points of the map (m).

        Returns
        -------
        along, off : (...) float64
            Distances (m).
        """
        east, north = np.moveaxis(np.asarray(xy, dtype=np.float64) - self.origin, -1, 0)
        (x, y) = self.direction
        return x * east + y * north, x * north - y * east

    def place(self, along: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return points of the line.

        Parameters
        ----------
        along : (...) array
            Distances along the line (m).

        Returns
        -------
        (..., 2) float64
            Points of the map (m).
        """
        return self.origin + np.asarray(along, dtype=np.float64)[..., None] * self.direction


def check_line(line: Any) -> None:
    """Raise a DtypeError unless `line` is a Line or None."""
    if line is not None and not isinstance(line, Line):
        raise DtypeError(f"line is {line!r}; expected sweep_core.io.Line")


def fit_line(xy: NDArray[np.floating]) -> Line:
    """Return the line with the least squared distance from points.

    The origin is the first of the points along the line. The line points to growing x, or to growing y if it runs more
    north than east.

    Parameters
    ----------
    xy : (n, 2) array
        Points of the map (m).

    Returns
    -------
    Line
        The line.

    Raises
    ------
    ShapeError, DomainError
        The points are not finite.

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
    line = Line(centre, spread)
    along, _ = line.project(xy)
    return Line(line.place(along.min()), spread)


@attrs.frozen
class Misfit:
    """The distance of a survey from its line (m).

    Attributes
    ----------
    rms, largest : float
        Distance of sources and receivers from the line.
    offset : float
        The largest change of an offset by the projection to the line. It is the error of arrival times, times the
        velocity.
    """

    rms: float = 0.0
    largest: float = 0.0
    offset: float = 0.0


def misfit_to(line: Line, sources: NDArray[np.floating], receivers: NDArray[np.floating]) -> Misfit:
    """Return the misfit of pairs (n, 2) of source and receiver."""
    (s, off_s), (r, off_r) = line.project(sources), line.project(receivers)
    off = np.concatenate([off_s, off_r])
    offset = np.abs(np.hypot(r - s, off_r - off_s) - np.abs(r - s))
    return Misfit(float(np.sqrt(np.mean(off**2))), float(np.abs(off).max()), float(offset.max()))
