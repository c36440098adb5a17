"""Finding, loading and calling the compiled libraries."""

import contextlib
import ctypes as c
import hashlib
import json
import os
import sys
import threading
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ..errors import DeviceError, DomainError, NativeError, StabilityError, UnsupportedError
from . import structs

DISTRIBUTION = "seismic-sweep"
OWN = "sweep_core.native"
"""The package of SWEEP's own libraries; others are named by :attr:`sweep_core.Equation.library`."""
SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
ERRORS = {
    structs.BAD_CALL: NativeError,
    structs.BAD_VALUE: DomainError,
    structs.UNSTABLE: StabilityError,
    structs.UNSUPPORTED: UnsupportedError,
    structs.DEVICE: DeviceError,
}


def folders(package: str = OWN) -> list[Path]:
    """Return the folders of the libraries of a package; for SWEEP only SWEEP_NATIVE_DIR if it is set."""
    forced = os.environ.get("SWEEP_NATIVE_DIR")
    if package == OWN:
        return [Path(forced)] if forced else _installed()
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        spec = None
    return [Path(p) for p in (spec and spec.submodule_search_locations) or ()]


@lru_cache(maxsize=1)
def _installed() -> list[Path]:
    """Return the folders of the package and of the installed distribution, which differ in an editable install."""
    paths = [Path(__file__).parent]
    with contextlib.suppress(PackageNotFoundError):
        paths.append(Path(str(distribution(DISTRIBUTION).locate_file("sweep_core/native"))))
    return paths


def build_command() -> str:
    """Return the command that builds the libraries again, from where SWEEP was installed from."""
    if root := _sources_beside():
        return f"pip install --no-build-isolation --no-deps -e {root.parent}"
    origin = None
    with contextlib.suppress(PackageNotFoundError):
        origin = distribution(DISTRIBUTION).read_text("direct_url.json")
    folder = unquote(urlsplit(json.loads(origin)["url"]).path) if origin else ""
    where = folder if folder and Path(folder).is_dir() else "PATH, of a clone of SWEEP"
    return f"pip install --force-reinstall --no-deps {where}"


def sources() -> Path:
    """Return the installed folder of the native sources and CMakeLists.txt, with which other packages build equations.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    NativeError
        In a pure Python install.
    """
    for folder in _installed():
        if (folder / "CMakeLists.txt").exists():
            return folder
    raise NativeError(f"the native sources are not installed{_report()}")


def file_name(kind: str) -> str:
    """Return the file name of a library of a kind."""
    return f"libsweep_{kind}{SUFFIX}"


def find(kind: str, package: str = OWN) -> Path:
    """Return the file of libsweep_<kind> of a package.

    Raises
    ------
    NativeError
        If it was not built, with the report of the build.
    """
    for folder in folders(package):
        path = folder.absolute() / file_name(kind)  # a bare name would be looked for in LD_LIBRARY_PATH
        if path.exists():
            return path
    if package != OWN:
        raise NativeError(
            f"package {package} holds no {file_name(kind)}; build one as the page howto/compile-equation of the "
            "documentation describes"
        )
    if forced := os.environ.get("SWEEP_NATIVE_DIR"):
        where = Path(forced).absolute()
        raise NativeError(
            f"libsweep_{kind} is not in {where}, the folder of SWEEP_NATIVE_DIR; unset the variable, or build the "
            "library there"
        )
    raise NativeError(
        f"libsweep_{kind} is not installed{_report()}; on a machine with a compiler, build it with '{build_command()}'"
    )


def _report() -> str:
    for folder in folders():
        path = folder / "build_report.txt"
        if path.exists():
            return f" (the build reported: {' | '.join(path.read_text().split(chr(10))).strip(' |')})"
    return ""


def _sources_beside() -> Path | None:
    root = Path(__file__).parents[2] / "native"
    return root if (root / "src").is_dir() else None


def source_folder() -> Path:
    """Return the folder of the native sources: beside the package in a source tree, else the installed one.

    Raises
    ------
    NativeError
        In a pure Python install.
    """
    return _sources_beside() or sources()


def source_id() -> str | None:
    """Return the SHA-256 of the native sources beside the package; None in an installed wheel."""
    root = _sources_beside()
    return None if root is None else id_of(root)


