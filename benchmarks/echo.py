"""``python -m benchmarks.echo``: the cost of absorbing faces at equal echo.

The echo of the layers, in a plane with order 4, is the difference between a record and that of a larger earth, by the
same code. It is the worst over all receivers, in decibels of the direct wave's peak at the receiver. For 10 and 20
cells of SWEEP the script finds the width with the same echo for each peer. Then it times steps of 150^3 cells with
these widths; all sides compute all cells.
"""

import argparse
import math

import attrs
import numpy as np
import torch

from .cases import DH, DT, SPEED, Case
from .devito import Devito
from .sides import Deepwave, Sweep
from .timing import Job, alternate, everywhere, ratio

OURS = (10, 20)
WIDTHS = [10, 14, 20, 28, 40, 56, 80, 112, 160]
"""Widths in cells; the echo of the outer face of the widest layer still arrives within the record."""


@attrs.frozen
class Middle(Case):
    """A square of `inner` cells in the middle of an earth of shape `shape`."""

    inner: int = 0

    def arrays(self):
        wavelet, _, _, vp = super().arrays()
        first = (self.shape[0] - self.inner) // 2
        x = np.arange(0, self.inner, 5)
        receivers = first + np.stack([x, np.full(len(x), self.inner // 4)], axis=1)
        return wavelet, first + np.array([[self.inner // 2, self.inner // 4]]), receivers, vp


def echo(kind, width: int, cells: int = 120, steps: int = 1900) -> float:
    """Return the echo of a layer of `width` cells in decibels."""
    margin = math.ceil(SPEED * DT * steps / DH / 2) + 10
    around = kind(Middle("", (cells + 2 * margin,) * 2, 0, steps, 1, 4, inner=cells)).forward()[0]
    within = kind(Middle("", (cells,) * 2, width, steps, 1, 4, inner=cells)).forward()[0]
    back, direct = (x.abs().amax(-1) for x in (within - around, around))
    return 20 * math.log10(float((back / direct).max()))


def width_for(kind, aim: float) -> int | None:
    """Return the first of WIDTHS whose echo is at most `aim`, or None."""
    return next((width for width in WIDTHS if echo(kind, width) <= aim), None)


def _cube(width):
    return Case("", (150, 150, 150), width, 40, 1, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers", nargs="*", default=["Deepwave", "Devito"])
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    peers = [kind for kind in (Deepwave, Devito) if kind.name in arguments.peers]
    print("| our cells | echo, dB | peer | its cells | its echo, dB | 150^3: x longer than ours |")
    print("|---|---|---|---|---|---|")
    for ours in OURS:
        aim = echo(Sweep, ours)
        for kind in peers:
            width = width_for(kind, aim)
            if width is None:
                least = min(echo(kind, w) for w in WIDTHS)
                print(f"| {ours} | {aim:.0f} | {kind.name} | none | {least:.0f} at best | |", flush=True)
                continue
            jobs = {"ours": Job(everywhere(Sweep(_cube(ours)).forward)), "peer": Job(kind(_cube(width)).forward)}
            alternate(jobs, 1)
            costs = alternate(jobs, arguments.repeats)
            longer = ratio(costs["peer"], costs["ours"])
            print(
                f"| {ours} | {aim:.0f} | {kind.name} | {width} | {echo(kind, width):.0f} | {longer:.2f} |", flush=True
            )


if __name__ == "__main__":
    main()
