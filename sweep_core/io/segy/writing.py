"""Writing of records, models and images to SEG-Y: revision 1, IEEE floats, big-endian; segyio and others read it."""

import math
import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._util.arrays import numpy_of
from ..._util.validators import as_path, check_number
from ...errors import DomainError, DtypeError, OptionError, ShapeError, UnsupportedError
from ..gathers import Gathers, check_field, check_gathers, check_spacings
from ..line import Line, check_line
from ..replacing import replacing
from .headers import fields
from .layout import BINARY, STACKED, TEXT, load_segyio

_MOST = 65535  # the largest unsigned number of two bytes
_SCALARS = (1, 10, 100, 1000, 10000)
_LARGEST = 2**31 - 1
_WIDTH = 76  # characters of a line of the textual header, without its number


def write_segy(
    path: str | os.PathLike[str], gathers: Gathers, *, field: int | None = None, start: float = 0.0,
    text: Iterable[str] = (),
) -> Path:  # fmt: skip
    """Write shot gathers to a SEG-Y file, completely or not at all.

    `attrs.evolve(gathers, observed=record)` are the gathers of a modelled record.

    `recorded` and `clipped` are lost: samples that were not recorded are zeros. Positions are written on the map, along
    `gathers.line`, and depths below `gathers.datum`. Both have the scalar that makes them exact, or else the finest
    that fits. Padding is left out; dead traces have the code of dead traces.

    Parameters
    ----------
    path : path-like
        The file, without a change of its suffix. Missing folders are created.
    gathers : Gathers
        The gathers. dt is a whole number of microseconds up to 65535, and nt is at most 65535.
    field : int, optional
        The field, if there are several.
    start : float
        Time of the first sample (s), such as `solver.time(field)[0]`; written as the delay.
    text : str, or iterable of str
        Lines of up to 76 characters for the textual header, after its standard lines.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    UnsupportedError
        The format cannot hold dt, nt, a position, a time, the number of a shot or a sample.
    DtypeError, DomainError, OptionError
        An argument has a wrong kind or value, or there is no trace.
    StorageError
        The disk is full, or the system refuses to write.
    """
    check_gathers(gathers)
    nfield = gathers.observed.shape[3]
    if field is None and nfield > 1:
        raise OptionError(f"observed holds {nfield} fields; expected one: choose it by field=")
    field = 0 if field is None else check_field(gathers, field)
    if not (gathers.traces >= 0).any():
        raise DomainError("gathers hold no trace; expected one or more")
    _check_shots(gathers)
    if not np.abs(gathers.observed).max() <= np.finfo(np.float32).max:
        raise UnsupportedError("observed is beyond single precision, which SEG-Y holds; scale it")
    shot, receiver = np.nonzero(gathers.traces >= 0)
    (dz, dx), datum = gathers.dh, gathers.datum
    places = (
        gathers.line.place(gathers.sources[shot, 0] * dx),
        gathers.line.place(gathers.receivers[shot, receiver, 0] * dx),
    )
    xy, xy_scalar = _scaled(np.concatenate(places, axis=1), "coordinates")
    depths = gathers.sources[shot, 1] * dz, datum - gathers.receivers[shot, receiver, 1] * dz
    z, z_scalar = _scaled(np.stack([*depths, np.full(len(shot), datum)], axis=1), "elevations")
    delay, time_scalar = _delay(start)
    headers = _headers(len(shot), gathers.nt, _microseconds(gathers.dt))
    values: dict[str, Any] = {
        "FieldRecord": gathers.shots[shot], "EnergySourcePoint": gathers.shots[shot], "TraceNumber": receiver + 1,
        "TraceIdentificationCode": np.where(gathers.receiver_mask[shot, receiver], 1, 2), "DataUse": 1,
        "offset": np.rint(gathers.offsets[shot, receiver]), "SourceDepth": z[:, 0], "ReceiverGroupElevation": z[:, 1],
        "SourceSurfaceElevation": z[:, 2], "ElevationScalar": z_scalar, "SourceX": xy[:, 0], "SourceY": xy[:, 1],
        "GroupX": xy[:, 2], "GroupY": xy[:, 3], "SourceGroupScalar": xy_scalar, "CoordinateUnits": 1,
        "DelayRecordingTime": delay, "ScalarTraceHeader": time_scalar,
    }  # fmt: skip
    for name, value in values.items():
        headers[name] = value
    lines = [
        f"SHOT GATHERS: {gathers.name}", f"{len(gathers)} SHOTS, {len(shot)} TRACES OF {gathers.nt} SAMPLES, "
        f"{1e3 * gathers.dt:g} MS", f"MODEL CELLS DX {dx:g} M, DZ {dz:g} M", *_line_text(gathers.line, datum),
        *_text_lines(text),
    ]  # fmt: skip
    records = (gathers.observed[n, :, gathers.traces[n] >= 0, field] for n in range(len(gathers)))
    return _write(
        as_path(path), lines, headers, records, traces=int((gathers.traces >= 0).sum(axis=1).max()), sorting=1
    )


