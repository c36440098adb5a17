"""Installs the packages of this folder as a user would, into a folder that may stand on PYTHONPATH.

``python install.py target name ...``; no network, and the sources stay as they are.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps")


def install(target, *names):
    with tempfile.TemporaryDirectory() as folder:
        copies = [shutil.copytree(HERE / name, Path(folder) / name) for name in names]
        command = [sys.executable, *PIP, "--no-build-isolation", "--target", str(target), *map(str, copies)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    install(*sys.argv[1:])
