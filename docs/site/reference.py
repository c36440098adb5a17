"""The pages of the API reference, one for each module that states an ``__all__``."""

import pkgutil
import tomllib
from importlib import import_module
from inspect import cleandoc, isclass, ismodule, isroutine
from pathlib import Path

import attrs

from sweep_core.execution.propagator import Propagator

ROOT = Path(__file__).parents[2]
INDEX = """API reference
=============

What the packages export. Names not listed here may change from one version to the next.

.. list-table::
   :widths: auto

{rows}

.. toctree::
   :hidden:

{pages}
"""


@attrs.frozen
class Page:
    """A module: what it exports that no module above it does, and what it hands on, as (name, where it is told)."""

    module: str
    own: dict[str, object]
    passed_on: list[tuple[str, str]]

    @property
    def title(self) -> str:
        """The first sentence of the module's docstring."""
        return cleandoc(import_module(self.module).__doc__ or "").split("\n\n")[0].replace("\n", " ")

    def text(self) -> str:
        head = [self.module, "=" * len(self.module), "", f".. automodule:: {self.module}", "   :no-members:", ""]
        table = [".. autosummary::", "   :nosignatures:", "", *(f"   {name}" for name in self.own), ""]
        also = ", ".join(f":py:obj:`~{home}.{name}`" for name, home in self.passed_on)
        entries = []
        for name, value in self.own.items():
            kind = "exception" if isclass(value) and issubclass(value, Exception) else "class" if isclass(value) else ""
            kind = kind or ("function" if isroutine(value) else "data")
            entries += [f".. auto{kind}:: {name}"]
            if kind == "class":
                entries += ["   :members:"]
                entries += ["   :inherited-members: Module", "   :class-doc-from: both"] * issubclass(value, Propagator)
            entries += ["   :no-value:"] * (kind == "data") + [""]
        return "\n".join([*head, *table, *[f"Also here: {also}.", ""] * bool(also), *entries])


PACKAGES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]["wheel"]["packages"]


def modules() -> list[str]:
    """Every public module of the packages that a wheel holds, those above before those within."""
    found = list(PACKAGES)
    for package in PACKAGES:
        inner = pkgutil.walk_packages(import_module(package).__path__, f"{package}.")
        found += [module.name for module in inner if _is_python(module)]
    hidden = {"__main__", "private", "plugin"}
    found = [name for name in found if not hidden & set(name.split("."))]
    return sorted(found, key=lambda name: (name.count("."), PACKAGES.index(name.split(".")[0]), name))


def _is_python(found: pkgutil.ModuleInfo) -> bool:
    """Compiled libraries lie beside modules, and are none."""
    spec = found.module_finder.find_spec(found.name, None)
    return bool(spec and (spec.origin or "").endswith(".py"))


def pages() -> list[Page]:
    """Of every module that states an ``__all__``. What several export is told where its name is shortest."""
    homes: dict[tuple[str, int], str] = {}
    result = []
    for module in modules():
        names = vars(import_module(module)).get("__all__", ())
        values = {name: getattr(import_module(module), name) for name in names}
        values = {name: value for name, value in values.items() if not ismodule(value)}
        keys = {name: (name, id(value)) for name, value in values.items()}  # aliases of one type are several
        own = {name: value for name, value in values.items() if homes.setdefault(keys[name], module) == module}
        passed_on = [(name, homes[keys[name]]) for name in values if name not in own]
        if own:
            result.append(Page(module, own, passed_on))
    return sorted(result, key=lambda page: ("." in page.module, PACKAGES.index(page.module.split(".")[0])))


def write_reference(folder: Path) -> None:
    """A page for each module and an index of them."""
    folder.mkdir(parents=True, exist_ok=True)
    found = pages()
    rows = "\n".join(f"   * - :doc:`{page.module}`\n     - {page.title}" for page in found)
    texts = {page.module: page.text() for page in found}
    texts["index"] = INDEX.format(rows=rows, pages="\n".join(f"   {page.module}" for page in found))
    for name, text in texts.items():
        (folder / f"{name}.rst").write_text(text)
