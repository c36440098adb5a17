"""``python -m benchmarks.pml_width``: the echo of each type of absorbing layer against its width.

The script draws the table of sweep_core/numerics/pml_width.py. ``--measure FILE`` measures the table again, in some 20
minutes, and prints its lines. The echo of a layer is the difference between a record and that of an earth that
continues. It is the worst over receivers along the layer, in decibels of the direct wave's peak at the receiver.
It is measured in a plane: in space, echoes spread more and are lower. Results are added to the file, and a repeated run
measures only the cases that the file lacks.
"""

import argparse
import json
import math
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path

import attrs
import numpy as np
import torch

from sweep_core import (
    SH,
    Acoustic,
    AcousticTTI,
    AcousticVariableDensity,
    AcousticVTI,
    Elastic,
    ElasticVTI,
    Equation,
    ViscoElastic,
    make_problem,
    ricker,
)
from sweep_core.numerics.pml_width import ECHOES, FARTHEST, WIDTHS, angle_of
from sweep_core.plot.canvas import new_figure, save
from sweep_torch import PropTorch

DH, DEPTH = 10.0, 30  # m; cells from the source and the receivers to the layer
WAVELENGTHS = (20, 80)
"""Cells to the wavelength of the slowest wave at the peak of the wavelet, whose shortest waves have 8 and 32 cells."""
ORDERS = (2, 4, 8)
COURANT = 0.9
"""Share of the largest stable time step."""
AROUND = 60  # cells
FLOOR = -90
"""Decibels below which wider layers are not measured: rounding is near."""
COLOURS = {"cpmlr": "#1b4f72", "cpmls": "#5dade2", "mpmls": "#b9770e", "sponge": "#7d8b8c"}

DASHES = {2: ":", 4: "-", 8: "--", 16: "-."}


@attrs.frozen
class Earth:
    """An equation, its models, its slowest and its fastest waves (m/s), and the fields of sources and receivers.

    Waves are at most as fast as the layer's design speed of 3000 m/s, and at least half as fast.
    """

    equation: type[Equation]
    models: tuple[float, ...]
    slowest: float
    fastest: float
    sources: tuple[str, ...] | None = None
    receivers: tuple[str, ...] | None = None
    layers: tuple[str, ...] = ("cpmls", "mpmls")
    orders: tuple[int, ...] = ORDERS

    def cases(self) -> list[tuple[int, str]]:
        """Return the orders and types of layers to measure.

        A sponge, which has no differences, reflects the same at all orders; a multi-axial layer less at higher ones.
        """
        fewer = {"mpmls": (2, 4), "sponge": (4,)}
        return [
            (order, layer) for order in self.orders for layer in self.layers if order in fewer.get(layer, self.orders)
        ]


EXPLOSION, FORCE = (("sxx", "szz"), ("vx", "vz")), (("vz",), ("vx", "vz"))
ROCK, TILT = (3000.0, 1700.0, 2000.0), 0.5
ALL = (*ORDERS, 16)
FLUID, THOMSEN = 3000 / 1.4**0.5, (0.2, 0.1)
"""vp of an anisotropic earth whose horizontal waves have 3000 m/s, and its epsilon and delta."""
EARTHS = {
    "acoustic, slow": Earth(Acoustic, (1500.0,), 1500, 1500, layers=("cpmlr",), orders=ALL),
    "acoustic, fast": Earth(Acoustic, (3000.0,), 3000, 3000, layers=("cpmlr",), orders=ALL),
    "variable density, slow": Earth(AcousticVariableDensity, (1500.0, 1000.0), 1500, 1500, ("p",), ("p",), orders=ALL),
    "variable density, fast": Earth(
        AcousticVariableDensity, (3000.0, 1000.0), 3000, 3000, ("p",), ("p",), ("cpmls", "mpmls", "sponge"), ALL
    ),
    "SH": Earth(SH, (3000.0, 2000.0), 3000, 3000, layers=("cpmls",), orders=(4,)),
    "acoustic VTI": Earth(AcousticVTI, (FLUID, *THOMSEN), FLUID, 3000),
    "acoustic TTI": Earth(AcousticTTI, (FLUID, *THOMSEN, TILT), FLUID, 3000, layers=("sponge",)),
    "elastic, explosion": Earth(Elastic, ROCK, 1700, 3000, *EXPLOSION),
    "elastic, force": Earth(Elastic, ROCK, 1700, 3000, *FORCE, ("cpmls", "mpmls", "sponge"), ALL),
    "elastic VTI": Earth(
        ElasticVTI, (FLUID, FLUID / 1.8, 2000.0, *THOMSEN, 0.0), FLUID / 1.8, 3000, *FORCE, orders=(2, 4)
    ),
    "viscoelastic": Earth(
        ViscoElastic, (2850.0, 1615.0, 2000.0, 60.0, 40.0), 1615, 3000, *FORCE, layers=("cpmls",), orders=(4,)
    ),
}


