"""Conversion of SEG-Y files to gathers: positions on the line of the model, samples at the time step of the solver."""

import math
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._util.validators import check_number, check_positive, is_whole, whole_numbers
from ...errors import DataError, DomainError
from ...numerics.resampling import sampled
from ..gathers import Gathers, check_spacings
from ..line import Line, check_line, fit_line, misfit_to
from .index import DEAD, SEISMIC, SegyFile, open_segy
from .layout import STACKED
from .samples import is_clipped, is_dead

_LATEST_END = 10  # the latest time of the last sample, in lengths of a trace
_MOST_STEPS = 2**30  # of a run


def read_segy(
    segy: str | os.PathLike[str] | SegyFile, dh: float | tuple[float, float], *, dt: float | None = None,
    nt: int | None = None, line: Line | None = None, datum: float = 0.0, source_depth: float | None = None,
    receiver_depth: float | None = None, shots: Iterable[int] | None = None, dead: Iterable[int] = (),
    codes: tuple[int, ...] | None = None,
) -> Gathers:  # fmt: skip
    """Read the shot gathers of a SEG-Y file for a solver.

    Parameters
    ----------
    segy : path-like or SegyFile
        A file, or the result of `open_segy`, whose options override headers.
    dh : float or (dz, dx)
        Grid spacing of the model (m). Positions are counted in these cells.
    dt : float, optional
        Time step of the solver (s), to which traces are resampled (`sampled`); by default that of the file.
    nt : int, optional
        Samples of each trace from time zero on; by default up to the last recorded one.
    line : Line, optional
        The x axis of the model on the map. By default the line that fits all sources and receivers best, from the first
        of them on. Positions are projected to the line; `misfit` of the result holds their distance from it.
    datum : float
        Elevation of z = 0 (m).
    source_depth, receiver_depth : float, optional
        Depth below the datum (m), which replaces the elevations of the file.
    shots : iterable of int, optional
        Shots, counted from 0 in the order of the file, such as the shots of one rank in a `ShotPlan`; all by default.
        There may be none. The result always has the receivers and samples of the whole file.
    dead : iterable of int
        Traces, counted from 0 in the order of the file, that are not used. Traces that the file calls dead, and traces
        whose samples are all the same, are never used.
    codes : tuple of int, optional
        Trace identification codes, see `SegyFile.shots`.

    Returns
    -------
    Gathers
        The gathers, float32.

    Raises
    ------
    DataError
        The file is damaged, contradicts itself, is a section, or has only dead traces.
    DomainError, DtypeError, ShapeError, OptionError
        An argument has a wrong value or kind, or a position lies above the model or before its line.
    UnsupportedError
        The format cannot be read, or segyio is not installed.
    """
    check_line(line)
    for name, value in (("datum", datum), ("source_depth", source_depth), ("receiver_depth", receiver_depth)):
        if value is not None:
            check_number(value, name, "metres")
    segy = segy if isinstance(segy, SegyFile) else open_segy(segy)
    if segy.layout.stacked:
        raise DataError(
            f"{segy.path} is a section: its binary header calls its traces stacked (sorting code {STACKED}); expected "
            "shot gathers. open_segy(...).section() reads a section; for gathers, use open_segy(stacked=False)"
        )
    dz, dx = check_spacings(dh)
    groups = segy.shots(codes)
    is_live = ~np.isin(segy.header("TraceIdentificationCode"), DEAD)
    is_live[whole_numbers(dead, "dead", "traces", len(segy))] = False
    used = np.concatenate(groups)
    live = used[is_live[used]]  # headers of dead and dummy traces are often empty
    if not live.size:
        raise DataError(f"{segy.path}: all of its {used.size} traces are dead; expected some live ones")
    dt = segy.interval if dt is None else check_positive(dt, "dt", "the time step in seconds")
    nt = _sample_count(segy, live, dt, nt)
    line = line or fit_line(np.concatenate([segy.sources[live, :2], segy.receivers[live, :2]]))
    misfit = misfit_to(line, segy.sources[live, :2], segy.receivers[live, :2])
    sources, receivers = (
        np.stack(
            [line.project(xyz[:, :2])[0] / dx, (datum - xyz[:, 2] if depth is None else depth + 0 * xyz[:, 2]) / dz], 1
        )
        for xyz, depth in ((segy.sources, source_depth), (segy.receivers, receiver_depth))
    )
    _check_inside(segy, live, {"source": sources, "receiver": receivers}, (dx, dz))
    rows = range(len(groups)) if shots is None else whole_numbers(shots, "shots", "shots", len(groups))
    nrec = max(map(len, groups))
    traces = np.full((len(rows), nrec), -1)
    observed = np.zeros((len(rows), nt, nrec, 1), np.float32)
    mask, clipped = np.zeros((2, len(rows), nrec), bool)
    for row, shot in enumerate(rows):
        members, n = groups[shot], len(groups[shot])
        traces[row, :n] = members
        shot_mask = is_live[members]
        samples = np.zeros((n, segy.nt), np.float32)
        samples[shot_mask] = segy.traces(members[shot_mask])
        shot_mask &= ~is_dead(samples)
        mask[row, :n], clipped[row, :n] = shot_mask, shot_mask & is_clipped(samples)
        _resample(observed[row, :, :n, 0], samples, segy.delay[members], shot_mask, segy.interval, dt)
    padded = np.where(traces >= 0, traces, traces[:, :1])  # padding repeats the first trace of its shot
    last = segy.delay[padded] + (segy.nt - 1) * segy.interval
    return Gathers(
        sources=sources[traces[:, 0]], receivers=receivers[padded], observed=observed, dt=dt, dh=(dz, dx),
        receiver_mask=mask, recorded=np.stack([segy.delay[padded], last], axis=-1), clipped=clipped,
        shots=segy.header("FieldRecord")[traces[:, 0]], traces=traces, line=line, misfit=misfit, datum=datum,
        name=segy.path.stem,
        notes=(*segy.notes, *_code_notes(segy, used), *_offset_notes(segy, live), *_resampling_notes(segy, dt)),
    )  # fmt: skip


