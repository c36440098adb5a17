"""libsweep_xla: the handlers through which XLA calls the kernel libraries, which do not depend on XLA."""

import ctypes as c
import os
import re
from functools import lru_cache

import jax
import jaxlib

from sweep_core import native as compiled
from sweep_core.equations.equation import Equation
from sweep_core.errors import NativeError
from sweep_core.native.library import Library, build_command, find, source_id
from sweep_core.plugins import Support

PLATFORMS = {"cpu": "cpu", "cuda": "CUDA"}
"""The platform name under which XLA registers the handlers of each kernel library."""


def target(kind: str) -> str:
    """Return the name by which compiled programs call the handler of libraries of a kind."""
    return f"sweep_{kind}"


@lru_cache(maxsize=1)
def _open() -> c.CDLL:
    path = find("xla")
    try:
        shim = c.CDLL(str(path))
        shim.sweep_xla_jaxlib_version.restype = shim.sweep_build_id.restype = c.c_char_p
        shim.sweep_xla_bind.argtypes = c.c_char_p, c.c_char_p, c.c_void_p
        headers, built = shim.sweep_xla_jaxlib_version().decode(), shim.sweep_build_id().decode()
    except (OSError, AttributeError) as error:
        raise NativeError(f"{path} cannot be loaded: {error}") from error
    # XLA does not refuse a newer handler alone: its registration breaks the whole backend.
    if _numbers(jaxlib.__version__) < _numbers(headers):
        raise NativeError(
            f"{path} was built for jaxlib {headers} and newer, this is {jaxlib.__version__}; "
            f"install a newer jax, or rebuild: {build_command()}"
        )
    source = source_id()
    if source is not None and built != source and not os.environ.get("SWEEP_NATIVE_DIR"):
        raise NativeError(f"{path} is stale: native/ has changed since it was built; rebuild: {build_command()}")
    return shim


def _numbers(version: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", version)[:3]]


@lru_cache(maxsize=2)
def _register(kind: str) -> c.CDLL:
    shim = _open()
    handler = jax.ffi.pycapsule(getattr(shim, f"sweep_xla_{kind}"))
    jax.ffi.register_ffi_target(target(kind), handler, platform=PLATFORMS[kind])
    return shim


@lru_cache(maxsize=256)
def bind(library: Library) -> None:
    """Let XLA call a library, by its name.

    Raises
    ------
    NativeError
        If the shim is missing, stale or newer than jaxlib.
    """
    shim = _register(library.kind)
    shim.sweep_xla_bind(library.kind.encode(), library.name.encode(), c.cast(library.dll.sweep_run, c.c_void_p))


def supports(equation: Equation, ndim: int, kind: str, strips: bool = False) -> Support:
    """Return whether compiled code for ``'cpu'`` or ``'cuda'`` runs an equation under XLA."""
    support = compiled.supports(equation, ndim, kind, strips=strips)
    if support:
        try:
            _register(kind)
        except NativeError as error:
            return Support(False, str(error))
    return support


def forced_isa(library: Library) -> int:
    """Return sweep_context.isa: 0 for the best build on this processor, or the build that SWEEP_ISA names."""
    return library.builds.index(str(library.isa)) + 1 if os.environ.get("SWEEP_ISA") else 0
