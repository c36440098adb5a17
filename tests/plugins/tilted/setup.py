"""A wheel that holds a compiled library is of one platform, and says so."""

from pathlib import Path

from setuptools import setup
from setuptools.dist import Distribution


class Native(Distribution):
    def has_ext_modules(self):
        return any(Path("sweep_tilted").glob("libsweep_*"))


setup(distclass=Native)
