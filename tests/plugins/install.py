"""Install the packages of this folder like a user, into a folder for PYTHONPATH.

``python install.py target name ...`` needs no network and does not change the sources. A name such as
``damped/Damped`` also builds a library of this class, for the portable instruction set with -O1: the tests are small
and compilation is slow.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
QUICK = ("--option=-DSWEEP_ISAS=portable", "--option=-DCMAKE_CXX_FLAGS_RELEASE=-O1")
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps")


def run(*command, **where):
    environment = os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, **where)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def install(target, *names):
    with tempfile.TemporaryDirectory() as folder:
        for name, _, equation in (name.partition("/") for name in names):
            copy, package = shutil.copytree(HERE / name, Path(folder) / name), f"sweep_{name}"
            if equation:
                build = (sys.executable, "-m", "sweep_core.native", "build", f"{package}:{equation}")
                run(*build, "--into", package, *QUICK, cwd=copy)
        copies = (Path(folder) / name.partition("/")[0] for name in names)
        run(sys.executable, *PIP, "--no-build-isolation", "--target", target, *copies)


if __name__ == "__main__":
    install(*sys.argv[1:])
