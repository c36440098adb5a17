"""Trace headers, read once and converted to metres and seconds."""

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
    """Return the first byte, counted from 1, and the format of each field of segyio, without the unassigned tail."""
    starts = sorted((int(byte), name) for name, byte in load_segyio().tracefield.keys.items() if byte < 233)
    ends = [byte for byte, _ in starts[1:]] + [233]
    return {
        name: (byte, f"{'u' if name in _UNSIGNED else 'i'}{end - byte}")
        for (byte, name), end in zip(starts, ends, strict=True)
    }


def fields(order: str, header_bytes: Mapping[str, Any] = MappingProxyType({})) -> np.dtype:
    """Return the dtype of a trace header of 240 bytes; `header_bytes` as in `open_segy`."""
    standard = _standard_fields()
    places = standard | {name: _place(name, place, standard) for name, place in header_bytes.items()}
    return np.dtype(
        {
            "names": list(places),
            "formats": [order + kind for _, kind in places.values()],
            "offsets": [byte - 1 for byte, _ in places.values()],
            "itemsize": TRACE,
        }
    )


def _place(name: str, place: Any, standard: Mapping[str, tuple[int, str]]) -> tuple[int, str]:
    """Return the first byte and the format of a field that the caller moved, or raise an OptionError."""
    if name not in standard:
        refuse_unknown("header_bytes", "trace header field", name, standard)
    if name == "TRACE_SAMPLE_COUNT":
        raise OptionError(f"header_bytes: {name} cannot be moved; pass nt= instead")
    byte, kind = place if isinstance(place, list | tuple) and len(place) == 2 else (place, standard[name][1])
    if not (isinstance(kind, str) and kind in _KINDS and is_whole(byte, 1) and byte + int(kind[1]) - 1 <= TRACE):
        raise OptionError(
            f"header_bytes: {name} is {place!r}; expected its first byte, 1 to {TRACE}, or (byte, format) with "
            f"one of the formats {', '.join(_KINDS)}"
        )
    return int(byte), kind


def read_headers(layout: Layout, header_bytes: Mapping[str, Any] | None) -> NDArray[Any]:
    """Return the (ntraces,) headers in the byte order of the file, without reading samples."""
    if not isinstance(header_bytes, Mapping | None):
        raise DtypeError(f"header_bytes is {header_bytes!r}; expected a dict of bytes by the names of header fields")
    return np.ascontiguousarray(layout.open()["header"]).view(fields(layout.order, header_bytes or {}))


@attrs.frozen(eq=False)
class Headers:
    """Trace headers in SI units.

    Attributes
    ----------
    raw : (ntraces,) structured array
        The fields of the file, without scaling.
    interval : float
        Seconds between samples.
    metres : float
        Length of the file's unit (m).
    sources, receivers : (ntraces, 3) array
        x and y on the map, and elevation (m).
    delay : (ntraces,) array
        Time of the first sample (s).
    notes : tuple of str
        Contradictions of the file, and their resolution.
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
    """Return the headers in SI units. Each option overrides the value of the file.

    Raises
    ------
    DataError
        The file contradicts itself.
    OptionError, DtypeError
        An option has a wrong value or kind.
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
    """Return the values of a header field as float64."""
    return raw[name].astype(np.float64)


def _refuse(layout: Layout, raw: NDArray[Any], wrong: NDArray[np.bool_], name: str, expected: str) -> None:
    if wrong.any():
        first = int(np.argmax(wrong))
        raise DataError(
            f"{layout.path}: {name} of trace {first} is {raw[name][first]}, and {np.count_nonzero(wrong) - 1} others "
            f"are wrong, too; expected {expected}"
        )


def _check_counts(layout: Layout, raw: NDArray[Any], notes: list[str]) -> None:
    """Check the sample counts of the traces. Many different counts mean that the headers were read at wrong bytes."""
    counts = raw["TRACE_SAMPLE_COUNT"]
    values, many = np.unique(counts, return_counts=True)
    common = int(values[np.argmax(many)])
    odd = (counts != common) & (counts != layout.nt) & (counts != 0)
    if np.count_nonzero(odd) > 0.1 * len(counts):
        some = ", ".join(str(n) for n in values[np.argsort(-many)][:3])
        raise DataError(
            f"{layout.path}: traces state {len(values)} different sample counts ({some}, ...); expected {layout.nt} in "
            "all: SWEEP does not read traces of different lengths, or the sample format of the binary header is wrong"
        )
    if odd.any():
        first = int(np.argmax(odd))
        notes.append(
            f"{np.count_nonzero(odd)} traces state another sample count, such as trace {first} with {counts[first]}; "
            f"the size of the file admits {layout.nt}"
        )


