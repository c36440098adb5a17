"""``python -m benchmarks.pml``: the reflection of an absorbing layer against the angle of incidence.

A source and receivers lie along one layer, two wavelengths away, and nothing comes back from anywhere else. The
reflection is the difference between the record and that of a continued earth. Its peak is divided by the reflection of
a perfect mirror at the layer's edge: the peak at the mirror image of the receiver. Float64.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from sweep_core import Acoustic, ricker
from sweep_core.plot.canvas import new_figure, save
from sweep_torch import PropTorch

DH, DT, SPEED, FREQ, DEPTH = 10.0, 0.002, 2000.0, 10.0, 40  # m, s, m/s, Hz, cells
OFFSETS = np.unique(np.rint(2 * DEPTH * np.tan(np.radians(np.arange(86)))).astype(int))
ANGLES = np.degrees(np.arctan(OFFSETS / (2 * DEPTH)))
PATH = int(
    np.hypot(2 * DEPTH, OFFSETS[-1]) + 3 / FREQ * SPEED / DH
)  # cells that a wave travels until the wavelet is over
MARGIN = PATH // 2 + 10  # cells of earth, from whose far edge nothing returns by then
STYLES = {20: "-", 50: "--"}  # cells
COLOURS = {2: "#b9770e", 4: "#7d8b8c", 6: "#5dade2", 8: "#1b4f72"}  # spatial orders


def record(order: int, above: int, width: int, *depths: int) -> np.ndarray:
    """Return (len(depths), nt, nrec) at `depths` below the edge; above it are `above` rows of earth, then the layer."""
    nt = int(PATH * DH / SPEED / DT)
    shape = (above + DEPTH + MARGIN, MARGIN + OFFSETS[-1] + MARGIN)
    solver = PropTorch(Acoustic(order), shape, DH, DT, pml_width=(width, 0, 0, 0))
    sources = np.array([[MARGIN, above + DEPTH]])
    receivers = np.concatenate([np.stack([MARGIN + OFFSETS, 0 * OFFSETS + above + z], axis=1) for z in depths])
    vp = torch.full(shape, SPEED, dtype=torch.float64)
    traces = solver(torch.tensor(ricker(FREQ, nt, DT)), sources, receivers, models=[vp])[0, :, :, 0].numpy()
    return traces.reshape(nt, len(depths), -1).swapaxes(0, 1)


def reflections(order: int) -> dict[int, np.ndarray]:
    """Return decibels at each of ANGLES, for each width."""
    direct, mirrored = record(order, MARGIN, 0, DEPTH, -DEPTH)
    back = {width: record(order, 0, width, DEPTH)[0] - direct for width in STYLES}
    return {width: 20 * np.log10(np.abs(x).max(0) / np.abs(mirrored).max(0)) for width, x in back.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default="pml.png", help="the picture")
    out, shown = parser.parse_args().out, [0, 30, 60, 75, 80, 85]
    figure = new_figure((9, 4))
    axis = figure.subplots()
    print(f"{'dB at degrees':20s}" + "".join(f"{angle:8d}" for angle in shown))
    for order, colour in COLOURS.items():
        for width, values in reflections(order).items():
            name = f"order {order}, {width} cells"
            axis.plot(ANGLES, values, STYLES[width], color=colour, label=name)
            print(f"{name:20s}" + "".join(f"{x:8.1f}" for x in np.interp(shown, ANGLES, values)), flush=True)
    axis.set(xlabel="angle of incidence (degrees)", ylabel="reflection (dB)", xlim=(0, 85))
    axis.grid(alpha=0.3)
    figure.legend(fontsize=8, loc="outside right center")
    save(figure, out)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