@attrs.frozen
class Echo:
    """Waves of an earth beside layers, at an order and a wavelength (cells), with receivers up to `farthest` depths."""

    earth: str
    order: int
    wavelength: int
    farthest: float = max(FARTHEST.values())

    @property
    def offsets(self) -> np.ndarray:
        """Offsets of the receivers in depths."""
        return np.arange(1, 4 * self.farthest + 1) / 4

    @property
    def path(self) -> float:
        """Cells that the slowest wave travels until its echo has passed the farthest receiver."""
        return math.hypot(2, self.farthest) * DEPTH + 3 * self.wavelength

    def record(self, width: int, layer: str | None, margin: int = 0) -> np.ndarray:
        """Return (nt, nrec, nfield) with a layer of `width` cells, or `margin` cells of earth, on every side."""
        earth = EARTHS[self.earth]
        equation = earth.equation(self.order)
        shape = (3 * DEPTH + 2 * margin, round(self.farthest * DEPTH) + 2 * DEPTH + 2 * margin)
        small = [np.full((2 * self.order,) * 2, value) for value in earth.models]
        dt = COURANT * make_problem(equation, small[0].shape, DH, 1e-3, pml_width=0).largest_dt(*small)
        nt = int(self.path * DH / earth.slowest / dt)
        # Steps of second-order equations accumulate rounding.
        dtype = torch.float64 if equation.levels == 2 else torch.float32
        solver = PropTorch(
            equation, shape, DH, dt, source_type=earth.sources, receiver_type=earth.receivers, pml_type=layer,
            pml_width=width, impl="c",
        )  # fmt: skip
        first, models = margin + DEPTH, [torch.full(shape, value, dtype=dtype) for value in earth.models]
        receivers = np.stack([first + np.rint(self.offsets * DEPTH), 0 * self.offsets + first], axis=1).astype(int)
        wavelet = torch.tensor(ricker(earth.slowest / (self.wavelength * DH), nt, dt), dtype=dtype)
        with torch.no_grad():
            return solver(wavelet, np.array([[first, first]]), receivers, models=models)[0].numpy()

    def decibels(self, width: int, layer: str) -> np.ndarray:
        """Return the echo at each receiver."""
        direct = unbounded(self)
        echo = self.record(width, layer) - direct
        return 20 * np.log10(np.abs(echo).max((0, 2)) / np.abs(direct).max((0, 2)))

    def worst(self, width: int, layer: str) -> float:
        """Return the worst echo at receivers whose waves meet the layer as the table of the layer assumes."""
        return float(self.decibels(width, layer)[self.offsets <= FARTHEST[layer]].max())


