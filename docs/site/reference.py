"""The pages of the API reference: one for each task, with the names of every module that states an ``__all__``."""

import pkgutil
import tomllib
from importlib import import_module
from inspect import cleandoc, isclass, ismodule, isroutine
from pathlib import Path

import attrs

from sweep_core.execution.propagator import Propagator

ROOT = Path(__file__).parents[2]

USERS, AUTHORS = "For users", "For authors of equations, backends and observers"


@attrs.frozen
class Task:
    """A page of the reference: the names and the modules that belong to a task."""

    page: str
    title: str
    summary: str
    audience: str
    names: str
    """Names of `sweep_core`, `sweep_torch` or `sweep_jax`; those of modules follow the module."""
    modules: str = ""
    """Modules, with those inside them."""


TASKS = (
    Task("solvers", "Solvers", "Model shots and differentiate through them.", USERS,
         "PropTorch PropJax empty_pool Snapshots ricker sampled"),
    Task("wave-equations", "Wave equations", "Choose the physics.", USERS,
         "Acoustic AcousticVariableDensity AcousticVTI AcousticVTISecondOrder AcousticTTI AcousticBorn "
         "Elastic ElasticVTI ElasticOrthorhombic ElasticTTI ElasticLame ElasticImpedance ElasticLogarithm SH "
         "ViscoAcoustic ViscoElastic ViscoElasticVTI "
         "equations",
         "sweep_core.numerics"),
    Task("memory", "Memory of gradients", "Choose how a gradient remembers the forward run.", USERS,
         "MemoryOptions CkptOptions BoundaryOptions CUDAOptions Estimate Cost MemoryUse"),
    Task("inversion", "Inversion", "Misfits, optimisers, stages, images.", USERS,
         "Torch Optax least_squares", "sweep_core.inversion sweep_core.misfit"),
    Task("data", "Data", "Read, write and process gathers and models.", USERS,
         "", "sweep_core.io sweep_core.processing"),
    Task("pictures", "Pictures", "Draw models, gathers and wavefields.", USERS, "", "sweep_core.plot"),
    Task("certify", "Certify a set-up", "Look for silent mistakes.", USERS, "", "sweep_core.certify"),
    Task("distribution", "Many processes and devices", "Share out shots.", USERS,
         "ShotPlan ParallelTorch ParallelJax parallel",
         "sweep_core.distribution sweep_torch.distribution sweep_jax.distribution sweep_dask"),
    Task("errors", "Errors and warnings", "Catch a refusal.", USERS, ""),
    Task("types", "Types", "Read the annotations.", USERS, "", "sweep_core.typing"),
    Task("sweep-solver", "Scripts of sweep-solver", "Run them with changed imports.", USERS, "", "sweep_compat"),
    Task("backends", "Backends", "Write and use an executor.", AUTHORS, "",
         "sweep_core sweep_torch sweep_jax sweep_core.plugins"),
    Task("new-equations", "Equations of your own", "State fields, parameters and tables.", AUTHORS,
         "Equation EquationRecord Field Parameter", "sweep_core.equations"),
    Task("observers", "Observers", "Follow an inversion.", AUTHORS, "Observation ObserverRecord"),
    Task("compiled", "Compiled code", "Call the native libraries.", AUTHORS, "", "sweep_core.native"),
    Task("strategies", "Memory strategies", "Plan and run a history.", AUTHORS, "", "sweep_core.memory"),
    Task("laws", "Laws", "Test an equation or a backend.", AUTHORS, "", "sweep_core.testing"),
    Task("command-line", "Command line", "Start the command from Python.", AUTHORS, "", "sweep_core.cli"),
)  # fmt: skip

PACKAGES = [
    *tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]["wheel"]["packages"],
    *sorted(folder.name for folder in ROOT.glob("plugins/*/sweep_*")),
]
"""The packages of a wheel, and those of plugins/."""


@attrs.frozen
class Page:
    """A module: the names that no module above it exports, and the names that it passes on, with their homes."""

    module: str
    own: dict[str, object]
    passed_on: list[tuple[str, str]]

    @property
    def title(self) -> str:
        """The first sentence of the module's docstring."""
        return cleandoc(import_module(self.module).__doc__ or "").split("\n\n")[0].replace("\n", " ")


def modules() -> list[str]:
    """Return every public module of the packages, packages before their modules."""
    names = list(PACKAGES)
    for package in PACKAGES:
        inner = pkgutil.walk_packages(import_module(package).__path__, f"{package}.")
        names += [module.name for module in inner if _is_python(module)]
    hidden = {"__main__", "private", "plugin"}
    names = [name for name in names if not hidden & set(name.split("."))]
    return sorted(names, key=lambda name: (name.count("."), PACKAGES.index(name.split(".")[0]), name))


