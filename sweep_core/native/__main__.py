"""``python -m sweep_core.native``: where the sources of the compiled libraries are, for CMake."""

from . import sources

print(sources())
