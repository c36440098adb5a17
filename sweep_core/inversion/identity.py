"""The arguments of a run as text, which distinguishes it from other runs."""

import dis
import hashlib
import platform
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import attrs
import numpy as np

from .._util.arrays import numpy_of
from ..errors import SweepWarning

ADDRESS = re.compile(r" at 0x[0-9a-f]+")
COMPARED_METHODS = ("__init__", "__call__")
OURS = ("sweep_core", "sweep_torch", "sweep_jax")


def identity(**values: Any) -> dict[str, str]:
    """Return the arguments of a run as text that can be compared.

    The text of an array is a digest. The text of a user's function holds its code, its closure, and the globals that it
    reads. The text of an object is its repr. An object with an attribute `version`, text or a whole number, is only
    described by this version.

    Warns
    -----
    SweepWarning
        Some values cannot be compared, such as a lock that a function reads. The warning names them.
    """
    describers = {name: _Describer(name) for name in values}
    texts = {name: describer(values[name]) for name, describer in describers.items()}
    unknown = [each for describer in describers.values() for each in describer.unknown]
    if unknown:
        warnings.warn(
            f"invert cannot compare {', '.join(unknown)} with the run in its folder or with other ranks, but goes on. "
            "State the version of a function by an attribute, such as misfit.version = 2",
            SweepWarning,
            stacklevel=3,
        )
    return texts


def environment(solver: Any) -> dict[str, Any]:
    """Return the environment on which the bits of a run depend: backend, implementation, device and versions."""
    from .. import __version__

    return {
        "backend": (solver.executor.name, getattr(solver, "impl", ""), str(getattr(solver, "device", ""))),
        "version": (f"SWEEP {__version__}", f"Python {'.'.join(platform.python_version_tuple()[:2])}"),
    }


