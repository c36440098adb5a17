"""``python -m benchmarks.busy``: the time of a call beside processes that keep processors busy.

Each row is one problem beside some processes that loop for ever: the median of a few calls alone, which come first, and
the median and the longest of the calls beside the processes.
"""

import argparse
import subprocess
import sys

import attrs
import numpy as np
import torch

from .cases import Case
from .sides import Deepwave, Sweep
from .timing import Job

PROBLEMS = [
    Case("200^2 + 20, nt 1000", (200, 200), 20, 1000, 1, 4),
    Case("600^2 + 20, nt 500", (600, 600), 20, 500, 1, 4),
    Case("64^3 + 20, nt 1000", (64, 64, 64), 20, 1000, 1, 4),
]
LOOP = "while True: pass"
ALONE = 7
"""Calls of a median alone."""


@attrs.define
class BusyProcesses:
    """A context with `count` processes that compute."""

    count: int
    _processes: list = attrs.field(factory=list)

    def __enter__(self):
        self._processes = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(self.count)]

    def __exit__(self, *_):
        for process in self._processes:
            process.kill()
            process.wait()


def seconds(side, count: int, calls: int) -> list[float]:
    """Return the seconds of `calls` calls beside `count` busy processes."""
    job = Job(side.forward)
    with BusyProcesses(count):
        job.seconds()  # Python starts, and the system moves threads
        return [job.seconds() for _ in range(calls)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--busy", type=int, nargs="*", default=[1, 2, 4], help="numbers of busy processes")
    parser.add_argument("--deepwave", action="store_true", help="time Deepwave as well")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"float32, order 4, {arguments.threads} threads, {arguments.calls} calls\n")
    print("| problem | side | busy processes | alone, s | median | longest | longest over alone |")
    print("|---|---|---|---|---|---|---|")
    for case in PROBLEMS:
        for kind in (Sweep, Deepwave) if arguments.deepwave else (Sweep,):
            side = kind(case)
            for count in arguments.busy:
                alone = float(np.median(seconds(side, 0, ALONE)))
                times = seconds(side, count, arguments.calls)
                figures = f"{alone:.4f} | {np.median(times):.4f} | {max(times):.4f} | {max(times) / alone:.2f}"
                print(f"| {case.name} | {kind.__name__} | {count} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
