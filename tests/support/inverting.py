"""A small inversion: a body in a gradient below water, three shots."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError

import numpy as np

from sweep_core import Acoustic, Shots, ricker
from sweep_core.inversion import invert

SHAPE, DH, DT, NT = (24, 36), 20.0, 0.002, 260
SOURCES = np.array([[4, 2], [18, 2], [31, 2]])
RECEIVERS = np.stack([np.arange(0, 36, 2), np.full(18, 3)], axis=1)


def earth():
    """Return (true, start, water)."""
    start = np.repeat(np.linspace(1500, 2300, 24, dtype=np.float32)[:, None], 36, axis=1)
    water = np.zeros(SHAPE, bool)
    water[:5], start[:5] = True, 1500
    true = start.copy()
    true[12:17, 14:24] += 250
    return true, start, water


def solver(equation=None, make=None, **options):
    from sweep_torch import PropTorch

    return (make or PropTorch)(equation or Acoustic(), SHAPE, DH, DT, pml_width=8, **options)


def survey(dtype=np.float32, scale=1e3):
    return Shots((scale * ricker(8.0, NT, DT)).astype(dtype), SOURCES, RECEIVERS)


def observed(solver, models):
    import torch

    shots = survey()
    with torch.no_grad():
        return solver(torch.from_numpy(shots.wavelet), shots.sources, shots.receivers, models=models).numpy()


def call(data, stages, start=None, make=solver, **options):
    shots = survey()
    options = {"fixed": earth()[2], "progress": False, **options}
    start = [earth()[1]] if start is None else start
    receivers = options.pop("receivers", shots.receivers)
    return invert(make(), shots.wavelet, shots.sources, receivers, data, start, stages, **options)


class Rank:
    """One rank of several, each a thread of this process."""

    def __init__(self, rank, size, shared):
        self.rank, self.size, self._shared = rank, size, shared

    def all_reduce(self, x):
        values, barrier = self._shared
        values[self.rank] = x
        barrier.wait()
        total = sum(values)
        barrier.wait()
        return total

    device = None

    def barrier(self):
        self._shared[1].wait()

    def gather(self, plan, part):
        values, barrier = self._shared
        values[self.rank] = part
        barrier.wait()
        whole = plan.in_order(np.concatenate(values)) if self.rank == 0 else None
        barrier.wait()
        return whole

    def broadcast(self, x):
        values, barrier = self._shared
        values[self.rank] = x
        barrier.wait()
        root = values[0]
        barrier.wait()
        return root


def on_ranks(size, work):
    """Return ``work(group)`` of each rank, or raise the error of the first rank that fails (not of ranks that wait)."""
    _, barrier = shared = [None] * size, Barrier(size, timeout=60)

    def run_rank(rank):
        try:
            return work(Rank(rank, size, shared))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        ranks = [pool.submit(run_rank, rank) for rank in range(size)]
    errors = [rank.exception() for rank in ranks if rank.exception()]
    for error in sorted(errors, key=lambda error: isinstance(error, BrokenBarrierError)):
        raise error
    return [rank.result() for rank in ranks]
