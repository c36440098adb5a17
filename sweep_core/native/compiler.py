"""The compiler of this machine, and the compilation of a library of one problem."""

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import attrs

from .._util.processors import processor_count
from ..errors import NativeError
from ..memory.limits import available
from .codegen import list_of_builds
from .library import file_name
from .structs import DTYPES, OPERATIONS

CANDIDATES = {"cpu": ("CXX", ("c++", "g++", "clang++")), "cuda": ("CUDACXX", ("nvcc",))}
"""For each kind of library, the environment variable that names a compiler, and the names to look for without it."""
FEATURES = {
    "avx512": {"avx2", "fma", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "avx2": {"avx2", "fma", "bmi1", "bmi2"},
    "portable": set[str](),
}
"""Features of a processor that an instruction set needs, best first, as native/src/cpu/runs.h states them."""
SOURCES = {"cpu": "cpp", "cuda": "cu"}
"""The suffix of the sources of each kind of library."""
CAPABILITIES = ("--query-gpu=compute_cap", "--format=csv,noheader")
"""Arguments by which nvidia-smi prints the compute capability of each GPU."""
PTX = "arch=compute_75,code=compute_75"
"""Code for the oldest GPU that SWEEP runs on, which the driver of any later one translates."""
STEPS = {"adjoint": ("AdjointSteps", "RewindSteps"), "forward": ("ForwardSteps",), "born": ("BornSteps",)}
"""The time steps of each operation, which native/src/abi/parts.h compiles in files of their own, the longest first."""
MOST_MEMORY = 1 << 30
"""Bytes that the compiler of one part takes."""
MOST_LINES = 12
"""Lines of a compiler's output in an error."""


@attrs.frozen
class Compiler:
    """A compiler that works, with the answer to ``--version`` that identifies it."""

    kind: str
    command: tuple[str, ...]
    version: str

    @property
    def label(self) -> str:
        """The first line of its version, which names the program."""
        return self.version.splitlines()[0].strip()


@attrs.frozen
class Target:
    """The one problem that a library is compiled for, and the operations that it runs: `native/src/abi/entry.h`."""

    kind: str
    name: str
    ndim: int
    order: int
    dtype: str
    operations: tuple[str, ...]

    @property
    def definitions(self) -> list[str]:
        """The macros that leave out everything else."""
        runs = sum(1 << OPERATIONS.index(operation) for operation in self.operations)
        numbers = {"NDIMS": 1 << self.ndim, "DTYPES": 1 << DTYPES[self.dtype], "RUNS": runs}
        numbers |= {"ORDER": self.order} if self.order else {"MOST_ORDERS": 0}
        return [f"-DSWEEP_EQUATION={self.name}", *(f"-DSWEEP_{name}={number}" for name, number in numbers.items())]


def instruction_set() -> str:
    """Return the best instruction set of this processor, or SWEEP_ISA where that is set."""
    if forced := os.environ.get("SWEEP_ISA"):
        if forced not in FEATURES:
            raise NativeError(f"SWEEP_ISA is {forced!r}; expected one of {[*FEATURES]}")
        return forced
    there: set[str] = set()
    if platform.machine().lower() in ("x86_64", "amd64") and Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        there = set(next((line for line in lines if line.startswith("flags")), "").split())
    return next(isa for isa, features in FEATURES.items() if features <= there)


@lru_cache(maxsize=4)
def find_compiler(kind: str) -> Compiler:
    """Return the compiler for ``'cpu'`` or ``'cuda'`` libraries.

    Raises
    ------
    NativeError
        If there is none, or the one that the environment names does not run.
    """
    variable, names = CANDIDATES[kind]
    command = shlex.split(os.environ.get(variable, ""))
    if not command:
        command = [path for name in names if (path := shutil.which(name))][:1]
    if not command:
        raise NativeError(f"no compiler was found ({', '.join(names)}); install one, or name one by {variable}")
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60)
        version = done.stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise NativeError(f"the compiler {command[0]} does not run: {error}") from error
    if done.returncode or not version:
        raise NativeError(f"the compiler {shlex.join(command)} answers --version with {done.stderr.strip()!r}")
    return Compiler(kind, tuple(command), version)


