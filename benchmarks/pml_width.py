"""``python -m benchmarks.pml_width``: the echo of each type of absorbing layer against its width.

The script draws the table of sweep_core/numerics/pml_width.py. ``--measure FILE`` measures the table again, in an
hour, and prints its lines. The echo of a layer is the difference between a record and that of an earth that
continues. It is the worst over receivers along the layer, in decibels of the direct wave's peak at the receiver.
It is measured in a plane: in space, echoes spread more and are lower. Results are added to the file, and a repeated run
measures only the cases that the file lacks.
"""

import argparse
import json
import math
import time
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import torch

from sweep_core import (
    SH,
    Acoustic,
    AcousticTTI,
    AcousticVariableDensity,
    AcousticVTI,
    AcousticVTISecondOrder,
    Elastic,
    ElasticTTI,
    ElasticVTI,
    Equation,
    SweepWarning,
    ViscoAcoustic,
    ViscoElastic,
    ViscoElasticVTI,
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

    Waves are at most as fast as the layer's design speed of 3000 m/s, and at least half as fast. With a `surface` the
    source lies so many cells below a free surface; plain layers are measured at the bottom, others at the sides.
    """

    equation: type[Equation]
    models: tuple[float, ...]
    slowest: float
    fastest: float
    sources: tuple[str, ...] | None = None
    receivers: tuple[str, ...] | None = None
    layers: tuple[str, ...] = ("cpmls", "mpmls")
    orders: tuple[int, ...] = ORDERS
    surface: int | None = None

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
SOLID = (FLUID, FLUID / 1.8, 2000.0, *THOMSEN, 0.0)
LOSSY = 0.95
"""The speeds of lossy solids at the reference frequency over those of the lossless ones."""
RAYLEIGH = 1560
"""Speed (m/s) of the Rayleigh waves of ROCK, rounded down."""
LAYERS = ("cpmls", "mpmls", "sponge")
SIDE = FARTHEST["mpmls"]
"""The largest offset (depths) of receivers along a side below a free surface."""
EARTHS = {
    "acoustic, slow": Earth(Acoustic, (1500.0,), 1500, 1500, layers=("cpmlr",), orders=ALL),
    "acoustic, fast": Earth(Acoustic, (3000.0,), 3000, 3000, layers=("cpmlr",), orders=ALL),
    "variable density, slow": Earth(AcousticVariableDensity, (1500.0, 1000.0), 1500, 1500, ("p",), ("p",), orders=ALL),
    "variable density, fast": Earth(
        AcousticVariableDensity, (3000.0, 1000.0), 3000, 3000, ("p",), ("p",), ("cpmls", "mpmls", "sponge"), ALL
    ),
    "SH, slow": Earth(SH, (1500.0, 2000.0), 1500, 1500, layers=("cpmls",), orders=ALL),
    "SH, fast": Earth(SH, (3000.0, 2000.0), 3000, 3000, orders=ALL),
    "viscoacoustic": Earth(ViscoAcoustic, (1550.0, 1000.0, 40.0), 1500, 1600, ("p",), ("p",), ("cpmls",), ALL),
    "acoustic VTI": Earth(AcousticVTI, (FLUID, *THOMSEN), FLUID, 3000),
    "acoustic VTI, second order": Earth(AcousticVTISecondOrder, (FLUID, *THOMSEN), FLUID, 3000, layers=("cpmlr",)),
    "acoustic TTI": Earth(AcousticTTI, (FLUID, *THOMSEN, TILT), FLUID, 3000, layers=("sponge",)),
    "elastic, explosion": Earth(Elastic, ROCK, 1700, 3000, *EXPLOSION),
    "elastic, force": Earth(Elastic, ROCK, 1700, 3000, *FORCE, ("cpmls", "mpmls", "sponge"), ALL),
    "elastic VTI": Earth(ElasticVTI, SOLID, FLUID / 1.8, 3000, *FORCE, orders=(2, 4)),
    "elastic TTI": Earth(ElasticTTI, (*SOLID, TILT, 0.0), FLUID / 1.8, 3000, *FORCE, ("sponge",), (4,)),
    "viscoelastic": Earth(
        ViscoElastic, (*(LOSSY * v for v in ROCK[:2]), 2000.0, 60.0, 40.0), 1700 * LOSSY, 3000, *FORCE
    ),
    "viscoelastic VTI": Earth(
        ViscoElasticVTI,
        (*(LOSSY * v for v in SOLID[:2]), *SOLID[2:], 60.0, 40.0),
        FLUID / 1.8 * LOSSY,
        3000,
        *FORCE,
        orders=(2, 4),
    ),
    "elastic, explosion, surface": Earth(Elastic, ROCK, RAYLEIGH, 3000, *EXPLOSION, LAYERS, ALL, surface=10),
    "elastic, force, surface": Earth(Elastic, ROCK, RAYLEIGH, 3000, *FORCE, LAYERS, ALL, surface=0),
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

    def at_side(self, layer: str) -> bool:
        """Return True if a layer is measured at the sides of an earth with a free surface."""
        return EARTHS[self.earth].surface is not None and layer != "cpmls"

    def incidence(self, layer: str) -> np.ndarray:
        """Return the offset along the layer of each receiver, in depths.

        At a side, receivers lie along it as far as the table reaches, then along the surface.
        """
        down = self.offsets[self.offsets <= SIDE]
        return np.concatenate([down, 0 * self.offsets]) if self.at_side(layer) else self.offsets

    def record(self, at_side: bool, types: Any, widths: Sequence[int], further: Sequence[int]) -> np.ndarray:
        """Return (nt, nrec, nfield) beside layers of these types and widths, behind `further` cells of earth."""
        earth = EARTHS[self.earth]
        equation, along, surface = earth.equation(self.order), round(self.farthest * DEPTH) + 2 * DEPTH, earth.surface
        deep = 3 * DEPTH if surface is None or at_side else surface + DEPTH
        shape = (deep + sum(further[:2]), along + sum(further[2:]))
        small = [np.full((2 * self.order,) * 2, value) for value in earth.models]
        dt = COURANT * make_problem(equation, small[0].shape, DH, 1e-3, pml_width=0).largest_dt(*small)
        nt = int(self.path * DH / earth.slowest / dt)
        # Steps of second-order equations accumulate rounding.
        dtype = torch.float64 if equation.levels == 2 else torch.float32
        solver = PropTorch(
            equation, shape, DH, dt, source_type=earth.sources, receiver_type=earth.receivers, pml_type=types,
            pml_width=widths, free_surface=surface is not None, impl="c",
        )  # fmt: skip
        source = np.array([further[2] + DEPTH, further[0] + DEPTH if surface is None else surface])
        far = np.rint(self.offsets * DEPTH).astype(int)[:, None]
        receivers = source + far * [1, 0]
        if at_side:
            receivers = np.concatenate([source + far[self.offsets <= SIDE] * [0, 1], receivers])
        wavelet = torch.tensor(ricker(earth.slowest / (self.wavelength * DH), nt, dt), dtype=dtype)
        models = [torch.full(shape, value, dtype=dtype) for value in earth.models]
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore", SweepWarning)  # of guided waves, which a uniform earth does not have
            return solver(wavelet, source[None], receivers, models=models)[0].numpy()

    def beside(self, width: int, layer: str) -> np.ndarray:
        """Return the record beside layers of `width` cells, on every side or at the bottom or sides below a surface."""
        if EARTHS[self.earth].surface is None:
            return self.record(False, layer, (width,) * 4, (0,) * 4)
        if self.at_side(layer):
            return self.record(True, ("cpmls", layer), (0, AROUND, width, width), (0, AROUND, 0, 0))
        return self.record(False, layer, (0, width, AROUND, AROUND), (0, 0, AROUND, AROUND))

    def decibels(self, width: int, layer: str) -> np.ndarray:
        """Return the echo at each receiver."""
        direct = unbounded(self, self.at_side(layer))
        echo = self.beside(width, layer) - direct
        return 20 * np.log10(np.abs(echo).max((0, 2)) / np.abs(direct).max((0, 2)))

    def worst(self, width: int, layer: str) -> float:
        """Return the worst echo at receivers whose waves meet the layer as the table of the layer assumes."""
        near = self.incidence(layer) <= FARTHEST[layer]
        return float(self.decibels(width, layer)[near].max())


@lru_cache(maxsize=2)
def unbounded(echo: Echo, at_side: bool) -> np.ndarray:
    """Return the record of an earth that continues.

    No wave returns from its ends in time, or a plain layer of AROUND cells, AROUND cells further away, ends it. The
    own echo of this layer is below -170 dB.
    """
    earth = EARTHS[echo.earth]
    open_faces = int(earth.surface is None), 1, 1, 1
    if plain := next((layer for layer in ("cpmlr", "cpmls") if layer in earth.layers), None):
        around = [AROUND * face for face in open_faces]
        return echo.record(at_side, plain, around, around)
    further = math.ceil(echo.path * earth.fastest / earth.slowest / 2) + echo.order
    return echo.record(at_side, None, (0,) * 4, [further * face for face in open_faces])


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
                values, incidence = echo.decibels(width, layer), echo.incidence(layer)
                worst = {far: round(float(values[incidence <= far].max()), 1) for far in (2, 4, 8, 12)}
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
