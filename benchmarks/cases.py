"""The problems that are timed: the same arrays for every side."""

from math import prod

import attrs
import numpy as np

from sweep_core import ricker

DH, DT, SPEED, FREQ = 10.0, 0.001, 2500.0, 10.0


@attrs.frozen
class Case:
    """A homogeneous earth with sources and receivers along a line at a quarter of its depth; float32.

    At that depth the reflection of Devito's sponge is small beside the direct wave.
    """

    name: str
    shape: tuple[int, ...]
    pml: int
    steps: int
    shots: int
    order: int
    receivers: int = 100

    @property
    def cell_updates(self) -> int:
        """Cells, PML included, times steps and shots."""
        return prod(n + 2 * self.pml for n in self.shape) * self.steps * self.shots

    def first_steps(self, updates: float) -> "Case":
        """The same problem cut off after about so many cell updates, but not before its eighth step."""
        steps = max(8, int(updates * self.steps / self.cell_updates))
        return attrs.evolve(self, steps=min(self.steps, steps))

    def arrays(self):
        """(wavelet, sources, receivers, vp): NumPy, positions as (x, z) or (x, y, z)."""
        nz, nx, middle = self.shape[0], self.shape[-1], [self.shape[0] // 2] * (len(self.shape) - 2)

        def line(first, last, count, depth):
            x = np.linspace(first, last, count).astype(int)
            return np.stack([x, *(np.full(count, m) for m in middle), np.full(count, depth)], axis=1)

        ends = (2, nx - 3) if self.shots > 1 else (nx // 2, nx // 2)
        sources, receivers = line(*ends, self.shots, nz // 4), line(0, nx - 1, self.receivers, nz // 4 + 1)
        wavelet = ricker(FREQ, self.steps, DT).astype(np.float32)
        return wavelet, sources, receivers, np.full(self.shape, SPEED, np.float32)


def _square(order, shots):
    return Case(
        f"1000 x 1000 + 20, order {order}, {shots} shot{'s' * (shots > 1)}", (1000, 1000), 20, 250, shots, order
    )


GRADIENT = Case("94 x 288 + 50, nt 2000, 8 shots, order 4", (94, 288), 50, 2000, 8, 4, receivers=288)
PLANE = [*(_square(order, shots) for order in (4, 8) for shots in (1, 4)), GRADIENT]
SPACE = [Case(f"150^3 + 20, nt 100, order {order}", (150, 150, 150), 20, 100, 1, order) for order in (4, 8)]
BARE = [
    Case(f"190^3, no absorbing layer, nt 100, order {order}", (190, 190, 190), 0, 100, 1, order) for order in (4, 8)
]
LONG = [
    Case("1000 x 1000 + 20, nt 2000, order 8, 1 shot", (1000, 1000), 20, 2000, 1, 8),
    GRADIENT,
    *(Case(f"150^3 + 20, nt 500, order {order}", (150, 150, 150), 20, 500, 1, order) for order in (4, 8)),
]
LONG_GRADIENTS = [GRADIENT, Case("100^3 + 20, nt 300, order 4", (100, 100, 100), 20, 300, 1, 4)]
"""Runs in which waves fill the grid, so that no cell can be skipped; users run such problems."""
