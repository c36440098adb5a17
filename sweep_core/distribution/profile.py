"""The time of each step by rank: named intervals, and their sums."""

import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

import attrs
import numpy as np

from .._util.arrays import numpy_of
from .distributor import Distributor
from .shot_plan import ShotPlan

KINDS = ("forward", "backward", "gradient", "communication", "data", "host", "idle")
"""Kinds of intervals; ``'gradient'`` is forward and backward of a backend that does not separate them."""
HOST = KINDS.index("host")
STEP, EVALUATION = "step", "evaluation"
"""Names of a step of the optimiser, and of one evaluation of misfit and gradient in it."""
ROWS = 32
"""The largest number of ranks that a table shows one by one."""


@attrs.frozen
class Interval:
    """A part of a run on one rank.

    Attributes
    ----------
    name, kind : str
        Name, and one of ``KINDS``.
    start, end : float
        Seconds since the begin of the recording.
    own : float
        Duration without the intervals inside this one (s).
    shots, nbytes : int
        Shots whose gradient it computed, and bytes that it sent, if any; for an evaluation the bytes of its result.
    """

    name: str
    kind: str
    start: float
    end: float
    own: float
    shots: int = 0
    nbytes: int = 0


@attrs.define
class Opened:
    """An interval that has not ended yet; `inner` are the seconds of the intervals inside it so far."""

    kind: str
    shots: int
    inner: float = 0.0


_current: ContextVar["Recorder | None"] = ContextVar("sweep_recorder", default=None)


def record_interval(name: str, kind: str, shots: int = 0, nbytes: int = 0) -> AbstractContextManager[Opened | None]:
    """Record the duration of a block in the recorder of this thread; do nothing if there is none.

    Parameters
    ----------
    name : str
        Name of the block.
    kind : str
        One of ``'forward'``, ``'backward'``, ``'gradient'``, ``'communication'``, ``'data'``, ``'host'``, ``'idle'``.
    shots : int
        Shots whose gradient the block computes.
    nbytes : int
        Bytes that the block sends.

    Returns
    -------
    context manager
        It yields an object whose `kind` and `shots` the block may change, or None without a recorder.

    Examples
    --------
    >>> from sweep_core.distribution import record_interval
    >>> with record_interval("read", "data"):
    ...     total = sum(range(10))
    """
    recorder = _current.get()
    return nullcontext() if recorder is None else recorder.interval(name, kind, shots, nbytes)


class Recorder:
    """The intervals and steps of this rank.

    Attributes
    ----------
    intervals : list of Interval
        The intervals that have ended.
    steps : list of (str, float)
        Name and start of each step; a step ends where the next one starts.
    """

    def __init__(self) -> None:
        self.intervals: list[Interval] = []
        self.steps: list[tuple[str, float]] = []
        self._open: list[Opened] = []
        self._origin = time.perf_counter()

    @contextmanager
    def recording(self, group: Distributor) -> Iterator[None]:
        """Record the intervals of a block, with a clock that starts on all ranks at once.

        Parameters
        ----------
        group : Distributor
            The ranks; every rank calls this.
        """
        group.barrier()
        self._origin = time.perf_counter()
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    @property
    def now(self) -> float:
        """Seconds since the begin of the recording."""
        return time.perf_counter() - self._origin

    def begin_step(self, name: str) -> None:
        """Begin a step, which ends the last one; a step of the optimiser is named ``'step'``."""
        self.steps.append((name, self.now))

    @contextmanager
    def interval(self, name: str, kind: str, shots: int = 0, nbytes: int = 0) -> Iterator[Opened]:
        """Record the duration of a block; see :func:`record_interval`."""
        opened, start = Opened(kind, shots), self.now
        self._open.append(opened)
        try:
            yield opened
        finally:
            end = self.now
            self._open.pop()
            if self._open:
                self._open[-1].inner += end - start
            own = end - start - opened.inner
            self.intervals.append(Interval(name, opened.kind, start, end, own, opened.shots, nbytes))

    def gather(self, group: Distributor) -> "Profile | None":
        """Return the profile of all ranks, on rank 0; None elsewhere. Every rank calls this, after its last step.

        Parameters
        ----------
        group : Distributor
            The ranks.

        Returns
        -------
        Profile or None
        """
        rows = [attrs.astuple(each) for each in self.intervals]
        text = json.dumps({"steps": self.steps, "end": self.now, "intervals": rows}).encode()
        sizes = np.zeros(group.size)
        sizes[group.rank] = len(text)
        sizes = numpy_of(group.all_reduce(sizes)).astype(int)
        part = np.zeros((1, sizes.max()), np.uint8)  # one "shot" of each rank
        part[0, : len(text)] = np.frombuffer(text, np.uint8)
        whole = group.gather(ShotPlan(group.size, group.size), part)
        if group.rank:
            return None
        ranks = [json.loads(bytes(row[:size])) for row, size in zip(numpy_of(whole), sizes, strict=True)]
        names = tuple(name for name, _ in ranks[0]["steps"])
        starts = np.array([[*(start for _, start in rank["steps"]), rank["end"]] for rank in ranks])
        return Profile(names, starts, tuple(tuple(Interval(*row) for row in rank["intervals"]) for rank in ranks))


