"""The shape of a SEG-Y file: byte order, sample format, samples of a trace, traces. Nothing is read before it is known.

segyio takes the sample count of the binary header for granted; files in the field have others in their traces, and the
size of the file says who is right. So the bytes are laid out here, and segyio names the fields and converts IBM floats.
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
"""Sorting code of traces that are sums of others, as those of a section."""
_FOREIGN = {4: "fixed point with gain", 7: "3-byte integer", 15: "3-byte unsigned integer"}


def load_segyio() -> Any:
    """The library, or a refusal that says how to get it."""
    try:
        import segyio
    except ImportError:
        raise UnsupportedError("SEG-Y needs segyio, which is not installed: pip install segyio") from None
    return segyio


@attrs.frozen
class Layout:
    """Where the samples and headers of a file lie.

    Attributes
    ----------
    path : pathlib.Path
    order : str
        Byte order, ">" or "<".
    format : int
        Code of the sample format, see `FORMATS`.
    nt, ntraces : int
        Samples of each trace, and traces.
    begin : int
        Byte at which the first trace begins.
    interval : int
        Sample interval of the binary header in microseconds; 0 where it states none.
    extended_interval : float
        The same as a double, of revision 2; 0 where the file states none.
    unit : int
        Measurement system of the binary header: 1 metres, 2 feet, 0 not stated.
    revision : int
        Major revision of the standard.
    stacked : bool
        Whether its binary header calls its traces stacked: a section.
    notes : tuple of str
        Where the file contradicts itself, and what was believed.
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
        """Whether it is a Seismic Unix file: traces without textual and binary header."""
        return self.begin == 0

    @property
    def records(self) -> np.dtype:
        """Header and samples of one trace."""
        return np.dtype([("header", f"V{TRACE}"), ("samples", self.order + FORMATS[self.format][0], (self.nt,))])

    def open(self) -> np.memmap:
        """All traces, on disk."""
        try:
            return np.memmap(self.path, self.records, "r", self.begin, (self.ntraces,))
        except (OSError, ValueError) as error:
            raise DataError(f"{self.path} cannot be opened any more: {error}") from error


