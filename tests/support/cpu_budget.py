"""The CPU time of a test run in units of a fixed calibration, so that its budget holds on a machine of any speed."""

import os
import time

import numpy as np


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    return sum(os.times()[:4])


def calibration() -> float:
    """Return the CPU seconds of a small fixed workload: the best of three, a Python loop and NumPy on one thread."""
    return min(_timed_workload() for _ in range(3))


def _timed_workload() -> float:
    """No array is allocated in the loop: the cost of fresh memory depends on the packages that are loaded."""
    field, sum_of_neighbours = np.ones((256, 256)), np.empty((254, 256))
    start, total = time.process_time(), 0
    for i in range(400_000):
        total += i * i % 7
    for _ in range(600):
        np.add(field[2:], field[:-2], out=sum_of_neighbours)
        np.multiply(sum_of_neighbours, 0.5, out=field[1:-1])
    assert total > 0 and np.all(field == 1)
    return time.process_time() - start
