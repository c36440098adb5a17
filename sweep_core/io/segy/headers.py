"""Trace headers: read once, and what they say in metres and seconds."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from ..._util.validators import check_choice, is_whole, refuse_unknown
from ...errors import DataError, DtypeError, OptionError
from .layout import TRACE, Layout, load_segyio

FOOT = 0.3048
UNITS = {"m": 1.0, "ft": FOOT}
_KINDS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "f4", "f8")
_UNSIGNED = ("TRACE_SAMPLE_COUNT", "TRACE_SAMPLE_INTERVAL")
_SCALARS = [0, *(sign * 10**power for power in range(7) for sign in (1, -1))]
_DEGREES = {2: (3600 * 360, "seconds of arc"), 3: (360, "decimal degrees"), 4: (3.6e6, "degrees, minutes, seconds")}


@cache
def _standard_fields() -> dict[str, tuple[int, str]]:
    """Return first byte, from 1, and format of each field of segyio, without the tail that nobody assigned."""
    starts = sorted((int(at), name) for name, at in load_segyio().tracefield.keys.items() if at < 233)
    ends = [at for at, _ in starts[1:]] + [233]
    return {
        name: (at, f"{'u' if name in _UNSIGNED else 'i'}{end - at}")
        for (at, name), end in zip(starts, ends, strict=True)
    }


def fields(order: str, header_bytes: Mapping[str, Any] = MappingProxyType({})) -> np.dtype:
    """Return the dtype of a trace header of 240 bytes; `header_bytes` as in `open_segy`."""
    known = _standard_fields()
    placed = known | {name: _place(name, place, known) for name, place in header_bytes.items()}
    return np.dtype(
        {
            "names": list(placed),
            "formats": [order + kind for _, kind in placed.values()],
            "offsets": [at - 1 for at, _ in placed.values()],
            "itemsize": TRACE,
        }
    )


def _place(name: str, place: Any, known: Mapping[str, tuple[int, str]]) -> tuple[int, str]:
    """Return the first byte and the format of a field that the caller moved, or refuse them."""
    if name not in known:
        refuse_unknown("header_bytes", "trace header field", name, known)
    if name == "TRACE_SAMPLE_COUNT":
        raise OptionError(f"header_bytes: {name} cannot be moved; say nt=")
    at, kind = place if isinstance(place, list | tuple) and len(place) == 2 else (place, known[name][1])
    if not (isinstance(kind, str) and kind in _KINDS and is_whole(at, 1) and at + int(kind[1]) - 1 <= TRACE):
        raise OptionError(
            f"header_bytes: {name} is {place!r}; expected its first byte, 1 to {TRACE}, or (byte, format) with "
            f"one of the formats {', '.join(_KINDS)}"
        )
    return int(at), kind


def read_headers(layout: Layout, header_bytes: Mapping[str, Any] | None = None) -> NDArray[Any]:
    """(ntraces,) headers in the byte order of the file; samples are not touched."""
    if not isinstance(header_bytes, Mapping | None):
        raise DtypeError(f"header_bytes is {header_bytes!r}; expected a dict of bytes by the names of header fields")
    return np.ascontiguousarray(layout.open()["header"]).view(fields(layout.order, header_bytes or {}))


@attrs.frozen(eq=False)
class Headers:
    """What trace headers say, scaled.

    Attributes
    ----------
    raw : (ntraces,) structured array
    interval : float
        Seconds between samples.
    metres : float
        Of the unit of length.
    sources, receivers : (ntraces, 3) array
        x and y as mapped, and elevation, metres.
    delay : (ntraces,) array
        Time of the first sample, s.
    notes : tuple of str
    """

    raw: NDArray[Any]
    interval: float
    metres: float
    sources: NDArray[np.float64]
    receivers: NDArray[np.float64]
    delay: NDArray[np.float64]
    notes: tuple[str, ...]


def scale_headers(
    layout: Layout,
    raw: NDArray[Any],
    interval: float | None,
    unit: str | None,
    coordinate_scalar: int | None,
    elevation_scalar: int | None,
) -> Headers:
    """Headers in SI units; each option overrules what the file says.

    Raises
    ------
    DataError, OptionError
    """
    notes: list[str] = []
    _check_counts(layout, raw, notes)
    metres = _unit(layout, unit, notes)
    scalar = _scalar(layout, raw, "SourceGroupScalar", coordinate_scalar, "coordinate_scalar")
    across = metres * scalar
    upward = metres * _scalar(layout, raw, "ElevationScalar", elevation_scalar, "elevation_scalar")
    if unit is None:
        _check_coordinate_units(layout, raw, scalar, notes)
    source_elevation = number(raw, "SourceSurfaceElevation") - number(raw, "SourceDepth")
    ups = (source_elevation * upward, number(raw, "ReceiverGroupElevation") * upward)
    xys = [[number(raw, f"{end}{axis}") * across for axis in "XY"] for end in ("Source", "Group")]
    sources, receivers = (np.stack([*xy, up], axis=1) for xy, up in zip(xys, ups, strict=True))
    delay = number(raw, "DelayRecordingTime") * 1e-3
    if delay.any():
        delay = delay * _scalar(layout, raw, "ScalarTraceHeader", None, "")
    if raw["TraceWeightingFactor"].any():
        count = np.count_nonzero(raw["TraceWeightingFactor"])
        notes.append(f"trace weighting factors of {count} traces are not applied")
    return Headers(raw, _interval(layout, raw, interval), metres, sources, receivers, delay, tuple(notes))


def number(raw: NDArray[Any], name: str) -> NDArray[np.float64]:
    return raw[name].astype(np.float64)


def _refuse(layout: Layout, raw: NDArray[Any], wrong: NDArray[np.bool_], name: str, expected: str) -> None:
    if wrong.any():
        first = int(np.argmax(wrong))
        raise DataError(
            f"{layout.path}: trace {first} has {name} {raw[name][first]}, as {np.count_nonzero(wrong) - 1} others or "
            f"alike; expected {expected}"
        )


def _check_counts(layout: Layout, raw: NDArray[Any], notes: list[str]) -> None:
    """Traces that state all sorts of lengths are none: headers are looked for where samples lie."""
    counts = raw["TRACE_SAMPLE_COUNT"]
    values, many = np.unique(counts, return_counts=True)
    common = int(values[np.argmax(many)])
    odd = (counts != common) & (counts != layout.nt) & (counts != 0)
    if np.count_nonzero(odd) > 0.1 * len(counts):
        some = ", ".join(str(n) for n in values[np.argsort(-many)][:3])
        raise DataError(
            f"{layout.path}: traces state {len(values)} different sample counts ({some}, ...); expected {layout.nt} in "
            "all: traces of many lengths are not read, or the sample format of the binary header is wrong"
        )
    if odd.any():
        first = int(np.argmax(odd))
        notes.append(
            f"{np.count_nonzero(odd)} traces state another sample count, trace {first} {counts[first]}; the size of "
            f"the file admits {layout.nt}"
        )


def _unit(layout: Layout, unit: str | None, notes: list[str]) -> float:
    if unit is not None:
        check_choice(unit, "unit", UNITS)
        return UNITS[unit]
    if layout.unit == 2:
        return FOOT
    if layout.unit not in (0, 1):
        raise DataError(
            f"{layout.path} states measurement system {layout.unit}; expected 1 (metres), 2 (feet) or 0: say unit="
        )
    if layout.unit == 0:
        notes.append("the measurement system is not stated: taken as metres")
    return 1.0


def _scalar(layout: Layout, raw: NDArray[Any], name: str, given: int | None, option: str) -> NDArray[np.float64]:
    """Factors of a scalar field: a positive one multiplies, a negative one divides, zero is one."""
    scalar = number(raw, name)
    if given is not None:
        if isinstance(given, bool) or not isinstance(given, int):
            raise DtypeError(f"{option} is {given!r}; expected a whole number as in the header, such as -100")
        scalar = np.full(len(raw), float(given))
    else:
        hint = f"; say {option}=" if option else ""
        _refuse(layout, raw, ~np.isin(scalar, _SCALARS), name, f"1, 10, 100, ..., the negative of one, or 0{hint}")
    size = np.where(scalar == 0, 1, np.abs(scalar)).astype(np.float64)
    return np.where(scalar < 0, 1 / size, size)


def _check_coordinate_units(layout: Layout, raw: NDArray[Any], scalar: NDArray[np.float64], notes: list[str]) -> None:
    """Lengths are read, angles refused; angles that are none are taken as lengths, and that is said."""
    units = raw["CoordinateUnits"]
    _refuse(layout, raw, (units < 0) | (units > 4), "CoordinateUnits", "0 to 4; say unit= of its lengths")
    angles = np.isin(units, list(_DEGREES))
    if not angles.any():
        return
    xy = np.stack([number(raw, name) for name in ("SourceX", "SourceY", "GroupX", "GroupY")])
    unit = int(units[np.argmax(angles)])
    turn, name = _DEGREES[unit]
    largest = float(np.abs(xy * scalar)[:, angles].max())
    if angles.all() and largest > turn:
        notes.append(f"coordinates are stated in {name} and reach {largest:g}, which are none: taken as lengths")
        return
    raise DataError(
        f"{layout.path}: coordinates of {np.count_nonzero(angles)} of {len(raw)} traces are in {name}; expected "
        "lengths: project them to a map, or say unit= if they are lengths"
    )


def _interval(layout: Layout, raw: NDArray[Any], given: float | None) -> float:
    """Seconds; the binary header and all traces that state an interval agree, or `given`."""
    if given is not None:
        if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < 1e3:
            raise OptionError(f"interval is {given!r}; expected seconds between samples, positive")
        return float(given)
    counted = dict(zip(*np.unique(raw["TRACE_SAMPLE_INTERVAL"], return_counts=True), strict=True))
    stated = {value.item(): int(count) for value, count in counted.items() if value}
    found, extended = set(stated) | ({layout.interval} - {0}), layout.extended_interval
    if extended:  # other fields hold its whole part at most
        if 0 < extended < np.inf and all(abs(value - extended) < 1 for value in found):
            return extended * 1e-6
    elif len(found) == 1:
        return found.pop() * 1e-6
    in_traces = ", ".join(f"{value} in {count}" for value, count in list(stated.items())[:4]) or "none"
    also = f", {extended:g} in its extended sample interval" if extended else ""
    raise DataError(
        f"{layout.path} states a sample interval of {layout.interval} microseconds in its binary header{also} and in "
        f"its {len(raw)} traces {in_traces}; expected one: say interval= in seconds"
    )
