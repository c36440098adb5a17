"""A SEG-Y file, known before its samples are read."""

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
"""Trace identification codes of seismic data without more: unknown, and time domain."""
SEISMIC = (*PLAIN, 11, 12, 13, 14, 15, 16, 17)
"""Beside them pressure, three components of a node, and the same rotated."""
DEAD = (2, 3)
"""Dead and dummy traces, which keep their place."""


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
        """The file."""
        return self.layout.path

    @property
    def nt(self) -> int:
        """Samples of each trace."""
        return self.layout.nt

    @property
    def interval(self) -> float:
        """Seconds between samples."""
        return self.headers.interval

    @property
    def sources(self) -> NDArray[np.float64]:
        """(ntraces, 3): x, y on the map and elevation, metres."""
        return self.headers.sources

    @property
    def receivers(self) -> NDArray[np.float64]:
        """(ntraces, 3), as sources."""
        return self.headers.receivers

    @property
    def delay(self) -> NDArray[np.float64]:
        """(ntraces,) time of the first sample, s."""
        return self.headers.delay

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the file contradicts itself, and what was believed."""
        return self.layout.notes + self.headers.notes

    def __len__(self) -> int:
        """Traces."""
        return self.layout.ntraces

    def header(self, name: str) -> NDArray[Any]:
        """(ntraces,) values of a header field as they stand there, by its name in segyio.TraceField.

        They are int64, or float64 where `header_bytes` of `open_segy` names floats.

        Raises
        ------
        OptionError
        """
        if name not in (self.headers.raw.dtype.names or ()):
            raise OptionError(f"no trace header is called {name!r}; names are those of segyio.TraceField, as SourceX")
        values = self.headers.raw[name]
        return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)

    def traces(self, which: Any = None, dtype: Any = np.float32) -> NDArray[Any]:
        """(n, nt) samples in C order; see `read_samples`."""
        return read_samples(self.layout, which, dtype)

    def section(self, dtype: Any = np.float32) -> NDArray[Any]:
        """(nt, ntraces) samples of all traces in C order: a model or an image, depth or time first."""
        return np.ascontiguousarray(self.traces(dtype=dtype).T)

    @property
    def text(self) -> str:
        """The textual header, 40 lines; empty for a file of Seismic Unix, which has none."""
        if self.layout.is_su:
            return ""
        with open(self.path, "rb") as stream:
            written = stream.read(TEXT)
        text = written.decode("ascii", "replace") if written[:1] == b"C" else written.decode("cp037")
        return "\n".join(
            "".join(c if c.isprintable() else " " for c in text[at : at + 80]) for at in range(0, TEXT, 80)
        )

    def shots(self, codes: tuple[int, ...] | None = None) -> list[NDArray[np.int64]]:
        """Traces of each shot, in the order of the file: those of one field record and one place of the source.

        Parameters
        ----------
        codes : tuple of int, optional
            Trace identification codes of the traces wanted; by default those of seismic data, which then are all of one
            kind. Dead and dummy traces go with those of their shot; others are left out.

        Raises
        ------
        DataError, DtypeError
        """
        if codes is not None and (isinstance(codes, str) or not isinstance(codes, Iterable)):
            raise DtypeError(f"codes is {codes!r}; expected trace identification codes, such as (1,)")
        found = self.header("TraceIdentificationCode")
        kinds = {int(code) for code in np.unique(found)} & set(SEISMIC)
        if codes is None:
            codes = tuple(sorted(kinds))
            if len(kinds - set(PLAIN)) > 1 or (kinds & set(PLAIN) and kinds - set(PLAIN)):
                raise DataError(
                    f"{self.path} holds traces of several kinds, by their identification codes {sorted(kinds)}; "
                    "expected one: choose by codes="
                )
        wanted = np.isin(found, (*codes, *DEAD))
        if not np.isin(found, codes).any():
            raise DataError(
                f"{self.path} holds no trace of seismic data: identification codes are "
                f"{sorted(set(found.tolist()))[:9]}; expected some of {list(codes or SEISMIC)}, or say codes="
            )
        numbers = np.flatnonzero(wanted)
        keys = np.column_stack([self.header("FieldRecord"), self.sources])[numbers]
        _, first, member = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        member = np.argsort(np.argsort(first))[member.reshape(-1)]  # numbered as they come
        order = np.argsort(member, kind="stable")
        shots = np.split(numbers[order], np.flatnonzero(np.diff(member[order])) + 1)
        return [own for own in shots if np.isin(found[own], codes).any()]

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
    """Index the headers of a SEG-Y or Seismic Unix file, once; samples are read later.

    A file is one of Seismic Unix where its size is a whole number of traces of the count that each of them states.

    Each option overrules what the file says, where it is known to be wrong.

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
        Of coordinates and elevations.
    coordinate_scalar, elevation_scalar : int, optional
        As in the header: a negative one divides, zero is one.
    stacked : bool, optional
        Whether traces are a section, of which `read_segy` makes no gathers.
    header_bytes : dict, optional
        The first byte of fields that lie elsewhere in the trace headers, from 1 as the standard counts them, by their
        names in segyio.TraceField: ``{"SourceX": 181}``; or (byte, format), such as ``{"SourceX": (181, "f4")}``, where
        the format is another one as well: "i2", "i4", "u2", "u4", "f4", "f8", ...

    Returns
    -------
    SegyFile

    Raises
    ------
    DataError
        Where the file is damaged, or contradicts itself in a way that its size does not settle.
    UnsupportedError, OptionError, DtypeError
        For a format that cannot be read, or an option of another value or kind.
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