def write_segy_section(
    path: str | os.PathLike[str], section: NDArray[Any], dh: float | tuple[float, float], *, line: Line | None = None,
    datum: float = 0.0, text: Iterable[str] = (),
) -> Path:  # fmt: skip
    """Write a model or an image in depth to a SEG-Y file, one trace for each column, completely or not at all.

    The format has no field for a depth step. The step is written in millimetres in the field of the microseconds, as in
    Marmousi-II, and stated in the textual header. Columns lie on the map along `line`; the headers hold their places as
    CDP, source and receiver.

    Parameters
    ----------
    path : path-like
        The file, without a change of its suffix. Missing folders are created.
    section : (nz, nx) array
        The model or image, finite; written as float32.
    dh : float or (dz, dx)
        Grid spacing (m). dz is a whole number of millimetres up to 65535.
    line : Line, optional
        The x axis on the map; by default x of the map, with y = 0.
    datum : float
        Elevation of the first row (m).
    text : iterable of str
        Lines for the textual header, see `write_segy`.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ShapeError, DtypeError, DomainError
        The section or another argument has a wrong shape, kind or value.
    UnsupportedError
        The format cannot hold nz, dz or a position.
    StorageError
        The disk is full, or the system refuses to write.
    """
    check_line(line)
    section = numpy_of(section)
    if section.ndim != 2 or section.size == 0:
        raise ShapeError(f"the section has shape {section.shape}; expected (nz, nx)")
    if section.dtype.kind not in "iuf":
        raise DtypeError(f"the section is of {section.dtype}; expected real numbers")
    if not np.isfinite(section).all():
        raise DomainError("the section holds NaN or infinite values; expected finite numbers")
    (dz, dx), line, count = check_spacings(dh), line or Line(), section.shape[1]
    xy, scalar = _scaled(line.place(np.arange(count) * dx), "coordinates")
    elevation, z_scalar = _scaled(np.array([check_number(datum, "datum", "metres")]), "elevations")
    headers = _headers(count, section.shape[0], _whole(1e3 * dz, "dz", "mm"))
    for name in ("CDP", "CDP_TRACE", "FieldRecord", "TraceNumber", "ShotPoint"):
        headers[name] = 1 if name in ("CDP_TRACE", "FieldRecord") else np.arange(1, count + 1)
    for column, axis in enumerate("XY"):
        for name in (f"CDP_{axis}", f"Source{axis}", f"Group{axis}"):
            headers[name] = xy[:, column]
    headers["SourceGroupScalar"], headers["ElevationScalar"], headers["CoordinateUnits"] = scalar, z_scalar, 1
    headers["SourceSurfaceElevation"] = headers["ReceiverGroupElevation"] = elevation[0]
    headers["TraceIdentificationCode"], headers["DataUse"] = 1, 1
    lines = [
        "SECTION IN DEPTH", f"{count} TRACES OF {len(section)} SAMPLES", f"DX {dx:g} M, DZ {dz:g} M",
        "SAMPLE INTERVAL: DEPTH STEP IN MILLIMETRES", *_line_text(line, datum), *_text_lines(text),
    ]  # fmt: skip
    return _write(as_path(path), lines, headers, [section.T], traces=1, sorting=STACKED)


def _headers(count: int, nt: int, interval: int) -> NDArray[Any]:
    _check_count(nt)
    headers = np.zeros(count, fields(">"))
    headers["TRACE_SEQUENCE_LINE"] = headers["TRACE_SEQUENCE_FILE"] = np.arange(1, count + 1)
    headers["TRACE_SAMPLE_COUNT"], headers["TRACE_SAMPLE_INTERVAL"] = nt, interval
    return headers


def check_samples(nt: int, dt: float, start: float) -> None:
    """Raise an UnsupportedError if the format cannot hold the number of samples, their interval or the first time."""
    _check_count(nt)
    _microseconds(dt)
    _delay(start)


def _check_count(nt: int) -> None:
    if nt > _MOST:
        raise UnsupportedError(
            f"traces have {nt} samples; expected at most {_MOST}, the limit of SEG-Y revision 1: cut or resample them"
        )


