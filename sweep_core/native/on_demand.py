"""Libraries that are compiled on first use, each for one problem, and kept in the user's cache folder."""

import contextlib
import hashlib
import json
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import attrs
from filelock import FileLock

from ..equations.equation import Equation
from ..errors import NativeError
from .codegen import header, statement, write_headers
from .compiler import Compiler, Target, check_compiler, compile_library, find_compiler, flags
from .library import Library, file_name, id_of, source_folder

MOST_BYTES = 1 << 30
"""Size of the cache folder above which the libraries that were not used for the longest time are removed."""
GRADIENT, BORN = ("forward", "adjoint"), ("born",)
"""Operations that one library runs: most users need no Born runs, so these have a library of their own."""
LONGEST_WAIT = 1800.0
"""Seconds that a process waits for another one that compiles the same library."""


def cache_folder() -> Path:
    """Return the folder of compiled libraries: SWEEP_CACHE_DIR, or ``seismic-sweep`` in the user's cache folder."""
    if forced := os.environ.get("SWEEP_CACHE_DIR"):
        return Path(forced)
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/seismic-sweep"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "seismic-sweep"


def _own_folder() -> Path:
    """Return the cache folder, which only this user may write to: whoever writes there runs code in this process."""
    folder = cache_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = folder.stat()
    except OSError as error:
        raise NativeError(
            f"the cache folder {folder} cannot be made: {error}; set SWEEP_CACHE_DIR to another"
        ) from error
    if hasattr(os, "getuid") and (facts.st_uid != os.getuid() or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        raise NativeError(
            f"the cache folder {folder} belongs to user {facts.st_uid} with mode {stat.S_IMODE(facts.st_mode):o}; "
            "expected a folder that you alone can write to; set SWEEP_CACHE_DIR to one"
        )
    return folder


@attrs.frozen
class Entry:
    """One compiled library in the cache.

    Parameters
    ----------
    key : str
        Name of its folder.
    equation, kind, dtype, compiler : str
        The equation, kind of device and precision of the library, and its compiler.
    ndim, order : int
        Number of dimensions and spatial order; order 0 stands for every order.
    seconds : float
        Time of the compilation.
    sha256 : str
        Hash of the library.
    size : int
        Bytes on the disk.
    used : float
        Time of the last use, in seconds since the epoch.
    operations : sequence of str
        The operations that the library runs.
    """

    key: str
    equation: str
    kind: str
    ndim: int
    order: int
    dtype: str
    compiler: str
    seconds: float
    sha256: str
    size: int = 0
    used: float = 0.0
    operations: Sequence[str] = (*GRADIENT, *BORN)


def entries() -> list[Entry]:
    """Return the libraries in the cache, the last used first."""
    there = []
    for path in cache_folder().glob("*/entry.json"):
        with contextlib.suppress(OSError, ValueError, TypeError):
            size = sum(file.stat().st_size for file in path.parent.iterdir())
            facts = json.loads(path.read_text())
            there.append(Entry(path.parent.name, **facts, size=size, used=path.stat().st_mtime))
    return sorted(there, key=lambda entry: -entry.used)


def clear() -> list[Entry]:
    """Remove all libraries from the cache, and return them. Processes that use one go on."""
    removed = entries()
    for entry in removed:
        _remove(entry)
    return removed


def _remove(entry: Entry) -> None:
    shutil.rmtree(cache_folder() / entry.key, ignore_errors=True)


def _limit_size(keep: str) -> None:
    total = 0
    for entry in entries():
        total += entry.size
        if total > MOST_BYTES and entry.key != keep:
            _remove(entry)


def target_of(equation: Equation, ndim: int, dtype: str, kind: str, operations: tuple[str, ...] = GRADIENT) -> Target:
    """Return the problem and the operations that a library is compiled for.

    Its order is 0, for every order, in double precision and above order 8.
    """
    order = equation.spatial_order if dtype == "float32" and equation.spatial_order <= 8 else 0
    return Target(kind, equation.name, ndim, order, dtype, operations)


def _key(equation: Equation, target: Target, compiler: Compiler, native: Path) -> str:
    """Return the name of a library in the cache: it changes with everything that the library depends on."""
    parts = id_of(native), statement(equation), repr(target), compiler.version, *flags(compiler, native)
    return f"{target.name}-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:24]}"


@lru_cache(maxsize=256)
def prospect(equation: Equation, ndim: int, kind: str) -> str:
    """Return where compiled code of a problem comes from: the cache, or the compiler of this machine.

    Raises
    ------
    NativeError
        If the cache has no library of the problem, and the compiler or the cache folder does not work.
    """
    compiler, native, folder = find_compiler(kind), source_folder(), _own_folder()
    targets = [target_of(equation, ndim, dtype, kind) for dtype in ("float32", "float64")]
    keys = [_key(equation, target, compiler, native) for target in targets]
    for entry in entries():
        if entry.key in keys:
            return f"{entry.compiler} compiled {equation.name} in {entry.seconds:.1f} s; {folder / entry.key} holds it"
    check_compiler(compiler, native, folder)
    return f"{compiler.label} compiles {equation.name} on first use, into {folder}"


def _opened(path: Path, key: str) -> Library | None:
    """Return the library of a file; None if it is missing or damaged: the linker would crash on half of a file."""
    try:
        stated = json.loads((path.parent / "entry.json").read_text())["sha256"]
        return Library(path, key) if hashlib.sha256(path.read_bytes()).hexdigest() == stated else None
    except (OSError, ValueError, LookupError, TypeError, NativeError):
        return None


@lru_cache(maxsize=256)
def cached(equation: Equation, ndim: int, kind: str) -> Library | None:
    """Return a library of a problem that the cache holds, in either precision; None if it holds none."""
    compiler, native, folder = find_compiler(kind), source_folder(), _own_folder()
    for dtype in ("float32", "float64"):
        key = _key(equation, target_of(equation, ndim, dtype, kind), compiler, native)
        if (library := _opened(folder / key / file_name(kind), key)) is not None:
            return library
    return None


@lru_cache(maxsize=256)
def compiled(equation: Equation, ndim: int, dtype: str, kind: str, operations: tuple[str, ...] = GRADIENT) -> Library:
    """Return the library of one problem and of `operations`, `GRADIENT` or `BORN`, compiled unless the cache has it.

    Processes that ask at once wait for the one that compiles. A damaged library is compiled again.

    Raises
    ------
    NativeError
        If there is no compiler, it fails, or the cache cannot be written to.
    """
    compiler, native = find_compiler(kind), source_folder()
    target = target_of(equation, ndim, dtype, kind, operations)
    key, cache = _key(equation, target, compiler, native), _own_folder()
    place, name = cache / key, file_name(kind)
    if (library := _opened(place / name, key)) is not None:
        with contextlib.suppress(OSError):
            os.utime(place / "entry.json")
        return library
    try:
        with FileLock(cache / f"{key}.lock", timeout=LONGEST_WAIT):
            if (library := _opened(place / name, key)) is None:
                _compile(equation, target, compiler, native, place)
                library = Library(place / name, key)
    except OSError as error:  # a full disk, or a lock that nobody releases
        raise NativeError(
            f"{equation.name} could not be compiled in {cache}: {error}; free some space, or set SWEEP_CACHE_DIR"
        ) from error
    _limit_size(key)
    prospect.cache_clear()
    cached.cache_clear()
    return library


def _compile(equation, target, compiler, native, place):
    """Compile in a folder of its own, and rename it: nobody sees half of a library."""
    order = f"order {target.order}" if target.order else "of every order"
    what = f"{target.name} {target.ndim}-D {target.dtype} {order} ({', '.join(target.operations)})"
    print(f"sweep: compiling {what} with {compiler.label} ...", file=sys.stderr, end=" ", flush=True)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix=".compiling-", dir=place.parent, ignore_cleanup_errors=True) as work:
        folder = Path(work)
        try:
            write_headers(folder, [equation])
            library = compile_library(compiler, target, native, folder, id_of(native))
        except BaseException:
            print("failed", file=sys.stderr, flush=True)
            raise
        seconds, digest = time.perf_counter() - began, hashlib.sha256(library.read_bytes()).hexdigest()
        result = folder / "result"
        result.mkdir(mode=0o700)
        library.rename(result / library.name)
        facts = {"equation": target.name, **attrs.asdict(target, filter=attrs.filters.exclude("name"))}
        facts |= {"compiler": compiler.label, "seconds": seconds, "sha256": digest}
        (result / "entry.json").write_text(json.dumps(facts, indent=1))
        (result / f"{target.name}.h").write_text(header(equation))
        shutil.rmtree(place, ignore_errors=True)  # a damaged one
        result.rename(place)
    print(f"{seconds:.1f} s", file=sys.stderr, flush=True)
