"""A profile as a Chrome trace, which chrome://tracing and https://ui.perfetto.dev draw."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CheckpointError
from .profile import STEP, Interval, Profile

PART = "part"
"""Category of the events that are parts of the run, such as steps."""

ROUNDING = 1e-3
"""Microseconds by which the end of an event may exceed the start of the next one."""


def chrome_trace(profile: Profile) -> dict[str, Any]:
    """Return a profile in the Trace Event Format, with a process for each rank.

    Parameters
    ----------
    profile : Profile
        A profile.

    Returns
    -------
    dict
        An object for JSON. Times are in microseconds; the category of an event is the kind of the interval.
    """
    events: list[dict[str, Any]] = []
    numbers = np.cumsum(profile.is_step)
    for rank, intervals in enumerate(profile.intervals):
        events.append({"name": "process_name", "ph": "M", "pid": rank, "args": {"name": f"rank {rank}"}})
        times = profile.starts[rank]
        for name, number, start, end in zip(profile.names, numbers, times, times[1:], strict=False):
            title = f"{STEP} {number}" if name == STEP else name
            events.append(_event(title, PART, rank, start, end, {}))
        for each in sorted(intervals, key=lambda each: (each.start, -each.end)):
            about = {"shots": each.shots, "bytes": each.nbytes}
            arguments = {name: value for name, value in about.items() if value}
            events.append(_event(each.name, each.kind, rank, each.start, each.end, arguments))
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _event(name: str, kind: str, rank: int, start: float, end: float, arguments: dict[str, int]) -> dict[str, Any]:
    """Return a complete event of the Trace Event Format."""
    times = {"ts": 1e6 * float(start), "dur": 1e6 * float(end - start)}
    return {"name": name, "cat": kind, "ph": "X", "pid": rank, "tid": 0, **times, "args": arguments}


def read_profile(path: str | os.PathLike[str]) -> Profile:
    """Return the profile of a ``trace.json`` that a run has written.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    Profile

    Raises
    ------
    CheckpointError
        The file cannot be read, or is not the trace of a profile.
    """
    try:
        events = json.loads(Path(path).read_text())["traceEvents"]
        complete = [event for event in events if event["ph"] == "X"]
        ranks = [[e for e in complete if e["pid"] == rank] for rank in range(sum(e["ph"] == "M" for e in events))]
        parts = [[event for event in rank if event["cat"] == PART] for rank in ranks]
        names = tuple(STEP if event["name"].startswith(f"{STEP} ") else event["name"] for event in parts[0])
        starts = [[e["ts"] for e in rank] + [rank[-1]["ts"] + rank[-1]["dur"]] for rank in parts]
        return Profile(names, 1e-6 * np.array(starts), tuple(_intervals(rank) for rank in ranks))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise CheckpointError(
            f"{path} cannot be read ({type(error).__name__}: {error}); expected the trace.json of a run with a profile"
        ) from error


def _intervals(events: list[dict[str, Any]]) -> tuple[Interval, ...]:
    """Return the intervals of the events of one rank, whose order is that of their starts."""
    inner = [event for event in events if event["cat"] != PART]
    own = [event["dur"] for event in inner]
    opened: list[int] = []
    for n, event in enumerate(inner):
        while opened and inner[opened[-1]]["ts"] + inner[opened[-1]]["dur"] <= event["ts"] + ROUNDING:
            opened.pop()
        if opened:
            own[opened[-1]] -= event["dur"]
        opened.append(n)
    intervals = [
        Interval(
            event["name"], event["cat"], 1e-6 * event["ts"], 1e-6 * (event["ts"] + event["dur"]), 1e-6 * duration,
            event["args"].get("shots", 0), event["args"].get("bytes", 0),
        )
        for event, duration in zip(inner, own, strict=True)
    ]  # fmt: skip
    return tuple(sorted(intervals, key=lambda each: each.end))
