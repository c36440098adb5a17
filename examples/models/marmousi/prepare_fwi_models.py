"""Make the models that an inversion starts from: coarser grid, smooth start, known water.

The P velocity is resampled to --target-dh without aliasing and smoothed. The water keeps its true velocity in
the start and its edge in both, so no inversion has to change it. Everything goes into one .npz, spacing
included, which sweep_core.io.read_prepared reads.

  python prepare_fwi_models.py                                    12.5 m from npy/vp_1p25m.npy
  python prepare_fwi_models.py --target-dh 25 --radii 8,8         25 m, smoothed over the same distance
  python prepare_fwi_models.py --input vp.npy --source-dh 12.5 --target-dh 25 --crop :,100:400
"""

import argparse
import sys
from pathlib import Path

from sweep_core.cli.model import add_arguments, prepare, run
from sweep_core.errors import SweepError

__all__ = ["prepare"]
HERE = Path(__file__).resolve().parent


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--input",
        type=Path,
        default=HERE / "npy" / "vp_1p25m.npy",
        help="P velocity, (nz, nx) in m/s (%(default)s)",
    )
    add_arguments(parser, source_dh=1.25, target_dh=12.5, name="marmousi2")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        return run(build_parser().parse_args(argv), HERE / "prepared")
    except (SweepError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
