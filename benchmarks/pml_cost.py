"""``python -m benchmarks.pml_cost``: the time of a problem with a PML over that of the same grid without one.

Both sides have equally many cells and steps, alternate in one process, and compute all cells. Float32.
"""

import argparse
import os

import attrs
import numpy as np
import torch

from sweep_core import Acoustic, Elastic, Equation, ricker
from sweep_torch import PropTorch

from .timing import Job, alternate, everywhere, ratio

DH, DT, FREQ = 10.0, 0.001, 15.0
EARTH = {"vp": 2500.0, "vs": 1400.0, "rho": 2000.0}


@attrs.frozen
class Case:
    """An equation at an order, on a grid of `inner` cells along each axis and `width` of PML on every side."""

    equation: type[Equation]
    order: int
    ndim: int
    inner: int
    width: int
    steps: int

    @property
    def total(self) -> int:
        return self.inner + 2 * self.width

    @property
    def name(self) -> str:
        return f"{self.equation.name} order {self.order}, {self.inner}^{self.ndim} + {self.width}, nt {self.steps}"

    def job(self, width: int) -> Job:
        """Return the forward run of the whole grid, `width` cells on every side of which are PML."""
        shape = (self.total - 2 * width,) * self.ndim
        equation, middle = self.equation(self.order), shape[0] // 2
        solver = PropTorch(equation, shape, DH, DT, pml_width=width, impl="c")
        models = [torch.full(shape, EARTH[parameter.name]) for parameter in equation.parameters]
        wavelet = torch.from_numpy(ricker(FREQ, self.steps, DT).astype(np.float32))
        at = np.full((1, self.ndim), middle)
        return Job(everywhere(lambda: solver(wavelet, at, at, models=models)), self.total**self.ndim * self.steps)


CASES = [
    Case(Acoustic, 4, 3, 150, 20, 200),
    Case(Acoustic, 8, 3, 150, 20, 200),
    Case(Acoustic, 4, 3, 24, 20, 1000),
    Case(Acoustic, 8, 3, 24, 20, 1000),
    Case(Elastic, 4, 3, 60, 20, 100),
    Case(Acoustic, 4, 2, 94, 50, 1000),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5, help="rounds")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    print("| problem | without PML, Gcell/s | with | time ratio |")
    print("|---|---|---|---|")
    for case in CASES:
        jobs = {"without": case.job(0), "with": case.job(case.width)}
        alternate(jobs, 1)
        costs = alternate(jobs, arguments.repeats)
        rates = [f"{1e-9 / np.median(costs[side]):.2f}" for side in jobs]
        print(f"| {case.name} | {' | '.join(rates)} | {ratio(costs['with'], costs['without']):.2f} |", flush=True)


if __name__ == "__main__":
    main()
