"""Builds of small libraries from selected sources by a plain C++ compiler."""

import ctypes as c
import os
import shutil
import subprocess
from pathlib import Path

from sweep_core import equations as known
from sweep_core.native.codegen import list_of_builds, write_headers

NATIVE = Path(__file__).parents[2] / "native"
EMULATED = "-DSWEEP_EMULATE", f"-I{Path(__file__).parents[1] / 'native' / 'emulated'}"
"""Flags that compile native/src/cuda with a plain C++ compiler: launches are loops on two cards."""
COMPILER = shutil.which(os.environ.get("CXX", "c++"))


def build(folder: Path, variant: str, kernels: str, builds: str, *flags: str, equations=("acoustic",)) -> c.CDLL:
    """Build a library of one variant; without FMA contraction, so that two libraries agree to the last bit."""
    folder.mkdir()
    (folder / "sweep_builds.h").write_text(list_of_builds(variant, equations))
    write_headers(folder, [known()[name]() for name in equations])
    library = folder / "library.so"
    common = ["-std=c++17", "-O1", "-fPIC", "-ffp-contract=off", '-DSWEEP_BUILD_ID="test"', *flags]
    common += [f"-DSWEEP_VARIANT={variant}", f"-I{folder}", f"-I{NATIVE / 'include'}"]
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    objects = [folder / f"{equation}.o" for equation in equations]
    for equation, result in zip(equations, objects, strict=True):
        source = [f"-DSWEEP_EQUATION={equation}", "-x", "c++", str(NATIVE / "src" / kernels)]
        subprocess.run([COMPILER, *common, *source, "-c", "-o", str(result)], check=True, env=environment)
    sources = [*map(str, objects), "-x", "c++", str(NATIVE / "src" / builds), str(NATIVE / "src/abi/library.cpp")]
    subprocess.run([COMPILER, *common, "-shared", "-o", str(library), *sources], check=True, env=environment)
    return c.CDLL(str(library))


def emulated_cuda(folder: Path, equation: str) -> dict[str, str]:
    """Build the emulated CUDA code of an equation in float64; return the environment in which it is the CPU library."""
    flags = *EMULATED, "-DSWEEP_MOST_ORDERS=0", "-DSWEEP_DTYPES=2"  # one loop for all orders, as in a build with nvcc
    library = build(folder, "cuda", "cuda/kernels.cu", "cuda/builds.cu", *flags, equations=(equation,))
    Path(library._name).rename(folder / "libsweep_cpu.so")
    return os.environ | {"SWEEP_NATIVE_DIR": str(folder)}
