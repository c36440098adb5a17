"""Make the models that an inversion starts from: coarser grid, smooth start, known water.

The P velocity is brought to --target-dh without aliasing and smoothed. The water keeps its true velocity in
the start and its edge in both, so nothing of it has to be inverted for. Everything goes into one .npz,
spacing included, which sweep_core.io.read_prepared reads.

  python prepare_fwi_models.py                                    12.5 m from npy/vp_1p25m.npy
  python prepare_fwi_models.py --target-dh 25 --radii 8,8         25 m, smoothed over the same distance
  python prepare_fwi_models.py --input vp.npy --source-dh 12.5 --target-dh 25 --crop :,100:400
"""

import argparse
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweep_core.errors import CheckpointError, DomainError, SweepError
from sweep_core.io import PreparedModel, downsample, find_water, read_array, smooth, write_prepared
from sweep_core.io.quantities import check_section

HERE = Path(__file__).resolve().parent


def parse_radii(text: str) -> tuple[int, int]:
    """'16,8' as (16, 8), and '16' as (16, 16)."""
    try:
        radii = tuple(int(word) for word in text.split(","))
    except ValueError:
        radii = ()
    if len(radii) not in (1, 2) or min(radii) < 0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected RZ,RX in cells, for example 16,16")
    return radii[0], radii[-1]


def parse_crop(text: str) -> tuple[slice, slice]:
    """'z0:z1,x0:x1' as two slices; an empty end means the end of the model."""
    try:
        pairs = [[int(word) if word else None for word in part.split(":")] for part in text.split(",")]
        (z0, z1), (x0, x1) = pairs
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected z0:z1,x0:x1 in cells, for example :,100:400") from None
    return slice(z0, z1), slice(x0, x1)


def load_velocity(path: Path) -> NDArray[Any]:
    """The model in a .npy file, (nz, nx) in m/s."""
    try:
        vp = read_array(path)
    except CheckpointError as error:
        raise CheckpointError(f"{error}; make it with convert_segy_to_npy.py or give --input") from error
    check_section(vp, "vp", str(path))
    return vp


def cut(array: NDArray[Any], crop: tuple[slice, slice]) -> NDArray[Any]:
    """A part of the model, refused where it is empty or reaches beyond it."""
    for axis, size, part in zip(("z", "x"), array.shape, crop, strict=True):
        first = 0 if part.start is None else part.start
        last = size if part.stop is None else part.stop
        if not 0 <= first < last <= size:
            raise DomainError(f"--crop {axis} {first}:{last} is not a part of 0:{size} (cells of the target grid)")
    return np.ascontiguousarray(array[crop])


def prepare(args: argparse.Namespace) -> PreparedModel:
    """Do what the command line asks for."""
    vp = load_velocity(args.input)
    water = find_water(vp, args.water_velocity)
    true, water = downsample(vp, args.source_dh, args.target_dh, water)
    if args.crop is not None:
        true, water = cut(true, args.crop), cut(water, args.crop)
    return PreparedModel(true, smooth(true, water, args.radii, args.passes), water, args.target_dh, args.name)


def summary(model: PreparedModel) -> str:
    """What a geophysicist wants to know of it before using it."""
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


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add(
        "--input",
        type=Path,
        default=HERE / "npy" / "vp_1p25m.npy",
        help="P velocity, (nz, nx) in m/s (%(default)s)",
    )
    add("--source-dh", type=float, default=1.25, help="its spacing in metres (%(default)s)")
    add("--target-dh", type=float, default=12.5, help="the new one, a whole multiple of it (%(default)s)")
    add(
        "--radii",
        type=parse_radii,
        default=(16, 16),
        metavar="RZ,RX",
        help="half widths of the running mean that makes the start, in cells of the target grid (16,16)",
    )
    add("--passes", type=int, default=3, help="how often it runs; 3 are nearly a Gaussian (%(default)s)")
    add(
        "--crop",
        type=parse_crop,
        metavar="Z0:Z1,X0:X1",
        help="keep this part, in cells of the target grid, ends excluded, empty: up to the edge",
    )
    add(
        "--water-velocity",
        type=float,
        help="in m/s; by default the commonest value of the top row, if 1400 to 1600",
    )
    add("--name", default="marmousi2", help="of the model and its file (%(default)s)")
    add("--out", type=Path, help="file to write (prepared/<name>_<dh>m.npz, the dot of <dh> written as p)")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    args = build_parser().parse_args(argv)
    spacing = f"{args.target_dh:g}".replace(".", "p")
    out = args.out or HERE / "prepared" / f"{args.name}_{spacing}m.npz"
    try:
        model = prepare(args)
        write_prepared(out, model)
    except (SweepError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print(f"{summary(model)}\nwritten    {out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