def read_layout(path: str | os.PathLike[str], nt: int | None = None, sample_format: int | None = None) -> Layout:
    """The layout of a file; `nt` and `sample_format` overrule its headers.

    Raises
    ------
    DataError, UnsupportedError
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
        raise DataError(f"{path} has {size} bytes; its headers alone take {begin + TRACE}: there is no trace in it")
    (binary,) = struct.unpack_from(f"{order}H", head, 3220)
    (trace,) = struct.unpack_from(f"{order}H", first, 114)
    extended = 0.0
    if revision >= 2:
        binary = struct.unpack_from(f"{order}I", head, 3268)[0] or binary
        (extended,) = struct.unpack_from(f"{order}d", head, 3272)
    width = np.dtype(FORMATS[code][0]).itemsize
    count, said = _sample_count(path, size - begin, width, {"binary": binary, "trace": trace}, nt)
    interval, (unit,) = struct.unpack_from(f"{order}H", head, 3216)[0], struct.unpack_from(f"{order}h", head, 3254)
    traces = (size - begin) // (TRACE + width * count)
    stacked = struct.unpack_from(f"{order}h", head, 3228)[0] == STACKED
    return Layout(path, order, code, count, traces, begin, interval, unit, revision, stacked, notes + said, extended)


def _su_layout(path: Path, size: int, first: bytes, nt: int | None, stated: int | None) -> Layout | None:
    """Return the layout of a Seismic Unix file; None unless its size is a whole number of traces of one count."""
    if len(first) < TRACE or not (stated is None or (isinstance(stated, int | np.integer) and stated == 5)):
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
    # A count of two equal bytes fits in both orders; headers are full of small numbers, which are small in one of them.
    return min(fitting, key=lambda it: np.abs(np.frombuffer(first, f"{it.order}i2").astype(int)).sum(), default=None)


def _byte_order(path: Path, head: bytes, stated: int | None) -> tuple[str, int]:
    if len(head) < TEXT + BINARY:
        raise DataError(f"{path} has {len(head)} bytes; expected a SEG-Y file, whose first two headers take 3600")
    codes = {order: struct.unpack_from(f"{order}h", head, 3224)[0] for order in "><"}
    if stated is not None:
        if not isinstance(stated, int | np.integer) or stated not in FORMATS:
            raise UnsupportedError(f"sample_format = {stated!r} is not read; expected one of {_formats()}")
        return ("<" if codes[">"] not in FORMATS and codes["<"] in FORMATS else ">"), stated
    for order, code in codes.items():
        if code in FORMATS:
            return order, code
    if kind := _FOREIGN.get(codes[">"]) or _FOREIGN.get(codes["<"]):
        raise UnsupportedError(f"{path} holds samples of format {kind}, which is not read; convert it to IEEE floats")
    raise DataError(
        f"{path} states sample format {codes['>']} in its binary header; expected one of {_formats()}: "
        "no SEG-Y file, a damaged one, or say what it is by sample_format=. Read as Seismic Unix, its first trace has "
        f"{' or '.join(str(struct.unpack_from(f'{order}H', head, 114)[0]) for order in '<>')} samples, by which its "
        "size is no whole number of traces, or others state another count"
    )


def _formats() -> str:
    return ", ".join(f"{code} ({name})" for code, (_, name) in FORMATS.items())


def _revision(path: Path, head: bytes, order: str) -> tuple[int, int, tuple[str, ...]]:
    """Major revision, number of extended textual headers, and what is to be said about it."""
    revision, (texts,) = head[3500], struct.unpack_from(f"{order}h", head, 3504)
    if revision == 0:
        return 0, 0, ()  # where later revisions count textual headers, the first left the bytes to anybody
    if revision > 2:
        return 0, 0, (f"it states revision {revision} of the format, which is none: read as revision 0",)
    if not 0 <= texts <= 1000:
        raise UnsupportedError(f"{path} states {texts} extended textual headers; expected a count from 0 to 1000")
    if revision == 2:
        (extra,), (offset,) = struct.unpack_from(f"{order}i", head, 3506), struct.unpack_from(f"{order}Q", head, 3520)
        (trailers,) = struct.unpack_from(f"{order}i", head, 3528)
        if extra or trailers or offset not in (0, TEXT * (1 + texts) + BINARY):
            raise UnsupportedError(
                f"{path} has {extra} additional trace headers, {trailers} trailers and its first trace at byte "
                f"{offset}; expected none of revision 2's extensions, which are not read"
            )
    return revision, texts, ()


def _sample_count(
    path: Path, size: int, width: int, stated: dict[str, int], given: int | None
) -> tuple[int, tuple[str, ...]]:
    """The count by which the bytes are a whole number of traces, and what is to be said about it."""

    def fits(count: int) -> bool:
        return count > 0 and size % (TRACE + width * count) == 0

    said = f"its binary header states {stated['binary']} samples a trace, its first trace {stated['trace']}"
    if given is not None:
        if isinstance(given, bool) or not isinstance(given, int | np.integer) or not fits(int(given)):
            raise DataError(f"{path}: nt = {given!r}, by which {size} bytes are no whole number of traces; {said}")
        return int(given), ()
    fitting = sorted({count for count in stated.values() if fits(count)})
    if not fitting:
        many = ", ".join(f"{size / (TRACE + width * n):.3f} traces of {n}" for n in set(stated.values()) if n)
        raise DataError(
            f"{path} has {size} bytes of traces, {many or 'traces of no samples'}; expected a whole number: it is "
            f"truncated or damaged ({said}), or say nt="
        )
    if len(fitting) > 1:
        raise DataError(f"{path}: {said}, and its size admits both; say which by nt=")
    if len(set(stated.values()) - {0}) > 1:
        return fitting[0], (f"{said}; its size admits {fitting[0]} alone",)
    return fitting[0], ()
