"""The command line."""

import argparse
import os
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
        status = given.run(given)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # of `| head`; nobody reads what is left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (SweepError, ModuleNotFoundError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
