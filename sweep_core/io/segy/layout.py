"""The layout of a SEG-Y file: byte order, sample format, samples of a trace and number of traces.

segyio trusts the sample count of the binary header. Field files may have another count in their traces, and the size of
the file shows the right one. So this module computes the layout, and segyio only names the header fields.
"""

import os
import struct
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np

from ..._util.validators import as_path
from ...errors import DataError, UnsupportedError

TEXT, BINARY, TRACE = 3200, 400, 240  # bytes of the headers
FORMATS: Mapping[int, tuple[str, str]] = MappingProxyType(
    {
        1: ("u4", "IBM float"),
        2: ("i4", "4-byte integer"),
        3: ("i2", "2-byte integer"),
        5: ("f4", "IEEE float"),
        6: ("f8", "IEEE double"),
        8: ("i1", "1-byte integer"),
        9: ("i8", "8-byte integer"),
        10: ("u4", "4-byte unsigned integer"),
        11: ("u2", "2-byte unsigned integer"),
        12: ("u8", "8-byte unsigned integer"),
        16: ("u1", "1-byte unsigned integer"),
    }
)
STACKED = 4
"""Sorting code of stacked traces, such as those of a section."""
_FOREIGN = {4: "fixed point with gain", 7: "3-byte integer", 15: "3-byte unsigned integer"}


def load_segyio() -> Any:
    """Import segyio, or raise an error that tells how to install it."""
    try:
        import segyio
    except ImportError:
        raise UnsupportedError("segyio is not installed; SEG-Y needs it: pip install segyio") from None
    return segyio


@attrs.frozen
class Layout:
    """The bytes at which the samples and headers of a file lie.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    order : str
        Byte order, ">" or "<".
    format : int
        Code of the sample format, see `FORMATS`.
    nt, ntraces : int
        Number of samples of each trace, and number of traces.
    begin : int
        First byte of the first trace.
    interval : int
        Sample interval of the binary header in microseconds; 0 if the header states none.
    extended_interval : float
        Sample interval of revision 2 in microseconds, a double; 0 if the file states none.
    unit : int
        Measurement system of the binary header: 1 metres, 2 feet, 0 not stated.
    revision : int
        Major revision of the standard.
    stacked : bool
        Whether the binary header calls the traces stacked (a section).
    notes : tuple of str
        Contradictions of the file, and their resolution.
    """

    path: Path
    order: str
    format: int
    nt: int
    ntraces: int
    begin: int
    interval: int
    unit: int
    revision: int
    stacked: bool = False
    notes: tuple[str, ...] = ()
    extended_interval: float = 0.0

    @property
    def is_su(self) -> bool:
        """True for a Seismic Unix file: traces without textual and binary header."""
        return self.begin == 0

    @property
    def records(self) -> np.dtype:
        """Type of one trace: its header and its samples."""
        return np.dtype([("header", f"V{TRACE}"), ("samples", self.order + FORMATS[self.format][0], (self.nt,))])

    def open(self) -> np.memmap:
        """Map all traces of the file."""
        try:
            return np.memmap(self.path, self.records, "r", self.begin, (self.ntraces,))
        except (OSError, ValueError) as error:
            raise DataError(f"{self.path} can no longer be opened: {error}") from error


def read_layout(path: str | os.PathLike[str], nt: int | None, sample_format: int | None) -> Layout:
    """Return the layout of a file. `nt` and `sample_format` override its headers, unless they are None.

    Raises
    ------
    DataError
        The file is damaged, or contradicts itself in a way that its size does not resolve.
    UnsupportedError
        The format cannot be read.
    """
    path = as_path(path)
    try:
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            head = stream.read(TEXT + BINARY)
            if su := _su_layout(path, size, head[:TRACE], nt, sample_format):
                return su
            order, code = _byte_order(path, head, sample_format)
            revision, texts, notes = _revision(path, head, order)
            begin = TEXT * (1 + texts) + BINARY
            stream.seek(begin)
            first = stream.read(TRACE)
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror or error}") from error
    if size <= begin + TRACE:
        raise DataError(f"{path} has {size} bytes; expected more than {begin + TRACE}, the size of its headers")
    (binary,) = struct.unpack_from(f"{order}H", head, 3220)
    (trace,) = struct.unpack_from(f"{order}H", first, 114)
    extended = 0.0
    if revision >= 2:
        binary = struct.unpack_from(f"{order}I", head, 3268)[0] or binary
        (extended,) = struct.unpack_from(f"{order}d", head, 3272)
    width = np.dtype(FORMATS[code][0]).itemsize
    count, count_notes = _sample_count(path, size - begin, width, {"binary": binary, "trace": trace}, nt)
    interval, (unit,) = struct.unpack_from(f"{order}H", head, 3216)[0], struct.unpack_from(f"{order}h", head, 3254)
    traces = (size - begin) // (TRACE + width * count)
    stacked = struct.unpack_from(f"{order}h", head, 3228)[0] == STACKED
    notes += count_notes
    return Layout(path, order, code, count, traces, begin, interval, unit, revision, stacked, notes, extended)


