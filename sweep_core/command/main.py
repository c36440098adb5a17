"""The command line."""

import argparse
import sys
from collections.abc import Sequence

from ..errors import SweepError
from . import info, invert, model, segy, shoot


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit status: 0, or 1 where it was refused, for a reason that is printed."""
    parser = argparse.ArgumentParser("seismic-sweep", description="Seismic modelling and full-waveform inversion.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="info|model|shoot|invert|segy")
    for module in (info, model, shoot, invert, segy):
        module.add(commands)
    given = parser.parse_args(arguments)
    try:
        return given.run(given)
    except (SweepError, ModuleNotFoundError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
