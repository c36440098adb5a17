"""``python -m sweep_core.native``: where the native sources are; ``headers FOLDER [package:Class ...]`` for CMake."""

import sys
from pathlib import Path

from . import sources
from .codegen import SHIPPED, equation_of, write_headers

match sys.argv[1:]:
    case []:
        print(sources())
    case ["headers", folder, *names]:
        write_headers(Path(folder), map(equation_of, names or SHIPPED))
    case _:
        sys.exit(__doc__)
