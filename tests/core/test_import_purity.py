"""Importing sweep_core, listing backends and building a problem load no heavy package and take little time."""

import ast
import os
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

HEAVY = {"torch", "jax", "jaxlib", "segyio", "matplotlib", "scipy", "zarr"}
USES = {
    "importing": "import sweep_core",
    "listing backends": "import sweep_core; sweep_core.backends(); sweep_core.equations()",
    "building a problem": "from sweep_core import *; hash(make_problem(Acoustic(8), (99, 99), 10.0, 1e-3)); ricker(9, 9, .001)",
    "a reference run": (
        "import numpy as np; from sweep_core import *; p = make_problem(Acoustic(), (9, 9), 10.0, 1e-3, pml_width=3); "
        "at = np.array([[3, 3]]); backend('reference').forward(p, Shots(np.ones(3), at, at), [np.full((9, 9), 2e3)])"
    ),
    "the command line": "import runpy; runpy.run_module('sweep_core', run_name='__main__')",
    "io, plot and processing": "import sweep_core.io, sweep_core.plot, sweep_core.processing",
    "certify": "import sweep_core.certify",
    "the laws": "import sweep_core.testing.__main__; sweep_core.testing.__main__.main(['sweep_core:SerialDistributor'])",
    "the backends' packages": "import sweep_torch, sweep_jax, sweep_torch.plugin, sweep_jax.plugin",
}


def modules_after(code) -> set:
    process = subprocess.run(
        [sys.executable, "-c", code + "\nimport sys; print('MODULES', *sys.modules)"], capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    return set(process.stdout.rsplit("MODULES", 1)[1].split())


@pytest.mark.parametrize("code", USES.values(), ids=USES)
def test_nothing_heavy_is_imported(code):
    assert not modules_after(code) & HEAVY


def test_the_core_imports_only_the_plugin_of_a_backend():
    light = {"sweep_torch", "sweep_torch.plugin", "sweep_jax", "sweep_jax.plugin"}
    result = modules_after(USES["a reference run"])
    assert {m for m in result if m.startswith(("sweep_torch", "sweep_jax"))} <= light


def test_backends_do_not_import_each_other():
    pytest.importorskip("torch")
    assert "sweep_jax" not in modules_after("import sweep_torch; sweep_torch.PropTorch")
    if modules_after("try:\n import jax\nexcept ImportError: pass") & {"jax"}:
        result = modules_after("import sweep_jax; sweep_jax.PropJax")
        assert not result & {"sweep_torch", "torch"}


CORE = Path(__file__).parents[2] / "sweep_core"
ORDER = (
    *(
        "errors",
        "typing",
        "_util",
        "numerics",
        "memory",
        "equations",
        "discretization",
        "problem",
        "acquisition",
        "plugins",
    ),
    *("native", "execution", "distribution", "misfit", "", "io", "processing", "plot", "inversion", "certify"),
    *("testing", "cli", "__main__"),
)
"""The rooms of sweep_core: each imports only those before it. The empty name is the package itself."""
UPWARD = {
    (
        "sweep_core.execution.propagator",
        "sweep_core.certify",
    ): "solver.certify() is a method; imported when it is called",
}
"""(module, module of a later room that it imports in a function): reason."""


def name_of(path) -> str:
    return ".".join(path.relative_to(CORE.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in sorted(CORE.rglob("*.py"))}


def modules_imported(name) -> dict[str, bool]:
    """Map each module of sweep_core that a module imports to whether the top level imports it."""
    path, results = MODULES[name], {}
    tree = ast.parse(path.read_text())
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = (
                [*package[: len(package) + 1 - node.level], *filter(None, [node.module])]
                if node.level
                else [node.module]
            )
            imports = [".".join(base) + "." + alias.name for alias in node.names]
            imports = [x if x in MODULES else x.rpartition(".")[0] for x in imports]
        else:
            imports = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for target in MODULES.keys() & set(imports):
            results[target] = results.get(target, False) or node in tree.body
    return results


def room_of(name) -> str:
    return name.removeprefix("sweep_core").strip(".").partition(".")[0]


def test_a_room_imports_only_rooms_before_it():
    upward = {}
    for name in MODULES:
        for target, at_once in modules_imported(name).items():
            if ORDER.index(room_of(target)) > ORDER.index(room_of(name)):
                upward[name, target] = at_once
    assert upward == dict.fromkeys(UPWARD, False)


def test_no_modules_import_each_other_in_a_circle():
    graph = {name: {t for t in modules_imported(name) if (name, t) not in UPWARD} for name in MODULES}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as circle:
        pytest.fail(" <- ".join(circle.args[1]))


def test_few_modules_stand_outside_of_the_rooms():
    assert {path.stem for path in CORE.glob("*.py")} <= {"__init__", "__main__", "errors", "typing"}
    assert {path.parent.name for path in CORE.glob("*/*.py")} <= set(ORDER)


PRIVATE = {
    "sweep_torch": r"\btorch(\.\w+)*\._\w|from torch\S* import _|\.fx\.experimental|\b_dynamo|functorch|\._\w*C\b|_cdata|_is_replica",
    "sweep_jax": r"\bjax(lib)?(\.\w+)*\._[a-z]|jax\.(core|extend|interpreters)\b|from jax import (core|extend|interpreters)|\bvma\b|axis_context",
}


def private_uses(package, text) -> list[str]:
    return [line.strip() for line in text.splitlines() if re.search(PRIVATE[package], line)]


@pytest.mark.parametrize("package", PRIVATE)
def test_private_names_of_a_framework_stand_in_one_file(package):
    """The search finds the private names in that file."""
    folder = Path(__file__).parents[2] / package
    results = {path.name: private_uses(package, path.read_text()) for path in sorted(folder.rglob("*.py"))}
    assert len(results.pop("private.py")) >= 3
    assert not {name: lines for name, lines in results.items() if lines}


@pytest.mark.parametrize(
    ("package", "planted"),
    [
        ("sweep_torch", "with torch._C._DisableFuncTorch():"),
        ("sweep_torch", "from torch._C import _functorch"),
        ("sweep_torch", "from torch.fx.experimental.proxy_tensor import get_proxy_mode"),
        ("sweep_torch", "if torch.autograd.forward_ad._current_level:"),
        ("sweep_jax", "from jax.core import Tracer"),
        ("sweep_jax", "from jax.interpreters import ad"),
        ("sweep_jax", "x = jax.extend.core.Primitive('x')"),
        ("sweep_jax", "from jax._src import core"),
    ],
)
def test_the_search_finds_a_private_name(package, planted):
    assert private_uses(package, f"import os\n{planted}\n") == [planted]


def test_importing_is_quick():
    """The best of several imports takes less than 0.3 s beside NumPy; a busy machine may take longer."""
    code = "import numpy, time; t = time.perf_counter(); import sweep_core; print(time.perf_counter() - t)"
    limit = 1.5 if os.environ.get("CI") else 0.3
    times = []
    for _ in range(8):
        times.append(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout))
        if times[-1] < limit:
            return
    pytest.fail(f"importing sweep_core took {min(times):.2f} s")