def _check_shots(gathers: Gathers) -> None:
    """Raise an UnsupportedError if numbers of shots do not fit, or if a reader would merge two shots."""
    if len(gathers) and not -_LARGEST - 1 <= gathers.shots.min() <= gathers.shots.max() <= _LARGEST:
        raise UnsupportedError(f"shots are {gathers.shots.tolist()[:9]}; SEG-Y holds numbers of 32 bits")
    row_of: dict[Any, int] = {}
    for row, key in enumerate(zip(gathers.shots.tolist(), map(tuple, gathers.sources.tolist()), strict=True)):
        if key in row_of:
            raise UnsupportedError(
                f"shots {row_of[key]} and {row} have one number, {key[0]}, and one place: a reader would merge them; "
                "set other numbers by attrs.evolve(gathers, shots=...)"
            )
        row_of[key] = row


def _whole(value: float, name: str, unit: str) -> int:
    number = round(value)
    if not 1 <= number <= _MOST or not math.isclose(value, number, rel_tol=1e-6):
        raise UnsupportedError(f"{name} is {value:.9g} {unit}; SEG-Y holds whole numbers from 1 to {_MOST}")
    return number


def _microseconds(dt: float) -> int:
    return _whole(1e6 * dt, "dt", "microseconds")


def _scaled(values: NDArray[np.float64], name: str) -> tuple[NDArray[np.int64], int]:
    """Return whole numbers and their header scalar: the coarsest that keeps values exactly, or the finest that fits."""
    largest = float(np.abs(values).max())
    fitting = [scale for scale in _SCALARS if largest * scale < _LARGEST]
    if not fitting:
        raise UnsupportedError(f"{name} reach {largest:g} m; SEG-Y holds less than {_LARGEST} m")
    exact = (scale for scale in fitting if np.abs(np.rint(values * scale) / scale - values).max() < 1e-7)
    scale = next(exact, fitting[-1])
    return np.rint(values * scale).astype(np.int64), 1 if scale == 1 else -scale


def _delay(start: float) -> tuple[int, int]:
    check_number(start, "start", "seconds")
    for scale in _SCALARS:
        value = 1e3 * start * scale
        if math.isclose(value, round(value), rel_tol=1e-9, abs_tol=1e-9) and abs(value) < 32768:
            return round(value), 1 if scale == 1 else -scale
    raise UnsupportedError(
        f"start is {start!r} s; SEG-Y holds it as a whole number of 0.0001 to 1 ms, up to 32767 of them"
    )


def _text_lines(text: Iterable[str]) -> list[str]:
    lines = text.splitlines() if isinstance(text, str) else list(text)
    for line in lines:
        if not isinstance(line, str) or len(line) > _WIDTH:
            raise OptionError(f"text has the line {line!r}; expected text of up to {_WIDTH} characters")
    return lines


def _line_text(line: Line, datum: float) -> list[str]:
    x, y = line.origin
    return [f"X = 0 AT ({x:.4f}, {y:.4f}), AZIMUTH {line.azimuth:.4f} DEGREES", f"DATUM {datum:g} M"]


def _write(
    path: Path, lines: list[str], headers: NDArray[Any], records: Iterable[NDArray[Any]], traces: int, sorting: int
) -> Path:
    """Write the textual and the binary header, then the traces of `records`, arrays (n, nt), with their headers."""
    if len(lines) > 37:
        raise OptionError(f"the textual header has {len(lines)} lines with those of text; expected at most 37")
    text = load_segyio().create_text_header(
        {n: line[:_WIDTH] for n, line in enumerate(["WRITTEN BY SWEEP", *lines], 1)}
        | {39: "SEG Y REV1", 40: "END TEXTUAL HEADER"}
    )
    binary = bytearray(BINARY)
    nt, interval = int(headers["TRACE_SAMPLE_COUNT"][0]), int(headers["TRACE_SAMPLE_INTERVAL"][0])
    byte = load_segyio().BinField
    for first, value in (
        (byte.Traces, min(traces, _MOST)), (byte.Interval, interval), (byte.Samples, nt),
        (byte.Format, 5), (byte.EnsembleFold, 1), (byte.SortingCode, sorting), (byte.MeasurementSystem, 1),
        (byte.SEGYRevision, 0x0100), (byte.TraceFlag, 1),
    ):  # fmt: skip
        struct.pack_into(">H", binary, int(first) - TEXT - 1, value)
    begin = 0
    with replacing(path) as stream:
        stream.write(text.encode("cp037", "replace")[:TEXT].ljust(TEXT, b"\x40") + binary)
        for record in records:
            block = np.empty(len(record), [("header", headers.dtype), ("samples", ">f4", (nt,))])
            block["header"] = headers[begin : begin + len(record)]
            block["samples"] = record
            stream.write(block.tobytes())
            begin += len(record)
    return path
