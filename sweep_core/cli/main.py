"""The command line."""

import argparse
import os
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import SweepError
from . import cache, info, invert, model, segy, shoot


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Return 0, or 1 after a refusal, whose reason is printed, or 130 after Ctrl-C.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments after the name of the command; those of the process by default.

    Returns
    -------
    int
        Exit status: 0, or 1 after an error, which stands on the standard error.
    """
    parser = argparse.ArgumentParser("seismic-sweep", description="Seismic modelling and full-waveform inversion.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.set_defaults(goes_on="")
    commands = parser.add_subparsers(dest="command", required=True, metavar="info|model|shoot|invert|segy|cache")
    for module in (info, model, shoot, invert, segy, cache):
        module.add(commands)
    parsed = parser.parse_args(arguments)
    try:
        status = parsed.run(parsed)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # as by `| head`; nobody reads the rest
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(f"\nstopped{parsed.goes_on}", file=sys.stderr)
        return 130
    except (SweepError, ModuleNotFoundError, MemoryError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
