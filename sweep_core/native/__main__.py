"""The native sources, the headers of equations and the libraries of other packages, for CMake and wheels."""

import argparse
import sys
from pathlib import Path

from ..errors import SweepError
from . import sources
from .build import build
from .codegen import SHIPPED, equation_of, write_headers


def main() -> None:
    """Run ``python -m sweep_core.native``."""
    parser = argparse.ArgumentParser("python -m sweep_core.native", description=__doc__)
    parser.set_defaults(run=lambda _: print(sources()))
    commands = parser.add_subparsers(title="commands; without one, the folder of the native sources is printed")

    headers = commands.add_parser("headers", help="write the headers of equations")
    headers.add_argument("folder", type=Path)
    headers.add_argument("equations", nargs="*", metavar="package:Class")
    headers.set_defaults(run=lambda parsed: write_headers(parsed.folder, map(equation_of, parsed.equations or SHIPPED)))

    library = commands.add_parser("build", help="build the library of equations for a wheel; CMake needs a compiler")
    library.add_argument("equations", nargs="+", metavar="package:Class")
    library.add_argument("--into", type=Path, required=True, help="folder of the package that holds the library")
    library.add_argument("--kind", choices=("cpu", "cuda"), default="cpu")
    library.add_argument("--option", action="append", default=[], help="option of CMake: --option=-DSWEEP_ISAS=all")
    library.set_defaults(run=lambda parsed: build(parsed.equations, parsed.into, parsed.kind, parsed.option))

    parsed = parser.parse_args()
    try:
        parsed.run(parsed)
    except SweepError as error:
        sys.exit(f"{type(error).__name__}: {error}")


main()
