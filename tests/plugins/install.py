"""Installs the packages of this folder as a user would, into a folder that may stand on PYTHONPATH.

``python install.py target name ...``; no network, and the sources stay as they are. A name may be that of a script of
the package, ``damped/build.sh``, which is run first: for the plain instruction set alone and hardly optimized, as
tests are small and the compiler is not quick.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
QUICK = ("-DSWEEP_ISAS=portable", "-DCMAKE_CXX_FLAGS_RELEASE=-O1")
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps")


def run(*command, **where):
    environment = os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, **where)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def install(target, *names):
    with tempfile.TemporaryDirectory() as folder:
        for name, _, script in (name.partition("/") for name in names):
            copy = shutil.copytree(HERE / name, Path(folder) / name)
            if script:
                run("sh", script, *QUICK, cwd=copy)
        copies = (Path(folder) / name.partition("/")[0] for name in names)
        run(sys.executable, *PIP, "--no-build-isolation", "--target", target, *copies)


if __name__ == "__main__":
    install(*sys.argv[1:])
