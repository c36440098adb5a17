"""From a SEG-Y file to gathers: positions on the model's line, samples at the solver's time step."""

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

_LONGEST = 10  # recordings: how late the last sample may be
_MOST = 2**30  # steps of a run


def read_segy(
    segy: str | os.PathLike[str] | SegyFile, dh: float | tuple[float, float], *, dt: float | None = None,
    nt: int | None = None, line: Line | None = None, datum: float = 0.0, source_depth: float | None = None,
    receiver_depth: float | None = None, shots: Iterable[int] | None = None, dead: Iterable[int] = (),
    codes: tuple[int, ...] | None = None,
) -> Gathers:  # fmt: skip
    """Shot gathers of a SEG-Y file, ready for a solver.

    Parameters
    ----------
    segy : path-like or SegyFile
        A file; where its headers are to be overruled, what `open_segy` made of it.
    dh : float or (dz, dx)
        Spacing of the model in metres, in whose cells positions are given.
    dt : float, optional
        Time step of the solver, s, at which traces are sampled (`sampled`); by default that of the file.
    nt : int, optional
        Samples of each trace, from time zero on; by default up to the last one that was recorded.
    line : Line, optional
        Where x of the model runs on the map; by default the line that fits all sources and receivers best, from the
        first of them on. Positions are projected to it, and `misfit` of the result says how far.
    datum : float
        Elevation of z = 0, metres.
    source_depth, receiver_depth : float, optional
        Depth below the datum, metres, in place of what elevations say.
    shots : iterable of int, optional
        Which shots, counted in the order of the file, such as a rank's part of a `ShotPlan`, which
        may be empty; all by default. Parts have as many receivers and samples as the whole would.
    dead : iterable of int
        Traces, counted from 0 in the order of the file, that are not to be used, beside those that the file calls dead
        and those whose samples are all the same.
    codes : tuple of int, optional
        See `SegyFile.shots`.

    Returns
    -------
    Gathers
        float32.

    Raises
    ------
    DataError, DomainError, DtypeError, ShapeError, OptionError, UnsupportedError
    """
    check_line(line)
    for name, value in (("datum", datum), ("source_depth", source_depth), ("receiver_depth", receiver_depth)):
        if value is not None:
            check_number(value, name, "metres")
    segy = segy if isinstance(segy, SegyFile) else open_segy(segy)
    if segy.layout.stacked:
        raise DataError(
            f"{segy.path} is a section: its binary header calls its traces stacked (sorting code {STACKED}); expected "
            "shot gathers. open_segy(...).section() reads it; if they are gathers, say open_segy(stacked=False)"
        )
    dz, dx = check_spacings(dh)
    groups = segy.shots(codes)
    alive = ~np.isin(segy.header("TraceIdentificationCode"), DEAD)
    alive[_numbers(dead, len(segy), "dead", "traces")] = False
    used = np.concatenate(groups)
    stood = used[alive[used]]  # headers of dead and dummy traces are often empty
    if not stood.size:
        raise DataError(f"{segy.path}: all of its {used.size} traces are dead; expected some that are not")
    dt = segy.interval if dt is None else check_positive(dt, "dt", "the time step in seconds")
    nt = _samples(segy, stood, dt, nt)
    line = line or fit_line(np.concatenate([segy.sources[stood, :2], segy.receivers[stood, :2]]))
    misfit = misfit_to(line, segy.sources[stood, :2], segy.receivers[stood, :2])
    sources, receivers = (
        np.stack(
            [line.project(at[:, :2])[0] / dx, (datum - at[:, 2] if depth is None else depth + 0 * at[:, 2]) / dz], 1
        )
        for at, depth in ((segy.sources, source_depth), (segy.receivers, receiver_depth))
    )
    _check_inside(segy, stood, {"source": sources, "receiver": receivers}, (dx, dz))
    chosen = range(len(groups)) if shots is None else _numbers(shots, len(groups), "shots", "shots")
    nrec = max(map(len, groups))
    traces = np.full((len(chosen), nrec), -1)
    observed = np.zeros((len(chosen), nt, nrec, 1), np.float32)
    mask, clipped = np.zeros((2, len(chosen), nrec), bool)
    for row, shot in enumerate(chosen):
        own, n = groups[shot], len(groups[shot])
        traces[row, :n] = own
        live = alive[own]
        samples = np.zeros((n, segy.nt), np.float32)
        samples[live] = segy.traces(own[live])
        live &= ~is_dead(samples)
        mask[row, :n], clipped[row, :n] = live, live & is_clipped(samples)
        _place(observed[row, :, :n, 0], samples, segy.delay[own], live, segy.interval, dt)
    at = np.where(traces >= 0, traces, traces[:, :1])
    last = segy.delay[at] + (segy.nt - 1) * segy.interval
    return Gathers(
        sources=sources[traces[:, 0]], receivers=receivers[at], observed=observed, dt=dt, dh=(dz, dx),
        receiver_mask=mask, recorded=np.stack([segy.delay[at], last], axis=-1), clipped=clipped,
        shots=segy.header("FieldRecord")[traces[:, 0]], traces=traces, line=line, misfit=misfit, datum=datum,
        name=segy.path.stem,
        notes=(*segy.notes, *_left_out(segy, used), *_offsets(segy, stood), *_resampled(segy, dt)),
    )  # fmt: skip