def _su_layout(path: Path, size: int, first: bytes, nt: int | None, code: int | None) -> Layout | None:
    """Return the layout of a Seismic Unix file; None unless its size is a whole number of traces of one count."""
    if len(first) < TRACE or not (code is None or (isinstance(code, int | np.integer) and code == 5)):
        return None
    fitting = []
    for order in "<>":
        (count,) = struct.unpack_from(f"{order}H", first, 114)
        length = TRACE + 4 * count
        if not count or nt not in (None, count) or size % length:
            continue
        traces = np.dtype({"names": ["nt"], "formats": [f"{order}u2"], "offsets": [114], "itemsize": length})
        if (np.memmap(path, traces, "r")["nt"] == count).all():
            fitting.append(Layout(path, order, 5, count, size // length, 0, 0, 0, 0))
    # A count of two equal bytes fits in both orders. Header fields are small numbers, but only in the right order.
    return min(fitting, key=lambda fit: np.abs(np.frombuffer(first, f"{fit.order}i2").astype(int)).sum(), default=None)


def _byte_order(path: Path, head: bytes, override: int | None) -> tuple[str, int]:
    """Return the byte order and the code of the sample format."""
    if len(head) < TEXT + BINARY:
        raise DataError(f"{path} has {len(head)} bytes; expected a SEG-Y file, whose first two headers take 3600")
    codes = {order: struct.unpack_from(f"{order}h", head, 3224)[0] for order in "><"}
    if override is not None:
        if not isinstance(override, int | np.integer) or override not in FORMATS:
            raise UnsupportedError(f"sample_format is {override!r}; expected one of {_formats()}")
        return ("<" if codes[">"] not in FORMATS and codes["<"] in FORMATS else ">"), override
    for order, code in codes.items():
        if code in FORMATS:
            return order, code
    if kind := _FOREIGN.get(codes[">"]) or _FOREIGN.get(codes["<"]):
        raise UnsupportedError(
            f"{path} holds samples of format {kind}, which SWEEP does not read; convert it to IEEE floats"
        )
    counts = " or ".join(str(struct.unpack_from(f"{order}H", head, 114)[0]) for order in "<>")
    raise DataError(
        f"{path} states sample format {codes['>']} in its binary header; expected one of {_formats()}: the file is "
        "damaged or not a SEG-Y file; if it is one, pass sample_format=. It is not a Seismic Unix file either: its "
        f"first trace states {counts} samples, which its size or its other traces contradict"
    )


def _formats() -> str:
    return ", ".join(f"{code} ({name})" for code, (_, name) in FORMATS.items())


def _revision(path: Path, head: bytes, order: str) -> tuple[int, int, tuple[str, ...]]:
    """Return the major revision, the number of extended textual headers, and notes."""
    revision, (texts,) = head[3500], struct.unpack_from(f"{order}h", head, 3504)
    if revision == 0:
        return 0, 0, ()  # revision 0 does not define the bytes in which later revisions count textual headers
    if revision > 2:
        return 0, 0, (f"it states revision {revision} of the format, which does not exist: read as revision 0",)
    if not 0 <= texts <= 1000:
        raise UnsupportedError(f"{path} states {texts} extended textual headers; expected a count from 0 to 1000")
    if revision == 2:
        (extra,), (offset,) = struct.unpack_from(f"{order}i", head, 3506), struct.unpack_from(f"{order}Q", head, 3520)
        (trailers,) = struct.unpack_from(f"{order}i", head, 3528)
        if extra or trailers or offset not in (0, TEXT * (1 + texts) + BINARY):
            raise UnsupportedError(
                f"{path} has {extra} additional trace headers, {trailers} trailers and its first trace at byte "
                f"{offset}; expected none of these extensions of revision 2, which SWEEP does not read"
            )
    return revision, texts, ()


def _sample_count(
    path: Path, size: int, width: int, stated: dict[str, int], override: int | None
) -> tuple[int, tuple[str, ...]]:
    """Return the sample count for which `size` bytes are a whole number of traces, and notes.

    `stated` holds the counts of the binary header and of the first trace.
    """

    def fits(count: int) -> bool:
        return count > 0 and size % (TRACE + width * count) == 0

    statement = f"its binary header states {stated['binary']} samples a trace, its first trace {stated['trace']}"
    if override is not None:
        if isinstance(override, bool) or not isinstance(override, int | np.integer) or not fits(int(override)):
            raise DataError(
                f"nt is {override!r}; expected a count for which the {size} bytes of {path} are a whole number of "
                f"traces: {statement}"
            )
        return int(override), ()
    fitting = sorted({count for count in stated.values() if fits(count)})
    if not fitting:
        many = ", ".join(f"{size / (TRACE + width * n):.3f} traces of {n}" for n in set(stated.values()) if n)
        raise DataError(
            f"{path} has {size} bytes of traces, {many or 'traces of no samples'}; expected a whole number of traces. "
            f"The file is truncated or damaged ({statement}), or needs nt="
        )
    if len(fitting) > 1:
        raise DataError(f"{path}: {statement}, and its size admits both; pass the right one as nt=")
    if len(set(stated.values()) - {0}) > 1:
        return fitting[0], (f"{statement}; its size admits only {fitting[0]}",)
    return fitting[0], ()
