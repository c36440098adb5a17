"""Tag a wheel with a compiled library for one platform."""

from pathlib import Path

from setuptools import setup
from setuptools.dist import Distribution


class Native(Distribution):
    def has_ext_modules(self):
        return any(Path("sweep_vti").glob("libsweep_*"))


setup(distclass=Native)