@lru_cache(maxsize=4)
def id_of(root: Path) -> str:
    """Return the SHA-256 of the native sources in a folder, as CMake computes it."""
    digest = hashlib.sha256()
    suffixes = (".h", ".cpp", ".cu", ".cuh")
    files = [p for part in ("include", "src") for p in (root / part).rglob("*") if p.suffix in suffixes]
    for path in sorted(files, key=lambda p: p.relative_to(root).as_posix()):
        digest.update(path.relative_to(root).as_posix().encode() + b"\n")
        digest.update(hashlib.sha256(path.read_bytes()).hexdigest().encode() + b"\n")
    return digest.hexdigest()


class Library:
    """One loaded library: its functions, checked for version and layout.

    `name` is the package that holds it, or the name of a library that was compiled on first use. A library is refused
    if it does not fit; ours also if it was built from other sources than those beside it.
    """

    def __init__(self, path: Path, name: str = OWN):
        self.path, self.kind, self.name = path, path.stem.removeprefix("libsweep_"), name
        self._descriptions: dict[int, list[structs.SweepEquation]] = {}
        rebuild = f"rebuild: {build_command()}" if name == OWN else f"rebuild {name} with this SWEEP"
        try:
            self.dll = c.CDLL(str(path))
            self._declare()
        except (OSError, AttributeError) as error:
            raise NativeError(f"{path} cannot be loaded: {error}") from error
        version = self.dll.sweep_abi_version()
        if version != structs.ABI_VERSION:
            raise NativeError(f"ABI version of {path} is {version}; expected {structs.ABI_VERSION}; {rebuild}")
        expected = structs.layout()
        layout = (c.c_int64 * len(expected))()
        if self.dll.sweep_layout(layout, len(expected)) != len(expected) or list(layout) != expected:
            raise NativeError(f"layout of the structs of {path} is {list(layout)}; expected {expected}; {rebuild}")
        built, source = self.dll.sweep_build_id().decode(), source_id() if name == OWN else None
        if source is not None and built != source and not os.environ.get("SWEEP_NATIVE_DIR"):
            raise NativeError(f"{path} is stale: native/ has changed since it was built; {rebuild}")

    def _declare(self):
        dll = self.dll
        dll.sweep_isa.restype = dll.sweep_build_id.restype = c.c_char_p
        problem, context = c.POINTER(structs.SweepProblem), c.POINTER(structs.SweepContext)
        dll.sweep_buffers.argtypes = problem, c.c_int32, c.POINTER(structs.SweepNeeds), context
        dll.sweep_run.argtypes = problem, c.c_int32, c.c_void_p, c.c_int32, context

    @property
    def builds(self) -> list[str]:
        """The compiled instruction sets, from plain to best."""
        names: list[str] = []
        while (name := self.dll.sweep_isa(len(names))) is not None:
            names.append(name.decode())
        return names

    @property
    def isa(self) -> str | None:
        """The build that runs on this machine, or SWEEP_ISA where that is set; None where none runs."""
        forced = os.environ.get("SWEEP_ISA") if self.kind == "cpu" else None
        if forced and forced not in self.builds:
            raise NativeError(
                f"SWEEP_ISA is {forced!r}; expected one of {self.builds}, the builds in {self.path.name} (built with "
                "SWEEP_ISAS=all, it has all)"
            )
        best = self.dll.sweep_isa_default()
        return forced or (self.builds[best] if best >= 0 else None)

    def describe(self, ndim: int = 2) -> list[structs.SweepEquation]:
        """Return the compiled equations in so many dimensions."""
        if ndim not in self._descriptions:
            descriptions: list[structs.SweepEquation] = []
            equation = structs.SweepEquation(bytes=c.sizeof(structs.SweepEquation))
            while self.dll.sweep_describe(len(descriptions), ndim, c.byref(equation)) == structs.OK:
                descriptions.append(equation)
                equation = structs.SweepEquation(bytes=c.sizeof(structs.SweepEquation))
            self._descriptions[ndim] = descriptions
        return self._descriptions[ndim]

    def description(self, name: str, ndim: int) -> structs.SweepEquation | None:
        """Return the compiled equation of a name, if the library has it in so many dimensions."""
        named = (d for d in self.describe(ndim) if d.name.decode() == name and d.ndim_mask >> ndim & 1)
        return next(named, None)

    def buffers(self, operation: str, problem: structs.SweepProblem) -> list[structs.SweepNeed]:
        """Return the buffers of an operation, ``'forward'`` or another, in its order."""
        needs, number = structs.SweepNeeds(bytes=c.sizeof(structs.SweepNeeds)), structs.OPERATIONS.index(operation)
        context, text = self._context()
        status = self.dll.sweep_buffers(c.byref(problem), number, c.byref(needs), c.byref(context))
        raise_for(status, text.value.decode(errors="replace"))
        return list(needs.buffer[: needs.count])

    def call(self, operation: str, problem, buffers, threads: int = 1, stream: int = 0, control=None) -> None:
        """Run an operation on (address, bytes) pairs in the order of :meth:`buffers`."""
        array, number = (structs.SweepBuffer * len(buffers))(*buffers), structs.OPERATIONS.index(operation)
        context, text = self._context(threads, stream, control)
        status = self.dll.sweep_run(c.byref(problem), number, array, len(buffers), c.byref(context))
        raise_for(status, text.value.decode(errors="replace"))

    def _context(self, threads=1, stream=0, control=None):
        """Return the context of a call, and its buffer for a message."""
        text = c.create_string_buffer(512)
        forced = os.environ.get("SWEEP_ISA") and self.kind == "cpu"
        context = structs.SweepContext(
            bytes=c.sizeof(structs.SweepContext),
            threads=threads,
            isa=self.builds.index(str(self.isa)) + 1 if forced else 0,
            everywhere=os.environ.get("SWEEP_EVERYWHERE") == "1",
            stream=stream,
            control=c.pointer(control) if control is not None else None,
            error=c.addressof(text),
            error_bytes=len(text),
        )
        return context, text


