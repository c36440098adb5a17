"""Checks of Chrome traces."""

from itertools import pairwise

import pytest


def check_trace(trace):
    """Check that the events of each process lie inside or beside each other, and return the processes."""
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    for rank in {event["pid"] for event in events}:
        stack = []
        for event in (event for event in events if event["pid"] == rank and event["cat"] == "part"):
            stack.append((event["ts"], event["ts"] + event["dur"]))
        assert all(end == pytest.approx(start, abs=1e-3) for (_, end), (start, _) in pairwise(stack))
        opened = []
        inner = (event for event in events if event["pid"] == rank)
        for event in sorted(inner, key=lambda event: (event["ts"], -event["dur"])):
            end = event["ts"] + event["dur"]
            while opened and opened[-1] <= event["ts"] + 1e-3:
                opened.pop()
            assert not opened or end <= opened[-1] + 1e-3, event
            opened.append(end)
    return {event["pid"] for event in events}
