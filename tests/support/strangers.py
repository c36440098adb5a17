"""Installation of the third-party packages of tests/plugins into a separate folder."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

INSTALL = Path(__file__).parents[1] / "plugins/install.py"


def install(folder, names) -> None:
    """Build and install packages without the network, or skip the test without pip and setuptools."""
    try:
        # find_spec("pip") would make setuptools assume a run of pip and remove its distutils, which inductor needs.
        distribution("pip"), distribution("setuptools")
    except PackageNotFoundError:
        pytest.skip("needs pip and setuptools, which build a package without the network")
    subprocess.run([sys.executable, INSTALL, folder, *names], check=True)
