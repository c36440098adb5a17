"""Public names are annotated and documented in full, their examples run, and mypy checks their modules strictly."""

import doctest
import importlib
import inspect
import re
import tomllib
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = [
    "sweep_core", "sweep_torch", "sweep_jax", "sweep_dask", "sweep_core.typing",
    *(f"sweep_core.{room}" for room in ("inversion", "io", "plot", "misfit", "processing", "certify")),
]  # fmt: skip
NEVER_RAISE = {"backends", "distributors", "equations", "part_of", "empty_pool"}


def installed(package: str) -> bool:
    needed = {"sweep_torch": "torch", "sweep_jax": "jax", "sweep_dask": "sweep_dask"}.get(package)
    return needed is None or find_spec(needed) is not None


def public() -> dict[str, object]:
    """Return each exported class and function once, by the module and name of its definition."""
    results = {}
    for package in filter(installed, PACKAGES):
        module = importlib.import_module(package)
        for value in (getattr(module, name) for name in module.__all__):
            if inspect.isclass(value) or inspect.isfunction(value):
                results[f"{value.__module__}.{value.__qualname__}"] = value
    return {name: value for name, value in results.items() if name.startswith("sweep_")}


def routines(value) -> dict[str, tuple[object, str]]:
    """Return the function, or constructor, methods and properties of a class, each with its docstring."""
    if not inspect.isclass(value):
        return {value.__name__: (value, inspect.getdoc(value) or "")}
    text = inspect.getdoc(value) or ""
    results = {}
    own = any("__init__" in vars(c) for c in value.__mro__ if c.__module__.startswith("sweep_"))
    if own and not getattr(value, "_is_protocol", False):
        results["__init__"] = (value.__init__, text + "\n\n" + (inspect.getdoc(value.__init__) or ""))
    for name in ["__call__", *(n for n in dir(value) if not n.startswith("_"))]:
        owner = next((c for c in value.__mro__ if name in vars(c)), object)
        if not owner.__module__.startswith("sweep_"):
            continue
        member = inspect.getattr_static(value, name)
        member = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if inspect.isfunction(member):
            results[name] = (member, inspect.getdoc(getattr(value, name)) or "")
    return results


def section_names(text: str, section: str) -> set[str]:
    """Return the names in a section of a numpydoc text."""
    part = re.search(rf"^{section}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    lines = re.findall(r"^([*\w][\w, *]*?)(?: :.*)?$", part[1], re.MULTILINE) if part else []
    return {name.strip(" *") for line in lines for name in line.split(",")}


def faults(value) -> list[str]:
    """List the parts that a public class or function lacks."""
    results = []
    for name, (routine, text) in routines(value).items():
        signature = inspect.signature(routine)
        parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
        results += [f"{name}: {p.name} has no annotation" for p in parameters if p.annotation is p.empty]
        if signature.return_annotation is signature.empty and name != "__init__":
            results.append(f"{name}: the result has no annotation")
        if name == "__init__" or not inspect.isclass(value):
            documented = section_names(text, "Parameters") | section_names(text, "Attributes")
            results += [f"{name}: {p.name} is not documented" for p in parameters if p.name not in documented]
        else:
            results += [] if text.strip() else [f"{name}: there is no text"]
        if not inspect.isclass(value):
            returns = signature.return_annotation not in (None, "None")
            wanted = ["Returns"] * returns + ["Raises"] * (name not in NEVER_RAISE)
            results += [f"{name}: there is no section {title}" for title in wanted if f"{title}\n---" not in text]
    return results


@pytest.mark.parametrize("name", public())
def test_public_names_are_annotated_and_documented(name):
    assert not faults(public()[name])


def exported() -> dict[str, object]:
    """Return the functions that any module exports, by module and name."""
    results = {}
    for path in [
        path for package in ("sweep_core", "sweep_torch", "sweep_jax") for path in (ROOT / package).rglob("*.py")
    ]:
        if (
            "__all__ = " not in path.read_text()
            or path.stem in ("__main__", "private")
            or not installed(path.relative_to(ROOT).parts[0])
        ):
            continue
        module = importlib.import_module(
            ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        )
        values = [getattr(module, name) for name in module.__all__]
        results |= {f"{f.__module__}.{f.__qualname__}": f for f in values if inspect.isfunction(f)}
    return results


def test_functions_of_all_modules_have_the_sections_of_numpydoc():
    missing = []
    for name, function in exported().items():
        signature, text = inspect.signature(function), inspect.getdoc(function) or ""
        parameters = set(signature.parameters) - section_names(text, "Parameters")
        missing += [f"{name}: {parameter}" for parameter in parameters]
        if signature.return_annotation not in (None, "None", signature.empty) and not re.search(
            r"(Returns|Yields)\n---", text
        ):
            missing.append(f"{name}: Returns")
    assert len(exported()) > 140 and not missing


def test_faults_are_found():
    def bare(first, second: int):
        """Do something.

        Parameters
        ----------
        second : int
            A number.
        """

    class Silent:
        def __init__(self, first: int) -> None:
            self.first = first

        def method(self) -> int:
            return self.first

    Silent.__module__ = "sweep_core"
    assert faults(bare) == [
        "bare: first has no annotation", "bare: the result has no annotation", "bare: first is not documented",
        "bare: there is no section Returns", "bare: there is no section Raises",
    ]  # fmt: skip
    assert faults(Silent) == ["__init__: first is not documented", "method: there is no text"]


@pytest.mark.parametrize("name", public())
def test_examples_run(name):
    value = public()[name]
    names = dict(vars(importlib.import_module(value.__module__)))
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for key, (_, text) in routines(value).items():
        if ">>>" in text and (not re.search("torch", text) or find_spec("torch")):
            runner.run(doctest.DocTestParser().get_doctest(text, dict(names), f"{name}.{key}", None, 0))
    assert not runner.summarize(verbose=False).failed


def test_mypy_is_strict_about_public_modules():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    strict = next(part["module"] for part in settings["overrides"] if part.get("disallow_untyped_defs"))
    homes = {value.__module__ for value in public().values()} | set(filter(installed, PACKAGES))
    loose = ("sweep_core.inversion", "sweep_core.execution.call_checks")
    assert not [
        m for m in homes if not any(fnmatch(m, each) or f"{m}.*" == each for each in strict) and not m.startswith(loose)
    ]
    roots = ROOT, ROOT / settings["mypy_path"]
    assert all(any((root / package / "py.typed").exists() for root in roots) for package in settings["packages"])
