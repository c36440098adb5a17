"""``python -m sweep_core``: what is installed, what is not, and why; with arguments the same as ``seismic-sweep``."""

import sys

from .cli import main

if __name__ == "__main__" and main(sys.argv[1:] or ["info"]):
    sys.exit(1)