@lru_cache(maxsize=2)
def unbounded(echo: Echo) -> np.ndarray:
    """Return the record of an earth that continues.

    No wave returns from its ends in time, or a plain layer of AROUND cells, AROUND cells further away, ends it. The
    own echo of this layer is below -170 dB.
    """
    earth = EARTHS[echo.earth]
    if plain := next((layer for layer in ("cpmlr", "cpmls") if layer in earth.layers), None):
        return echo.record(AROUND, plain, margin=AROUND)
    return echo.record(0, None, margin=math.ceil(echo.path * earth.fastest / earth.slowest / 2) + echo.order)


def measure(path: Path, earths: list[str]) -> None:
    """Add the cases that `path` lacks, a line of JSON for each width, up to the first one whose echo is below FLOOR.

    A line holds the earth, order, wavelength, type of layer and width, and the worst echo by the largest offset.
    """
    done = {tuple(row[:4]) for row in read(path)}
    for name in earths:
        for (order, layer), wavelength in product(EARTHS[name].cases(), WAVELENGTHS):
            if (name, order, wavelength, layer) in done:
                continue
            echo, began, lines = Echo(name, order, wavelength), time.time(), []
            for width in WIDTHS:
                values = echo.decibels(width, layer)
                worst = {far: round(float(values[echo.offsets <= far].max()), 1) for far in (2, 4, 8, 12)}
                lines.append(json.dumps([name, order, wavelength, layer, width, worst]) + "\n")
                if worst[FARTHEST[layer]] < FLOOR:
                    break
            with path.open("a") as file:
                file.writelines(lines)
            print(f"{name}, order {order}, wavelength {wavelength}, {layer}: {time.time() - began:.0f} s", flush=True)


def read(path: Path) -> list[list]:
    """Return the rows of a file of results."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(rows: list[list]) -> dict[str, dict[int, list[int]]]:
    """Return the worst echo, rounded up to decibels, at each of WIDTHS by type of layer and order."""
    worst: dict[tuple[str, int, int], float] = {}
    for _, order, _, layer, width, values in rows:
        key = layer, order, width
        worst[key] = max(worst.get(key, FLOOR), values[str(FARTHEST[layer])])
    cases: dict[str, dict[int, list[int]]] = {}
    for layer, order in sorted({key[:2] for key in worst}):
        row = [math.ceil(worst.get((layer, order, width), FLOOR)) for width in WIDTHS]
        cases.setdefault(layer, {})[order] = row
    return cases


def draw(rows: Mapping[str, Mapping[int, Sequence[int]]], out: Path) -> None:
    """Draw the table: decibels against width."""
    figure = new_figure((8, 4))
    axis = figure.subplots()
    for layer, orders in rows.items():
        for order, values in orders.items():
            name = layer if len(orders) == 1 else f"{layer}, order {order}"
            count = next((n + 1 for n, value in enumerate(values) if value <= FLOOR), len(values))
            label = f"{name}, to {angle_of(layer)} degrees"
            axis.plot(WIDTHS[:count], values[:count], DASHES[order], color=COLOURS[layer], label=label)
    axis.axhline(-60, color="0.6", linewidth=0.8)
    axis.set(xlabel="width (cells)", ylabel="worst echo (dB)", xlim=(0, max(WIDTHS)), ylim=(FLOOR, 0))
    axis.grid(alpha=0.3)
    figure.legend(fontsize=8, loc="outside right center")
    save(figure, out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--measure", type=Path, metavar="FILE", help="measure, and add the results to this file")
    parser.add_argument("--earths", nargs="*", default=list(EARTHS), choices=list(EARTHS), help="earths to measure")
    parser.add_argument("--out", type=Path, default=Path("pml-width.png"), help="the picture")
    arguments = parser.parse_args()
    rows = ECHOES
    if arguments.measure:
        measure(arguments.measure, arguments.earths)
        rows = table(read(arguments.measure))
        for layer, orders in rows.items():
            print(f'    "{layer}": {{')
            for order, values in orders.items():
                print(f"        {order}: ({', '.join(map(str, values))}),")
            print("    },")
    draw(rows, arguments.out)
    print(f"picture: {arguments.out}")


if __name__ == "__main__":
    main()