@attrs.frozen(eq=False)
class Profile:
    """The time of each step of a run, by rank and kind; ``print`` shows a table.

    Attributes
    ----------
    names : tuple of str
        Name of each part of the run: ``'step'`` for a step of the optimiser, another name for the time before, between
        and after the steps of stages.
    starts : (nrank, npart + 1) array
        Start of each part and, last, the end of the last one (s).
    intervals : tuple of tuple of Interval
        The intervals of each rank, in the order of their ends.
    """

    names: tuple[str, ...]
    starts: np.ndarray
    intervals: tuple[tuple[Interval, ...], ...] = attrs.field(repr=False)

    @property
    def size(self) -> int:
        """Number of ranks."""
        return len(self.intervals)

    @property
    def is_step(self) -> np.ndarray:
        """True for each part of the run that is a step of the optimiser, (npart,)."""
        return np.array([name == STEP for name in self.names], bool)

    def part_of(self, rank: int) -> np.ndarray:
        """Return the part of the run in which each interval of a rank starts, -1 before the first."""
        starts = [each.start for each in self.intervals[rank]]
        return np.searchsorted(self.starts[rank, :-1], starts, side="right") - 1

    @property
    def seconds(self) -> np.ndarray:
        """Seconds of each rank, part and kind, (nrank, npart, nkind). Time outside of all intervals is of the host."""
        total = np.zeros((self.size, len(self.names), len(KINDS)))
        for rank, intervals in enumerate(self.intervals):
            parts = self.part_of(rank)
            kinds = np.array([KINDS.index(each.kind) for each in intervals], int)
            np.add.at(total[rank], (parts, kinds), [each.own for each in intervals])
        total[..., HOST] += np.diff(self.starts) - total.sum(-1)
        return total

    @property
    def mean(self) -> np.ndarray:
        """Seconds of each rank and kind in the mean step, (nrank, nkind); zero for a run without steps."""
        steps = self.seconds[:, self.is_step]
        return steps.mean(1) if steps.shape[1] else np.zeros((self.size, len(KINDS)))

    def of_steps(self, kinds: tuple[str, ...]) -> list[Interval]:
        """Return the intervals of some kinds inside steps, of all ranks."""
        return [
            each
            for rank, intervals in enumerate(self.intervals)
            for each, part in zip(intervals, self.part_of(rank), strict=True)
            if part >= 0 and self.names[part] == STEP and each.kind in kinds
        ]

    def __str__(self) -> str:
        count = int(self.is_step.sum())
        if not count:
            return "no step was computed, so there is no time to show"
        mean = self.mean
        shown = [n for n, kind in enumerate(KINDS) if mean[:, n].any() or kind != "gradient"]
        decimals = max(1, 3 - int(np.floor(np.log10(mean.sum(1).mean()))))
        average = mean.mean(0)
        heads = [KINDS[n] for n in shown]
        named = [*map(str, range(self.size)), "mean"], [*mean, average]
        if self.size > ROWS:
            named = ["least", "most", "mean"], [mean.min(0), mean.max(0), average]
        rows = [["rank", *heads, "step"]]
        for name, values in zip(*named, strict=True):
            total = mean.sum(1)
            step = {"least": total.min(), "most": total.max()}.get(name, values.sum())
            rows.append([name, *(f"{x:.{decimals}f}" for x in (*values[shown], step))])
        rows.append(["share", *(f"{100 * x / average.sum():.1f} %" for x in average[shown]), "100 %"])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(map(str.rjust, row, widths)).rstrip() for row in rows)
        step = np.diff(self.starts).mean(0)[self.is_step]
        about = f"steps from {step.min():.{decimals}f} to {step.max():.{decimals}f} s"
        return "\n".join([f"seconds of the mean of {count} steps", *lines, about])