def _unit(layout: Layout, unit: str | None, notes: list[str]) -> float:
    if unit is not None:
        check_choice(unit, "unit", UNITS)
        return UNITS[unit]
    if layout.unit == 2:
        return FOOT
    if layout.unit not in (0, 1):
        raise DataError(
            f"{layout.path} states measurement system {layout.unit}; expected 1 (metres), 2 (feet) or 0: pass unit="
        )
    if layout.unit == 0:
        notes.append("the measurement system is not stated: taken as metres")
    return 1.0


def _scalar(layout: Layout, raw: NDArray[Any], name: str, override: int | None, option: str) -> NDArray[np.float64]:
    """Return the factors of a scalar field: a positive scalar multiplies, a negative scalar divides, zero means one."""
    scalar = number(raw, name)
    if override is not None:
        if isinstance(override, bool) or not isinstance(override, int):
            raise DtypeError(f"{option} is {override!r}; expected a whole number as in the header, such as -100")
        scalar = np.full(len(raw), float(override))
    else:
        hint = f"; pass {option}=" if option else ""
        _refuse(layout, raw, ~np.isin(scalar, _SCALARS), name, f"1, 10, 100, ..., the negative of one, or 0{hint}")
    size = np.where(scalar == 0, 1, np.abs(scalar)).astype(np.float64)
    return np.where(scalar < 0, 1 / size, size)


def _check_coordinate_units(layout: Layout, raw: NDArray[Any], scalar: NDArray[np.float64], notes: list[str]) -> None:
    """Refuse coordinates in angles. Values that are too large for angles are lengths, which a note reports."""
    units = raw["CoordinateUnits"]
    _refuse(layout, raw, (units < 0) | (units > 4), "CoordinateUnits", "0 to 4; pass unit= of its lengths")
    angles = np.isin(units, list(_DEGREES))
    if not angles.any():
        return
    xy = np.stack([number(raw, name) for name in ("SourceX", "SourceY", "GroupX", "GroupY")])
    unit = int(units[np.argmax(angles)])
    turn, name = _DEGREES[unit]
    largest = float(np.abs(xy * scalar)[:, angles].max())
    if angles.all() and largest > turn:
        notes.append(f"coordinates are stated in {name} and reach {largest:g}, too much for angles: taken as lengths")
        return
    raise DataError(
        f"{layout.path}: coordinates of {np.count_nonzero(angles)} of {len(raw)} traces are in {name}; expected "
        "lengths: project them to a map, or pass unit= if they are lengths"
    )


def _interval(layout: Layout, raw: NDArray[Any], override: float | None) -> float:
    """Return the sample interval in seconds. The binary header and all traces that state it must agree."""
    if override is not None:
        if isinstance(override, bool) or not isinstance(override, int | float) or not 0 < override < 1e3:
            raise OptionError(f"interval is {override!r}; expected seconds between samples, positive")
        return float(override)
    counts = dict(zip(*np.unique(raw["TRACE_SAMPLE_INTERVAL"], return_counts=True), strict=True))
    in_traces = {value.item(): int(count) for value, count in counts.items() if value}
    intervals, extended = set(in_traces) | ({layout.interval} - {0}), layout.extended_interval
    if extended:  # the other fields hold at most its whole part
        if 0 < extended < np.inf and all(abs(value - extended) < 1 for value in intervals):
            return extended * 1e-6
    elif len(intervals) == 1:
        return intervals.pop() * 1e-6
    some = ", ".join(f"{value} in {count}" for value, count in list(in_traces.items())[:4]) or "none"
    also = f", {extended:g} in its extended sample interval" if extended else ""
    raise DataError(
        f"{layout.path} states a sample interval of {layout.interval} microseconds in its binary header{also} and in "
        f"its {len(raw)} traces {some}; expected one: pass interval= in seconds"
    )
