"""The third-party packages of tests/plugins, installed into a folder of their own."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

INSTALL = Path(__file__).parents[1] / "plugins/install.py"


def install(folder, names) -> None:
    """Builds and installs packages without the network; skips the test where that cannot be."""
    try:
        # Not find_spec("pip"): setuptools takes that for pip at work, and lets go of its distutils, which inductor needs.
        distribution("pip"), distribution("setuptools")
    except PackageNotFoundError:
        pytest.skip("needs pip and setuptools, with which a package is built without the network")
    subprocess.run([sys.executable, INSTALL, folder, *names], check=True)
