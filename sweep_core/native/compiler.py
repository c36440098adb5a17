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

from ..errors import NativeError

CANDIDATES = {"cpu": ("CXX", ("c++", "g++", "clang++")), "cuda": ("CUDACXX", ("nvcc",))}
"""For each kind of library, the environment variable that names a compiler, and the names to look for without it."""
FEATURES = {
    "avx512": {"avx2", "fma", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "avx2": {"avx2", "fma", "bmi1", "bmi2"},
    "portable": set[str](),
}
"""Features of a processor that an instruction set needs, best first, as native/src/cpu/runs.h states them."""
HOST = {"cpu": ["-fPIC"], "cuda": ["-Xcompiler=-fPIC", "-arch=native"]}
"""Flags of a library for this machine."""
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
    """The one problem that a library is compiled for: numbers of `native/src/abi/entry.h`."""

    kind: str
    name: str
    ndim: int
    order: int
    dtype: int

    @property
    def definitions(self) -> list[str]:
        """The macros that leave out everything else."""
        numbers = {"NDIMS": 1 << self.ndim, "DTYPES": 1 << self.dtype}
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


def _flags_of(native: Path) -> dict[str, list[str]]:
    lines = (native / "cpu_flags.txt").read_text().splitlines()
    return {words[0]: words[1:] for words in map(shlex.split, lines)}


def flags(compiler: Compiler, native: Path, variant: str) -> list[str]:
    """Return the flags of the compilation, as those of native/CMakeLists.txt."""
    if compiler.kind == "cuda":
        host = "-Xcompiler=-fPIC,-fvisibility=hidden"
        return ["-std=c++17", "-O3", "-DNDEBUG", "-arch=native", "--threads=0", "--expt-relaxed-constexpr", host]
    known = _flags_of(native)
    gnu = known["gnu"] if "Free Software Foundation" in compiler.version else []
    hidden = ["-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-fno-exceptions"]
    machine = known[variant] if platform.machine().lower() in ("x86_64", "amd64") else []
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


@lru_cache(maxsize=4)
def check_compiler(compiler: Compiler, folder: Path) -> None:
    """Compile and link a few lines in `folder`.

    Raises
    ------
    NativeError
        If this fails, for example because the disk is full.
    """
    openmp = [] if compiler.kind == "cuda" else ["-fopenmp"]
    command = [*compiler.command, *openmp, "-std=c++17", "-shared", *HOST[compiler.kind]]
    try:
        with tempfile.TemporaryDirectory(prefix=".trial-", dir=folder, ignore_cleanup_errors=True) as work:
            source = Path(work) / f"trial.{'cu' if compiler.kind == 'cuda' else 'cpp'}"
            source.write_text("int trial() { return 0; }\n")
            _call([*command, str(source), "-o", f"{source}.so"])
            if not Path(f"{source}.so").exists():
                raise NativeError(f"{compiler.label} wrote nothing; expected a compiler that makes a library")
    except OSError as error:
        raise NativeError(f"{folder} cannot be written to: {error}") from error


def compile_library(compiler: Compiler, target: Target, native: Path, folder: Path, build_id: str) -> None:
    """Compile ``folder/libsweep_<kind>`` of the header in ``folder/sweep/physics``.

    Parameters
    ----------
    compiler : Compiler
        The compiler.
    target : Target
        The problem of the library.
    native : Path
        Folder of the native sources.
    folder : Path
        A folder of this call alone.
    build_id : str
        SHA-256 of the native sources.

    Raises
    ------
    NativeError
        If the compiler fails; the message has its first errors.
    """
    kind = target.kind
    variant, suffix = ("cuda", "cu") if kind == "cuda" else (instruction_set(), "cpp")
    (folder / "sweep_builds.h").write_text(
        f"#define SWEEP_EVERY_VARIANT(X) X({variant})\n"
        f"#define SWEEP_EVERY_TABLE(X) X({variant}, {target.name})\n"
        f"#define SWEEP_TABLES_OF_{variant}(X) X({variant}, {target.name})\n"
    )
    common = [*compiler.command, *flags(compiler, native, variant), f"-I{native / 'include'}", f"-I{folder}"]
    common += [f"-DSWEEP_VARIANT={variant}", f'-DSWEEP_BUILD_ID="{build_id}"', *target.definitions]
    sources = [
        native / f"src/{kind}/kernels.{suffix}",
        native / "src/abi/library.cpp",
        native / f"src/{kind}/builds.{suffix}",
    ]
    objects = [folder / f"{source.stem}.o" for source in sources]
    commands = [[*common, "-c", str(s), "-o", str(o)] for s, o in zip(sources, objects, strict=True)]
    with ThreadPoolExecutor(len(commands)) as pool:
        list(pool.map(_call, commands))
    library = folder / f"libsweep_{kind}{'.dylib' if sys.platform == 'darwin' else '.so'}"
    openmp = [] if kind == "cuda" else ["-fopenmp"]
    _call([*compiler.command, *openmp, *map(str, objects), *_link_flags(kind, native), "-o", str(library)])
