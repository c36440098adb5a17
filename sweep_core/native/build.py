"""Building the libraries of a package's equations by CMake, for a wheel."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..errors import NativeError
from .codegen import equation_of, header
from .library import source_folder


def build(names: Sequence[str], into: Path, kind: str = "cpu", options: Sequence[str] = ()) -> Path:
    """Build the library of some equations for every order, precision and number of dimensions.

    Parameters
    ----------
    names : list of str
        Classes of equations, ``"package.module:Class"``. The equations have their default options.
    into : Path
        Folder of the library: the package that the classes name as their `library`.
    kind : {'cpu', 'cuda'}
        Kind of device.
    options : list of str
        Further options of CMake, such as ``"-DSWEEP_ISAS=all"``.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    NativeError
        If there is no CMake, or the build fails.
    OptionError, UnsupportedError
        If a class does not exist, or no compiled code can state it.
    """
    for name in names:
        header(equation_of(name))
    cmake = shutil.which("cmake")
    if cmake is None:
        raise NativeError("cmake was not found; install it: pip install cmake")
    cuda = [f"-DCMAKE_CUDA_COMPILER={shutil.which('nvcc') or 'nvcc'}"] if kind == "cuda" else []
    with tempfile.TemporaryDirectory() as folder:
        settings = [
            f"-DSWEEP_LIBRARY={kind}",
            f"-DSWEEP_EQUATIONS={';'.join(names)}",
            f"-DPython_EXECUTABLE={sys.executable}",
            *cuda,
            *options,
        ]
        _run(cmake, "-S", str(source_folder()), "-B", folder, *settings)
        _run(cmake, "--build", folder, "--parallel", Path(folder, "jobs.txt").read_text())
        _run(cmake, "--install", folder, "--prefix", str(into.absolute()), "--strip")
    return into


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True)
    except subprocess.CalledProcessError as error:
        raise NativeError(f"{' '.join(command[:3])} failed with exit status {error.returncode}; see above") from error