def _numbers(given: Iterable[int], count: int, name: str, kind: str) -> NDArray[np.int64]:
    numbers = whole_numbers(given, name, kind)
    if ((numbers < 0) | (numbers >= count)).any():
        raise DomainError(f"{name} is {numbers.tolist()}; expected numbers of {kind} from 0 to {count - 1}")
    return numbers


def _samples(segy: SegyFile, used: NDArray[np.int64], dt: float, nt: int | None) -> int:
    """How many samples the result has."""
    if nt is not None:
        if not is_whole(nt, 1):
            raise DomainError(f"nt is {nt!r}; expected a whole number of samples, positive")
        return int(nt)
    length = (segy.nt - 1) * segy.interval
    late = used[np.argmax(segy.delay[used])]
    end = length + segy.delay[late]
    if end < 0 or end > _LONGEST * max(length, segy.interval):
        raise DataError(
            f"{segy.path}: trace {late} begins {segy.delay[late]:g} s after its source, and traces are {length:g} s "
            "long; say nt= if that is right"
        )
    if 0 < end < dt or end > _MOST * dt:
        raise DomainError(
            f"dt is {dt:g} s, and traces of {segy.path} are {end:g} s long; expected 2 to {_MOST} samples of them, or "
            "say nt="
        )
    return math.floor(end / dt + 1e-6) + 1


def _check_inside(
    segy: SegyFile, used: NDArray[np.int64], positions: dict[str, NDArray[np.float64]], steps: tuple[float, float]
) -> None:
    """Positions above the model or before its line are a question of datum, sign or origin, which the user answers."""
    hints = ("the line begins after it: say line=", "say datum=, or {}_depth= where the file states depths")
    for name, cells in positions.items():
        for column, axis in enumerate("xz"):
            wrong = used[cells[used, column] * steps[column] < -1e-6]
            if len(wrong):
                raise DomainError(
                    f"{segy.path}: the {name} of trace {wrong[0]} lies at {axis} = "
                    f"{cells[wrong[0], column] * steps[column]:.6g} m; expected 0 or more: {hints[column].format(name)}"
                )
        np.maximum(cells, 0, out=cells)


def _place(
    result: NDArray[Any], samples: NDArray[Any], delay: NDArray[np.float64], live: NDArray[np.bool_], interval: float,
    dt: float,
) -> None:  # fmt: skip
    """Writes the traces (n, nt) that live into (nt, n), at times from zero on."""
    for start in np.unique(delay[live]):
        these = np.flatnonzero(live & (delay == start))
        result[:, these] = sampled(samples[these].T, interval, len(result), dt, axis=0, start=float(start))


def _left_out(segy: SegyFile, used: NDArray[np.int64]) -> list[str]:
    codes = np.delete(segy.header("TraceIdentificationCode"), used)
    if not codes.size:
        return []
    seismic = " (seismic)" * bool(np.isin(codes, SEISMIC).any())
    return [f"{codes.size} traces with identification codes {sorted(set(codes.tolist()))}{seismic} are left out"]


def _offsets(segy: SegyFile, used: NDArray[np.int64]) -> list[str]:
    """Offsets of the headers that are not the distance of source and receiver."""
    stated = np.abs(segy.header("offset")[used].astype(np.float64))
    scale = segy.headers.metres
    found = np.hypot(*(segy.receivers[used, :2] - segy.sources[used, :2]).T)
    wrong = (stated > 0) & (np.abs(scale * stated - found) > np.maximum(1.0, 0.01 * found))
    if not wrong.any():
        return []
    n = int(np.argmax(wrong))
    return [
        f"the offset in {np.count_nonzero(wrong)} headers is not the distance of source and receiver: trace {used[n]} "
        f"says {scale * stated[n]:g} m, its coordinates {found[n]:g} m; coordinates are believed"
    ]


def _resampled(segy: SegyFile, dt: float) -> list[str]:
    if math.isclose(dt, segy.interval, rel_tol=1e-9):
        return []
    low = f", with a low-pass at {0.4 / dt:g} Hz" * (dt > segy.interval)
    return [f"sampled anew: every {1e3 * dt:g} ms, {1e3 * segy.interval:g} ms in the file{low}"]
