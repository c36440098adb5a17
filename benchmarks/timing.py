"""Seconds of calls that alternate."""

import math
import os
import time
from collections.abc import Callable

import attrs
import numpy as np


@attrs.frozen
class Job:
    """One call, of so many cell updates (or bytes), in so many rounds at most."""

    call: Callable
    amount: float = 1
    rounds: float = math.inf

    def seconds(self) -> float:
        start = time.perf_counter()
        self.call()
        return time.perf_counter() - start


def alternate(jobs: dict[str, Job], rounds: int) -> dict[str, list[float]]:
    """Seconds per amount of each job in each of its rounds."""
    costs = {name: [] for name in jobs}
    for i in range(rounds):
        for name, job in jobs.items():
            if i < job.rounds:
                costs[name].append(job.seconds() / job.amount)
    return costs


def ratio(costs: list[float], others: list[float]) -> float:
    """The median over the rounds that both had."""
    return float(np.median([a / b for a, b in zip(costs, others, strict=False)]))


def everywhere(call: Callable) -> Callable:
    """The call, with SWEEP computing all cells at all times."""

    def computed():
        os.environ["SWEEP_EVERYWHERE"] = "1"
        try:
            call()
        finally:
            del os.environ["SWEEP_EVERYWHERE"]

    return computed