@attrs.define(eq=False)
class _Describer:
    """A function that returns the text of one argument.

    Attributes
    ----------
    name : str
        Name of the current value.
    unknown : list of str
        Names of values that have no text.
    """

    name: str
    unknown: list[str] = attrs.field(factory=list)
    _within: list[Any] = attrs.field(factory=list)  # the values that contain the current one
    _done: list[Any] = attrs.field(factory=list)  # functions, classes and modules that have their text already

    def __call__(self, value: Any) -> str:
        if any(value is outer for outer in self._within):
            return "itself"
        self._within.append(value)
        try:
            return self._describe(value)
        finally:
            self._within.pop()

    def _describe(self, value):
        if value is None or isinstance(value, str | bytes | int | float | complex):
            return repr(value)
        if isinstance(version := getattr(value, "version", None), str | int):
            return f"{_name(value)} version {version!r}"
        if isinstance(value, FunctionType | type | ModuleType):
            return self._describe_code(value)
        if hasattr(value, "dtype") and hasattr(value, "shape"):
            array = np.ascontiguousarray(numpy_of(value))
            if not array.dtype.hasobject:
                digest = hashlib.sha256(repr((array.dtype.str, array.shape)).encode() + array.data)
                return f"{array.dtype} array {array.shape} {digest.hexdigest()[:16]}"
        if isinstance(value, list | tuple):
            return f"({', '.join(map(self, value))})"
        if isinstance(value, set | frozenset):
            return f"{{{', '.join(sorted(map(self, value)))}}}"
        if isinstance(value, Mapping):
            parts = [(self(key), value[key]) for key in value]
            return f"{{{', '.join(f'{key}: {self._part(key, each)}' for key, each in sorted(parts, key=_first_item))}}}"
        if isinstance(value, partial):
            return f"partial {self((value.func, value.args, value.keywords))}"
        if isinstance(value, MethodType):
            return f"method {self((value.__func__, value.__self__))}"
        if isinstance(value, property):
            return f"property {self(value.fget)}"
        if hasattr(value, "__wrapped__"):  # from functools.cache or jax.jit
            return f"{type(value).__name__} of {self(value.__wrapped__)}"
        return self._describe_instance(value)

    def _part(self, name, value):
        outer, self.name = self.name, f"{name.strip(chr(39))} of {self.name}"
        try:
            return self(value)
        finally:
            self.name = outer

    def _describe_code(self, value):
        """Return the code of a function, class or module of the user, or the name of any other."""
        name = _name(value)
        if any(value is each for each in self._done):
            return name
        self._done.append(value)
        own = _is_own(value)
        if isinstance(value, ModuleType):
            return f"module {name} {_digest(Path(str(value.__file__)).read_bytes())}" if own else f"module {name}"
        if isinstance(value, type):
            entries = {key: each for key, each in vars(value).items() if key != "_abc_impl"}
            members = {
                key: each for key, each in entries.items() if key in COMPARED_METHODS or not key.startswith("__")
            }
            return f"{name} {self((value.__bases__, members))}" if own else name
        if _top(value) in OURS:
            return name
        if not own and hasattr(value, "__wrapped__"):  # from torch.no_grad
            return f"{name} of {self(value.__wrapped__)}"
        contents = (_cell_content(cell) for cell in value.__closure__ or ())
        closure = dict(zip(value.__code__.co_freevars, contents, strict=True))
        bound = closure, value.__defaults__ or (), value.__kwdefaults__ or {}
        names = [key for key in _global_names(value.__code__) if key in value.__globals__] if own else []
        read = {key: value.__globals__[key] for key in names}
        return f"{name} {_digest(repr(_comparable(value.__code__)).encode())} {self(bound)}" + (
            f" reads {self(read)}" if read else ""
        )

    def _describe_instance(self, value):
        """Return the repr of an object, or its state if the repr contains an address."""
        kind = type(value)
        text = repr(value)
        if ADDRESS.search(text):
            try:
                text = f"{_name(kind)} {self(value.__reduce_ex__(2)[1:3])}"
            except Exception:  # locks, files and generators cannot be copied
                self.unknown.append(f"{self.name} (a {kind.__name__})")
                text = _name(kind)
        return f"{text} {self(kind)}" if _is_own(kind) else text


def _first_item(pair):
    return pair[0]


def _cell_content(cell):
    try:
        return cell.cell_contents
    except ValueError:  # the variable has no value yet
        return None


def _name(value) -> str:
    return getattr(value, "__qualname__", getattr(value, "__name__", type(value).__qualname__))


def _module(value) -> str:
    return value.__name__ if isinstance(value, ModuleType) else value.__module__ or ""


def _top(value) -> str:
    return _module(value).partition(".")[0]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _is_own(value) -> bool:
    """Return True if a function, class or module is the user's and not that of an installed package."""
    name = _module(value)
    module = getattr(sys.modules.get(name), "__file__", None)
    if _top(value) in OURS or (module is None and (name != "__main__" or isinstance(value, ModuleType))):
        return False
    code = value.__code__.co_filename if isinstance(value, FunctionType) else "<"
    return not any(_is_installed(Path(file)) for file in (module, code) if file and not file.startswith("<"))


def _is_installed(file: Path) -> bool:
    return bool({"site-packages", "dist-packages"} & set(file.parts)) or file.is_relative_to(
        sysconfig.get_path("stdlib")
    )


def _global_names(code: CodeType) -> Iterator[str]:
    """Yield the names of the globals that a function, or a function inside it, reads."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield step.argval
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _global_names(each)


def _comparable(each: Any) -> Any:
    """Return code and its constants in a fixed order, without the places of the source text."""
    if isinstance(each, CodeType):
        return each.co_code, each.co_names, each.co_varnames, [_comparable(constant) for constant in each.co_consts]
    if isinstance(each, frozenset):
        return sorted(repr(_comparable(one)) for one in each)
    return [_comparable(one) for one in each] if isinstance(each, tuple) else repr(each)
