"""``seismic-sweep model``: prepare a velocity model for an inversion."""

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CheckpointError, DomainError
from ..io import PreparedModel, downsample, find_water, read_array, smooth, write_prepared
from ..io.quantities import check_section
from .options import check_new


def add(commands) -> None:
    parser = commands.add_parser("model", help="a coarser grid, a smooth start, the known water, in one file")
    parser.add_argument("input", type=Path, help="P velocity, .npy, (nz, nx) in m/s")
    add_arguments(parser)
    parser.set_defaults(run=run)


def add_arguments(parser: argparse.ArgumentParser, **defaults: Any) -> None:
    """Add the options of :func:`prepare`; the user must state those without a default."""

    def add(name, help, **how):
        known = name[2:].replace("-", "_") in defaults
        default = {"default": defaults[name[2:].replace("-", "_")]} if known else {}
        parser.add_argument(name, help=help + (" (%(default)s)" if known else ""), **how, **default)

    add("--source-dh", "spacing of the input in metres", type=float, required="source_dh" not in defaults)
    add("--target-dh", "the new one, a whole multiple of it", type=float, required="target_dh" not in defaults)
    parser.add_argument(
        "--radii", type=parse_radii, default=(16, 16), metavar="RZ,RX",
        help="half widths of the running mean that makes the start, in cells of the target grid (16,16)",
    )  # fmt: skip
    parser.add_argument(
        "--passes", type=int, default=3, help="how often it runs; 3 are nearly a Gaussian (%(default)s)"
    )
    parser.add_argument(
        "--crop", type=parse_crop, metavar="Z0:Z1,X0:X1",
        help="keep this part, in cells of the target grid, ends excluded, empty: up to the edge",
    )  # fmt: skip
    parser.add_argument(
        "--water-velocity", type=float, help="in m/s; by default the commonest value of the top row, if 1400 to 1600"
    )
    add("--name", "of the model and its file", **({} if "name" in defaults else {"default": "model"}))
    add("--out", "file to write", type=Path)
    parser.add_argument("--overwrite", action="store_true", help="replace the file, if it is there")


def run(parsed: argparse.Namespace, folder: Path = Path()) -> int:
    """Prepare a model and write it to --out, or into the folder under its name and spacing."""
    spacing = f"{parsed.target_dh:g}".replace(".", "p")
    out = parsed.out or folder / f"{parsed.name}_{spacing}m.npz"
    check_new(out, parsed.overwrite)
    model = prepare(parsed)
    write_prepared(out, model)
    print(f"{summary(model)}\nwritten    {out}")
    return 0


def parse_radii(text: str) -> tuple[int, int]:
    """Return (16, 8) for '16,8', and (16, 16) for '16'."""
    try:
        radii = tuple(int(word) for word in text.split(","))
    except ValueError:
        radii = ()
    if len(radii) not in (1, 2) or min(radii) < 0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected RZ,RX in cells, for example 16,16")
    return radii[0], radii[-1]


def parse_crop(text: str) -> tuple[slice, slice]:
    """Return two slices for 'z0:z1,x0:x1'; an empty end means the end of the model."""
    try:
        pairs = [[int(word) if word else None for word in part.split(":")] for part in text.split(",")]
        (z0, z1), (x0, x1) = pairs
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected z0:z1,x0:x1 in cells, for example :,100:400") from None
    return slice(z0, z1), slice(x0, x1)


def load_velocity(path: Path) -> NDArray[Any]:
    """Return the model of a .npy file, (nz, nx) in m/s."""
    try:
        vp = read_array(path)
    except CheckpointError as error:
        raise CheckpointError(
            f"{error}; name a .npy of P velocity, such as seismic-sweep segy convert makes of SEG-Y"
        ) from error
    check_section(vp, "vp", str(path))
    return vp


def cut(array: NDArray[Any], crop: tuple[slice, slice]) -> NDArray[Any]:
    """Return a part of the model; DomainError if the part is empty or reaches beyond the model."""
    for axis, size, part in zip(("z", "x"), array.shape, crop, strict=True):
        first = 0 if part.start is None else part.start
        last = size if part.stop is None else part.stop
        if not 0 <= first < last <= size:
            raise DomainError(
                f"--crop {axis} is {first}:{last}; expected a part of 0:{size}, in cells of the target grid"
            )
    return np.ascontiguousarray(array[crop])


def prepare(args: argparse.Namespace) -> PreparedModel:
    """Return the prepared model that the command line describes."""
    vp = load_velocity(args.input)
    water = find_water(vp, args.water_velocity)
    true, water = downsample(vp, args.source_dh, args.target_dh, water)
    if args.crop is not None:
        true, water = cut(true, args.crop), cut(water, args.crop)
    return PreparedModel(true, smooth(true, water, args.radii, args.passes), water, args.target_dh, args.name)


def summary(model: PreparedModel) -> str:
    """Return the size, velocities, water and error of a model in lines of text."""
    rock, rows = ~model.water, model.water.sum(axis=0)
    error = (model.initial - model.true)[rock].astype(np.float64)
    rms = math.sqrt(float(np.mean(error**2)))
    (nz, nx), dh = model.shape, model.dh
    deep, long = f"{(nz - 1) * dh / 1e3:g} km deep", f"{(nx - 1) * dh / 1e3:g} km long"
    slowest, mean = model.true[rock].min(), model.true[rock].mean()
    wet = f"{rows.min()} to {rows.max()} rows, {rows.max() * dh:g} m at most, kept as it is"
    return "\n".join(
        (
            f"shape      {nz} x {nx} cells of {dh:g} m: {deep}, {long}",
            f"true       {model.true.min():.0f} to {model.true.max():.0f} m/s (rock from {slowest:.0f})",
            f"initial    {model.initial.min():.0f} to {model.initial.max():.0f} m/s",
            f"water      {wet if model.water.any() else 'none was found at the top: nothing is kept fixed'}",
            f"RMS error  {rms:.1f} m/s of the start in the rock, {100 * rms / mean:.1f} % of its mean",
        )
    )
