"""Draw a prepared model: the true one, the start, and their difference, which an inversion must find.

Axes are in km, both velocities on one scale (viridis, which is perceptually uniform), the difference centred
on zero. The water is flat blue, the seafloor a line. The script writes a .png next to the model; --out names
another file.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sweep_core.errors import SweepError, UnsupportedError
from sweep_core.io import PreparedModel, read_prepared
from sweep_core.plot import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent
SEA = "#d3e5f2"


def draw(model: PreparedModel) -> "Figure":
    """Return the figure, bound to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UnsupportedError("plotting needs matplotlib, which is not installed: pip install matplotlib") from None
    (nz, nx), km = model.shape, model.dh / 1e3
    extent = (-0.5 * km, (nx - 0.5) * km, (nz - 0.5) * km, -0.5 * km)
    height = float(np.clip(9.0 * nz / nx, 1.6, 4.2))
    figure = Figure(figsize=(11, 3 * (height + 0.45) + 0.6), layout="constrained")
    rock = ~model.water
    low, high = np.percentile(model.true[rock], (0.5, 99.5))
    difference = model.initial - model.true
    most = float(np.percentile(np.abs(difference[rock]), 99)) or 1.0
    panels: tuple[tuple[str, Any, dict[str, Any]], ...] = (
        ("true", model.true, {"cmap": "viridis", "vmin": low, "vmax": high}),
        ("start", model.initial, {"cmap": "viridis", "vmin": low, "vmax": high}),
        ("start minus true", difference, {"cmap": "RdBu_r", "vmin": -most, "vmax": most}),
    )
    axes = figure.subplots(3, 1, sharex=True)
    x = np.arange(nx) * km
    for axis, (title, values, style) in zip(axes, panels, strict=True):
        axis.set_facecolor(SEA)
        shown = np.ma.masked_array(values, model.water)
        image = axis.imshow(shown, extent=extent, aspect="auto", interpolation="nearest", **style)
        if model.water.any():
            seafloor = (model.water.sum(axis=0) - 0.5) * km
            axis.plot(x, seafloor, color="black", linewidth=0.6, drawstyle="steps-mid")
        axis.set(xlim=extent[:2], ylim=extent[2:], ylabel="depth (km)")
        axis.set_title(title, loc="left", fontsize=10)
        label = "difference (m/s)" if title == "start minus true" else "P velocity (m/s)"
        figure.colorbar(image, ax=axis, label=label, extend="both", pad=0.01, aspect=14)
    axes[-1].set_xlabel("distance (km)")
    figure.suptitle(f"{model.name}, {nz} x {nx} cells of {model.dh:g} m", fontsize=11)
    return figure


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = HERE / "prepared" / "marmousi2_12p5m.npz"
    parser.add_argument("--input", type=Path, default=default, help="a prepared model (%(default)s)")
    parser.add_argument("--out", type=Path, help="the picture; its suffix sets the format (the input's name, .png)")
    parser.add_argument("--dpi", type=int, default=150, help="dots per inch (%(default)s)")
    args = parser.parse_args(argv)
    out = args.out or args.input.with_suffix(".png")
    try:
        figure = draw(read_prepared(args.input))
        save(figure, out, args.dpi)
    except (SweepError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print(out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