def _lines_of(*command: str) -> list[str]:
    """Return the lines that a program prints; none if it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return []
    return [] if done.returncode else [line.strip() for line in done.stdout.splitlines()]


@lru_cache(maxsize=4)
def gpu_codes(compiler: Compiler) -> tuple[str, ...]:
    """Return what nvcc generates code for: each GPU of this machine, as native/architectures.cmake chooses.

    Without a GPU, and for one that is newer than nvcc, it is PTX, which a driver translates.
    """
    there = sorted({line.replace(".", "") for line in _lines_of("nvidia-smi", *CAPABILITIES) if line})
    supported = _lines_of(*compiler.command, "--list-gpu-code")
    known = [gpu for gpu in there if f"sm_{gpu}" in supported]
    codes = [f"arch=compute_{gpu},code=sm_{gpu}" for gpu in known]
    return tuple(codes if there and known == there else [*codes, PTX])


def _flags_of(native: Path) -> dict[str, list[str]]:
    lines = (native / "cpu_flags.txt").read_text().splitlines()
    return {words[0]: words[1:] for words in map(shlex.split, lines)}


def variant_of(kind: str) -> str:
    """Return the name of the one build of a library for this machine."""
    return "cuda" if kind == "cuda" else instruction_set()


def flags(compiler: Compiler, native: Path) -> list[str]:
    """Return the flags of the compilation, as those of native/CMakeLists.txt."""
    if compiler.kind == "cuda":
        host = "-Xcompiler=-fPIC,-fvisibility=hidden"
        codes = [f"-gencode={code}" for code in gpu_codes(compiler)]
        return ["-std=c++17", "-O3", "-DNDEBUG", *codes, "--threads=0", "--expt-relaxed-constexpr", host]
    known = _flags_of(native)
    gnu = known["gnu"] if "Free Software Foundation" in compiler.version else []
    hidden = ["-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-fno-exceptions"]
    machine = known[instruction_set()] if platform.machine().lower() in ("x86_64", "amd64") else []
    return ["-std=c++17", "-O3", "-DNDEBUG", "-fopenmp", *hidden, *gnu, *machine]


def _link_flags(kind: str, native: Path) -> list[str]:
    if kind == "cuda":
        return ["-shared", "-cudart=static", f"-Xlinker=--version-script={native / 'exports.map'}"]
    if sys.platform == "darwin":
        return ["-dynamiclib", "-Wl,-exported_symbol,_sweep_*"]
    exports = f"-Wl,--version-script={native / 'exports.map'},--as-needed,-z,defs"
    return ["-shared", "-static-libstdc++", "-static-libgcc", exports]


def _call(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        named = [line for line in lines if "error" in line] or lines
        raise NativeError(
            f"{shlex.join(command[:1])} failed with exit status {done.returncode}: " + "\n".join(named[:MOST_LINES])
        )


def _compilers_at_once() -> int:
    """Return the number of compilers that have a core and memory."""
    memory = available()
    return max(1, processor_count() if memory is None else min(processor_count(), memory // MOST_MEMORY))


def _link(compiler: Compiler, native: Path, inputs: list[Path], library: Path) -> None:
    inputs_and_flags = [*map(str, inputs), *_link_flags(compiler.kind, native)]
    _call([*compiler.command, *flags(compiler, native), *inputs_and_flags, "-o", str(library)])


@lru_cache(maxsize=4)
def check_compiler(compiler: Compiler, native: Path, folder: Path) -> None:
    """Compile and link a few lines in `folder`, with the flags of a library.

    Raises
    ------
    NativeError
        If this fails, for example because the disk is full.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=".trial-", dir=folder, ignore_cleanup_errors=True) as work:
            source, library = Path(work, f"trial.{SOURCES[compiler.kind]}"), Path(work, file_name(compiler.kind))
            source.write_text("int trial() { return 0; }\n")
            _link(compiler, native, [source], library)
            if not library.exists():
                raise NativeError(f"{compiler.label} wrote nothing; expected a compiler that makes a library")
    except OSError as error:
        raise NativeError(f"{folder} cannot be written to: {error}") from error


def compile_library(compiler: Compiler, target: Target, native: Path, folder: Path, build_id: str) -> Path:
    """Return the library ``folder/libsweep_<kind>``, compiled from the header in ``folder/sweep/physics``.

    No other call uses the folder. `native` holds the native sources, and `build_id` is their SHA-256. A NativeError has
    the first errors of the compiler.
    """
    kind, variant = target.kind, variant_of(target.kind)
    (folder / "sweep_builds.h").write_text(list_of_builds(variant, [target.name]))
    common = [*compiler.command, *flags(compiler, native), f"-I{native / 'include'}", f"-I{folder}"]
    common += [f"-DSWEEP_VARIANT={variant}", f'-DSWEEP_BUILD_ID="{build_id}"', "-DSWEEP_PARTS", *target.definitions]
    device, suffix = native / "src" / kind, SOURCES[kind]
    kernels = str(device / f"kernels.{suffix}")
    parts = [steps for operation, parts in STEPS.items() if operation in target.operations for steps in parts]
    inputs = {steps: [kernels, f"-DSWEEP_STEPS={steps}"] for steps in parts} | {"table": [kernels]}
    inputs |= {"library": [str(native / "src/abi/library.cpp")], "builds": [str(device / f"builds.{suffix}")]}
    objects = {folder / f"{name}.o": sources for name, sources in inputs.items()}
    with ThreadPoolExecutor(_compilers_at_once()) as pool:
        calls = [pool.submit(_call, [*common, "-c", *sources, "-o", str(o)]) for o, sources in objects.items()]
        try:
            for call in calls:
                call.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    library = folder / file_name(kind)
    _link(compiler, native, [*objects], library)
    return library