def _sample_count(segy: SegyFile, used: NDArray[np.int64], dt: float, nt: int | None) -> int:
    """Return the number of samples of the result."""
    if nt is not None:
        if not is_whole(nt, 1):
            raise DomainError(f"nt is {nt!r}; expected a whole number of samples, positive")
        return int(nt)
    length = (segy.nt - 1) * segy.interval
    late = used[np.argmax(segy.delay[used])]
    end = length + segy.delay[late]
    if end < 0 or end > _LATEST_END * max(length, segy.interval):
        raise DataError(
            f"{segy.path}: trace {late} begins {segy.delay[late]:g} s after its source, and traces are {length:g} s "
            "long; pass nt= if this is right"
        )
    if 0 < end < dt or end > _MOST_STEPS * dt:
        raise DomainError(
            f"dt is {dt:g} s, and traces of {segy.path} are {end:g} s long; expected 2 to {_MOST_STEPS} samples of "
            "them, or pass nt="
        )
    return math.floor(end / dt + 1e-6) + 1


def _check_inside(
    segy: SegyFile, used: NDArray[np.int64], positions: dict[str, NDArray[np.float64]], steps: tuple[float, float]
) -> None:
    """Raise a DomainError for positions above the model or before its line: a wrong datum, sign or origin."""
    hints = ("the line begins after it: pass line=", "pass datum=, or {}_depth= if the file states depths")
    for name, cells in positions.items():
        for column, axis in enumerate("xz"):
            wrong = used[cells[used, column] * steps[column] < -1e-6]
            if len(wrong):
                raise DomainError(
                    f"{segy.path}: the {name} of trace {wrong[0]} lies at {axis} = "
                    f"{cells[wrong[0], column] * steps[column]:.6g} m; expected 0 or more: {hints[column].format(name)}"
                )
        np.maximum(cells, 0, out=cells)


def _resample(
    result: NDArray[Any], samples: NDArray[Any], delay: NDArray[np.float64], mask: NDArray[np.bool_], interval: float,
    dt: float,
) -> None:  # fmt: skip
    """Write the live traces (n, nt) into (nt, n), at times from zero on."""
    for start in np.unique(delay[mask]):
        columns = np.flatnonzero(mask & (delay == start))
        result[:, columns] = sampled(samples[columns].T, interval, len(result), dt, axis=0, start=float(start))


def _code_notes(segy: SegyFile, used: NDArray[np.int64]) -> list[str]:
    codes = np.delete(segy.header("TraceIdentificationCode"), used)
    if not codes.size:
        return []
    seismic = " (seismic)" * bool(np.isin(codes, SEISMIC).any())
    return [f"{codes.size} traces with identification codes {sorted(set(codes.tolist()))}{seismic} are left out"]


def _offset_notes(segy: SegyFile, used: NDArray[np.int64]) -> list[str]:
    """Note offsets of the headers that are not the distance of source and receiver."""
    stated = np.abs(segy.header("offset")[used].astype(np.float64))
    scale = segy.headers.metres
    distance = np.hypot(*(segy.receivers[used, :2] - segy.sources[used, :2]).T)
    wrong = (stated > 0) & (np.abs(scale * stated - distance) > np.maximum(1.0, 0.01 * distance))
    if not wrong.any():
        return []
    n = int(np.argmax(wrong))
    return [
        f"the offset in {np.count_nonzero(wrong)} headers is not the distance of source and receiver: trace {used[n]} "
        f"states {scale * stated[n]:g} m, its coordinates {distance[n]:g} m; the coordinates are used"
    ]


def _resampling_notes(segy: SegyFile, dt: float) -> list[str]:
    if math.isclose(dt, segy.interval, rel_tol=1e-9):
        return []
    low = f", with a low-pass at {0.4 / dt:g} Hz" * (dt > segy.interval)
    return [f"sampled anew: every {1e3 * dt:g} ms, {1e3 * segy.interval:g} ms in the file{low}"]