def _is_python(module: pkgutil.ModuleInfo) -> bool:
    """Return whether a module is Python; compiled libraries lie beside modules."""
    spec = module.module_finder.find_spec(module.name, None)
    return bool(spec and (spec.origin or "").endswith(".py"))


def pages() -> list[Page]:
    """Return a page for every module with an ``__all__``. A name of several modules belongs to the shortest one."""
    homes: dict[tuple[str, int], str] = {}
    result = []
    for module in modules():
        names = vars(import_module(module)).get("__all__", ())
        values = {name: getattr(import_module(module), name) for name in names}
        values = {name: value for name, value in values.items() if not ismodule(value)}
        keys = {name: (name, id(value)) for name, value in values.items()}  # one type may have several aliases
        own = {name: value for name, value in values.items() if homes.setdefault(keys[name], module) == module}
        passed_on = [(name, homes[keys[name]]) for name in values if name not in own]
        if own:
            result.append(Page(module, own, passed_on))
    return sorted(result, key=lambda page: ("." in page.module, PACKAGES.index(page.module.split(".")[0])))


def _kind(value: object) -> str:
    if isclass(value):
        return "exception" if issubclass(value, Exception) else "class"
    return "function" if isroutine(value) else "data"


def task_of(module: str, name: str, value: object) -> Task:
    """Return the task of a public name: by its name, by its kind if it is an error of the core, or by its module."""
    if module == "sweep_core" and _kind(value) == "exception":
        return next(task for task in TASKS if task.page == "errors")
    if module in ("sweep_core", "sweep_torch", "sweep_jax", "sweep_core.memory", "sweep_core.distribution"):
        for task in TASKS:
            if name in task.names.split():
                return task
    while module:
        for task in TASKS:
            if module in task.modules.split():
                return task
        module = module.rpartition(".")[0]
    raise LookupError(f"{name} belongs to no task of the API reference; add its module to TASKS")


def _entries(names: dict[str, object]) -> list[str]:
    lines = []
    for name, value in names.items():
        kind = _kind(value)
        lines += [f".. auto{kind}:: {name}"]
        if kind == "class":
            lines += ["   :members:"]
            lines += ["   :inherited-members: Module", "   :class-doc-from: both"] * issubclass(value, Propagator)
        lines += ["   :no-value:"] * (kind == "data") + [""]
    return lines


def _heading(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def _section(page: Page, names: dict[str, object], described: bool) -> list[str]:
    """Return the lines of a module on the page of a task; `described` includes the docstring of the module."""
    lines = _heading(page.module, "-")
    lines += [f".. automodule:: {page.module}", "   :no-members:", ""] if described else [page.title, ""]
    lines += [f".. py:currentmodule:: {page.module}", ""]
    lines += [".. autosummary::", "   :nosignatures:", "", *(f"   {name}" for name in names), ""]
    if described and page.passed_on:
        lines += [f"Also here: {', '.join(f':py:obj:`~{home}.{name}`' for name, home in page.passed_on)}.", ""]
    return lines + _entries(names)


def _index(names: dict[str, list[str]]) -> list[str]:
    """Return the lines of the index; `names` are links, by the page of their task."""
    lines = [*_heading("API reference", "="), "The packages export these names. Other names may change.", ""]
    for audience in (USERS, AUTHORS):
        tasks = [task for task in TASKS if task.audience == audience and names[task.page]]
        lines += [*_heading(audience, "-"), ".. list-table::", "   :widths: 25 75", ""]
        for task in tasks:
            lines += [f"   * - :doc:`{task.title} <{task.page}>`"]
            lines += [f"     - {task.summary} {', '.join(names[task.page])}"]
        lines += ["", ".. toctree::", "   :hidden:", f"   :caption: {audience}", ""]
        lines += [*(f"   {task.page}" for task in tasks), ""]
    return lines


def write_reference(folder: Path) -> None:
    """Write a page for each task and an index of them, by audience."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {task.page: [*_heading(task.title, "="), task.summary, ""] for task in TASKS}
    links: dict[str, list[str]] = {task.page: [] for task in TASKS}
    for page in pages():
        names: dict[str, dict[str, object]] = {}
        for name, value in page.own.items():
            names.setdefault(task_of(page.module, name, value).page, {})[name] = value
        home = max(names, key=lambda task: len(names[task]))
        for task, own in names.items():
            texts[task] += _section(page, own, described=task == home)
            links[task] += [f":py:obj:`~{page.module}.{name}`" for name in own]
    for name in filter(links.get, texts):
        (folder / f"{name}.rst").write_text("\n".join(texts[name]))
    (folder / "index.rst").write_text("\n".join(_index(links)))
