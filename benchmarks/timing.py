"""Seconds of calls that alternate."""

import math
import os
import time
from collections.abc import Callable

import attrs
import numpy as np
import torch


@attrs.frozen
class Job:
    """One call of `amount` cell updates (or bytes), in at most `rounds` rounds; a call waits for the GPU."""

    call: Callable
    amount: float = 1
    rounds: float = math.inf

    def seconds(self) -> float:
        start = time.perf_counter()
        self.call()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter() - start


def alternate(jobs: dict[str, Job], rounds: int) -> dict[str, list[float]]:
    """Return the seconds per amount of each job in each of its rounds."""
    costs = {name: [] for name in jobs}
    for i in range(rounds):
        for name, job in jobs.items():
            if i < job.rounds:
                costs[name].append(job.seconds() / job.amount)
    return costs


def ratio(costs: list[float], others: list[float]) -> float:
    """Return the median ratio over the rounds that both had."""
    return float(np.median([a / b for a, b in zip(costs, others, strict=False)]))


def everywhere(call: Callable) -> Callable:
    """Return the call, with SWEEP computing all cells at all times."""

    def computed():
        os.environ["SWEEP_EVERYWHERE"] = "1"
        try:
            call()
        finally:
            del os.environ["SWEEP_EVERYWHERE"]

    return computed


def triad(device: str = "cpu") -> float:
    """Return the bandwidth of a = b + 2 c, GB/s, on a GPU or with the threads of torch."""
    b, c = torch.ones(2, 1 << 26, device=device)
    a = torch.empty_like(b)
    jobs = {"": Job(lambda: torch.add(b, c, alpha=2, out=a), 3 * 4 * len(a))}
    return 1e-9 / float(np.median(alternate(jobs, 7)[""][2:]))