def raise_for(status: int, text: str) -> None:
    """Raise the exception of a status of the C ABI."""
    if status == structs.CANCELLED:
        raise KeyboardInterrupt
    if status != structs.OK:
        raise ERRORS.get(status, NativeError)(text or f"the compiled library returned status {status}")


def interruptible(call, control: structs.SweepControl, keep: Any = None) -> None:
    """Run `call` beside the main thread, so that Ctrl-C and SIGTERM handlers act while the kernel computes.

    The function returns, or raises the error of a handler, after `call` has ended: until then `call` writes into
    buffers. The thread holds `keep`, which owns them, so they outlive an exception between two lines of the wait.
    """
    outcome: list[BaseException | None] = []
    running = threading.Lock()

    def work(buffers):
        failure = None
        try:
            call()
        except BaseException as error:
            failure = error
        finally:
            outcome.append(failure)
            del failure, buffers  # an exception holds its frames: in them it would keep itself, and the buffers, alive
            running.release()

    running.acquire()
    failure = None
    thread = threading.Thread(target=work, args=(keep,), name="sweep")
    del keep
    try:
        thread.start()
    except BaseException as error:
        control.cancel, failure = 1, error
        if thread.ident is None:  # it has not begun, and may never
            raise
    # Not Thread.join: interrupted before Python 3.13, it takes the thread for ended.
    while not outcome:
        try:
            running.acquire(timeout=0.1)
        except BaseException as error:
            control.cancel, failure = 1, error
    try:
        failure = failure or outcome[0]
        if failure is not None:
            raise failure
    finally:
        del failure
        outcome.clear()


@lru_cache(maxsize=64)
def _load(path: Path, package: str) -> Library:
    return Library(path, package)


def load(kind: str, package: str = OWN) -> Library:
    """Load the library ``'cpu'`` or ``'cuda'`` of a package.

    Parameters
    ----------
    kind : {'cpu', 'cuda'}
        Kind of device.
    package : str
        Python package that holds the library; SWEEP's own by default.

    Returns
    -------
    Library
        The library, loaded once per process.

    Raises
    ------
    NativeError
        If the library is missing, stale or of another version.
    """
    return _load(find(kind, package), package)


def status(kind: str, package: str = OWN) -> str:
    """Describe in one line how a library can be used here, or why it is missing.

    Parameters
    ----------
    kind : {'cpu', 'cuda', 'xla'}
        Kind of device.
    package : str
        Python package that holds the library; SWEEP's own by default.

    Returns
    -------
    str
        Path, builds and choice, or the reason why the library cannot be used.
    """
    try:
        if kind == "xla":
            return str(find(kind))
        library = load(kind, package)
        runs = f"uses {library.isa}" if library.isa else "no device here"
        return f"{library.path} ({', '.join(library.builds)}; {runs})"
    except NativeError as error:
        return str(error)
