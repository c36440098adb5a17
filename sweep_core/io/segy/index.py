"""The index of a SEG-Y file: its headers, without its samples."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from ..._util.validators import check_flag
from ...errors import DataError, DtypeError, OptionError
from .headers import Headers, read_headers, scale_headers
from .layout import FORMATS, TEXT, Layout, read_layout
from .samples import check_format, read_samples

PLAIN = (0, 1)
"""Trace identification codes of plain seismic data: unknown, and time domain."""
SEISMIC = (*PLAIN, 11, 12, 13, 14, 15, 16, 17)
"""Codes of plain data, pressure, the three components of a node, and the three rotated components."""
DEAD = (2, 3)
"""Codes of dead and dummy traces, which keep their place among the receivers."""


@attrs.frozen(eq=False)
class SegyFile:
    """The headers of a file; samples stay on disk until `traces` reads them. Instances compare by identity.

    Parameters
    ----------
    layout : Layout
        Place and format of the samples in the file; :func:`open_segy` reads it.
    headers : Headers
        Trace headers in SI units.
    """

    layout: Layout
    headers: Headers = attrs.field(repr=False)

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self.layout.path

    @property
    def nt(self) -> int:
        """Number of samples of each trace."""
        return self.layout.nt

    @property
    def interval(self) -> float:
        """Seconds between samples."""
        return self.headers.interval

    @property
    def sources(self) -> NDArray[np.float64]:
        """Positions of the sources, (ntraces, 3): x and y on the map, and elevation (m)."""
        return self.headers.sources

    @property
    def receivers(self) -> NDArray[np.float64]:
        """Positions of the receivers, (ntraces, 3): x and y on the map, and elevation (m)."""
        return self.headers.receivers

    @property
    def delay(self) -> NDArray[np.float64]:
        """Time of the first sample, (ntraces,) seconds."""
        return self.headers.delay

    @property
    def notes(self) -> tuple[str, ...]:
        """Contradictions of the file, and their resolution."""
        return self.layout.notes + self.headers.notes

    def __len__(self) -> int:
        """Return the number of traces."""
        return self.layout.ntraces

    def header(self, name: str) -> NDArray[Any]:
        """Return the values of a header field as the file holds them.

        Parameters
        ----------
        name : str
            Name of the field in segyio.TraceField.

        Returns
        -------
        (ntraces,) array
            int64, or float64 if `header_bytes` of `open_segy` names a float.

        Raises
        ------
        OptionError
            No field has this name.
        """
        if name not in (self.headers.raw.dtype.names or ()):
            raise OptionError(f"no trace header is called {name!r}; expected a name of segyio.TraceField, as SourceX")
        values = self.headers.raw[name]
        return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)

    def traces(self, which: Any = None, dtype: Any = np.float32) -> NDArray[Any]:
        """Read samples.

        Parameters
        ----------
        which : slice or integer array, optional
            Traces, counted from 0 in the order of the file; all by default.
        dtype : numpy.dtype
            float32 or float64.

        Returns
        -------
        (n, nt) array
            Samples in C order.

        Raises
        ------
        DataError, DomainError, DtypeError
            A sample is not finite, there is no such trace, or `dtype` is another one.
        """
        return read_samples(self.layout, which, dtype)

    def section(self, dtype: Any = np.float32) -> NDArray[Any]:
        """Read the samples of all traces as a model or an image, depth or time first.

        Parameters
        ----------
        dtype : numpy.dtype
            float32 or float64.

        Returns
        -------
        (nt, ntraces) array
            Samples in C order.
        """
        return np.ascontiguousarray(self.traces(dtype=dtype).T)

    @property
    def text(self) -> str:
        """Textual header of 40 lines; empty for a file of Seismic Unix, which has none."""
        if self.layout.is_su:
            return ""
        with open(self.path, "rb") as stream:
            header = stream.read(TEXT)
        text = header.decode("ascii", "replace") if header[:1] == b"C" else header.decode("cp037")
        return "\n".join(
            "".join(c if c.isprintable() else " " for c in text[begin : begin + 80]) for begin in range(0, TEXT, 80)
        )

    def shots(self, codes: tuple[int, ...] | None = None) -> list[NDArray[np.int64]]:
        """Return the traces of each shot: those with one field record and one source position.

        Parameters
        ----------
        codes : tuple of int, optional
            Trace identification codes of the traces; by default those of seismic data, which must then be of one kind.
            Dead and dummy traces stay in their shot; other traces are left out.

        Returns
        -------
        list of (n,) int64 array
            For each shot in the order of the file, its traces, counted from 0.

        Raises
        ------
        DataError
            The file holds several kinds of seismic data, or none of these codes.
        DtypeError
            `codes` is not a collection.
        """
        if codes is not None and (isinstance(codes, str) or not isinstance(codes, Iterable)):
            raise DtypeError(f"codes is {codes!r}; expected trace identification codes, such as (1,)")
        trace_codes = self.header("TraceIdentificationCode")
        kinds = {int(code) for code in np.unique(trace_codes)} & set(SEISMIC)
        if codes is None:
            codes = tuple(sorted(kinds))
            if len(kinds - set(PLAIN)) > 1 or (kinds & set(PLAIN) and kinds - set(PLAIN)):
                raise DataError(
                    f"{self.path} holds traces of several kinds, by their identification codes {sorted(kinds)}; "
                    "expected one: choose by codes="
                )
        is_used = np.isin(trace_codes, (*codes, *DEAD))
        if not np.isin(trace_codes, codes).any():
            raise DataError(
                f"{self.path} holds no trace of seismic data: identification codes are "
                f"{sorted(set(trace_codes.tolist()))[:9]}; expected some of {list(codes or SEISMIC)}, or pass codes="
            )
        numbers = np.flatnonzero(is_used)
        keys = np.column_stack([self.header("FieldRecord"), self.sources])[numbers]
        _, first, member = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        member = np.argsort(np.argsort(first))[member.reshape(-1)]  # numbers shots in the order of the file
        order = np.argsort(member, kind="stable")
        shots = np.split(numbers[order], np.flatnonzero(np.diff(member[order])) + 1)
        return [shot for shot in shots if np.isin(trace_codes[shot], codes).any()]

    def __str__(self) -> str:
        where = ", ".join(
            f"{name} {values.min():.9g}" + f" to {values.max():.9g}" * bool(np.ptp(values))
            for name, values in zip("xyz", np.concatenate([self.sources, self.receivers]).T, strict=True)
        )
        lines = [
            f"{self.path.name}: {len(self)} traces of {self.nt} samples every {1e3 * self.interval:g} ms, "
            f"{FORMATS[self.layout.format][1]}, "
            + ("Seismic Unix" if self.layout.is_su else f"revision {self.layout.revision}"),
            f"  records   {len(np.unique(self.header('FieldRecord')))}",
            f"  metres    {where}",
            *(f"  note      {note}" for note in self.notes),
        ]
        return "\n".join(lines)


def open_segy(
    path: str | os.PathLike[str], *, nt: int | None = None, interval: float | None = None,
    sample_format: int | None = None, unit: str | None = None, coordinate_scalar: int | None = None,
    elevation_scalar: int | None = None, stacked: bool | None = None, header_bytes: Mapping[str, Any] | None = None,
) -> SegyFile:  # fmt: skip
    """Read the headers of a SEG-Y or Seismic Unix file; samples are read later.

    A file is a Seismic Unix file if all its traces state one sample count, and its size is a whole number of such
    traces.

    Each option overrides a value of the file that is known to be wrong.

    Parameters
    ----------
    path : path-like
        The file.
    nt : int, optional
        Samples of each trace.
    interval : float, optional
        Seconds between samples.
    sample_format : int, optional
        Code of the sample format: 1 IBM floats, 5 IEEE floats, ...
    unit : {"m", "ft"}, optional
        Unit of coordinates and elevations.
    coordinate_scalar, elevation_scalar : int, optional
        Scalars as in the header: a negative scalar divides, zero means one.
    stacked : bool, optional
        Whether the traces are a section, which `read_segy` refuses.
    header_bytes : dict, optional
        The first byte of fields at other places of the trace headers, by their names in segyio.TraceField, such as
        ``{"SourceX": 181}``. Bytes count from 1, as in the standard. (byte, format) changes the format as well, such as
        ``{"SourceX": (181, "f4")}``. Formats are "i2", "i4", "u2", "u4", "f4", "f8", ...

    Returns
    -------
    SegyFile
        The headers and the layout of the file.

    Raises
    ------
    DataError
        The file is damaged, or contradicts itself in a way that its size does not resolve.
    UnsupportedError, OptionError, DtypeError
        The format cannot be read, or an option has another value or kind.
    """
    layout = read_layout(path, nt, sample_format)
    if stacked is not None:
        check_flag(stacked, "stacked")
        layout = attrs.evolve(layout, stacked=stacked)
    raw = read_headers(layout, header_bytes)
    headers = scale_headers(layout, raw, interval, unit, coordinate_scalar, elevation_scalar)
    if sample_format is None:
        check_format(layout)
    return SegyFile(layout, headers)
