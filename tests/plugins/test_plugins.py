"""Third-party packages (a backend, equations, broken plugins) that SWEEP finds by their entry points."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from strangers import install

from sweep_core import Acoustic, native

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
LAWS, VARIANTS = (ROOT / "tests/equations" / name for name in ("test_laws.py", "test_variants.py"))
PULLBACK = ROOT / "tests/backends/test_pullback.py"


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Return a function that runs Python with the named packages installed and returns its output."""
    products = {}

    def run(names, *arguments):
        if names not in products:
            products[names] = tmp_path_factory.mktemp("packages")
            install(products[names], names)
        paths = [str(products[names]), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def pytest_in(python, names, *arguments) -> int:
    """Return the number of tests that passed; with ``--fast`` those of the pairwise covering."""
    printed = python(names, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, arguments))
    return int(re.search(r"(\d+) passed", printed)[1])


@pytest.fixture
def compiled():
    support = native.supports(Acoustic(), 2, "cpu")
    if not support and not os.environ.get("SWEEP_REQUIRE_NATIVE"):
        pytest.skip(support.reason)


def test_a_third_party_backend_passes_the_laws(python, compiled):
    """laws_tiny.py has the variants of the problem."""
    assert pytest_in(python, ("tiny",), "--fast", LAWS, PULLBACK, "-k", "tiny") > 85


def test_a_third_party_backend_passes_its_own_tests(python, compiled):
    assert pytest_in(python, ("tiny", "damped"), HERE / "laws_tiny.py") > 5


BUILT = ("tiny", "damped/Damped")
"""Packages with the library that docs/howto/compile-equation.md builds; other equations are compiled on first use."""
VTI, VISCO, TILTED = (("vti",), ("visco",), ("tilted",))


@pytest.mark.slow
def test_a_third_party_equation_passes_the_laws(python, compiled):
    """The equation is compiled, in a third-party backend too. JAX compiles for seconds and has separate tests."""
    selection = "damped and (torch-c or test_laws and (tiny or torch-eager and (law2 or law3))) and not cuda"
    assert pytest_in(python, BUILT, "--fast", LAWS, VARIANTS, "-k", selection) > 120


def test_a_third_party_equation_passes_its_own_tests(python, compiled):
    assert pytest_in(python, BUILT, HERE / "laws_damped.py") > 15


SOLID = ["vp=3000:4000", "rho=2000:2600"]


@pytest.mark.parametrize(
    ("names", "name", "ranges"),
    [
        pytest.param(VTI, "vti_elastic", SOLID, marks=pytest.mark.slow, id="vti_elastic"),
        # Fields that exist within a step and depend on each other; no equation of SWEEP has such fields.
        pytest.param(TILTED, "tilted", ["vp=3000:4000"], id="tilted"),
    ],
)
def test_the_command_certifies_third_party_equations(python, compiled, names, name, ranges):
    """The equations are compiled, with other parameter ranges than their own."""
    printed = python(names, "-m", "sweep_core.testing", name, "--backend", "torch-c", *ranges)
    assert " 0 broken" in printed and int(re.search(r"(\d+) held", printed)[1]) > 30


@pytest.mark.slow
@pytest.mark.parametrize(("names", "laws", "few"), [(VTI, "vti", 15), (VISCO, "visco", 10), (TILTED, "tilted", 25)])
def test_third_party_equations_equal_closed_forms(python, compiled, names, laws, few):
    assert pytest_in(python, names, HERE / f"laws_{laws}.py") > few


def test_an_equation_without_library_and_compiler_runs_eager(python, monkeypatch, tmp_path):
    """explain() gives both reasons."""
    pytest.importorskip("torch")
    code = """
from sweep_core import equations
from sweep_torch import PropTorch
solver = PropTorch(equations()["damped"](), shape=(20, 20), dh=10.0, dt=0.001)
print(solver.impl, solver.explain())
"""
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setenv("SWEEP_CACHE_DIR", str(tmp_path))
    output = python(("damped",), "-c", code)
    assert output.startswith("eager") and "package sweep_damped holds no libsweep_cpu" in output
    assert "the compiler no-such-compiler does not run" in output
    lines = python(("damped",), "-m", "sweep_core").splitlines()
    assert any(line.split()[:3] == ["cpu", "of", "sweep_damped"] and "holds no" in line for line in lines)


TAG = """
from importlib.metadata import distribution
print(next(line for line in distribution("sweep-damped").read_text("WHEEL").splitlines() if line.startswith("Tag")))
"""


@pytest.mark.parametrize(("names", "pure"), [(BUILT, False), (("tiny", "damped"), True)], ids=["built", "not built"])
def test_a_wheel_with_a_library_is_tagged_for_one_platform(python, compiled, names, pure):
    assert python(names, "-c", TAG).strip().endswith("-none-any") == pure


REPORT = """
import json, sys, sweep_core
report = {s.name: [s.available, s.reason] for s in sweep_core.backends()}
print(json.dumps([report, sorted(sweep_core.equations()), sorted(sys.modules)]))
"""


def test_listing_plugins_imports_no_backend(python):
    report, equations, modules = json.loads(python(("tiny", "damped"), "-c", REPORT))
    assert report["tiny"] == [True, ""] and "damped" in equations
    assert "sweep_tiny.plugin" in modules and "sweep_tiny.executor" not in modules


REASONS = {
    "raises": "RuntimeError: the accelerator's driver is too old",
    "misspelt": "unknown hook 'sweep_backend'",
    "nonsense": "TypeError: sweep_backends returned 'nonsense'; expected BackendRecord",
    "missing": "ModuleNotFoundError: No module named 'sweep_broken.missing'",
    "needy": "requires a_module_that_nobody_has, which is not installed",
}
EVERYTHING = ("broken", "tiny", "damped")


def test_broken_plugins_are_reported_and_others_work(python):
    report, equations, _ = json.loads(python(EVERYTHING, "-c", REPORT))
    for name, reason in REASONS.items():
        available, inputs = report[name]
        assert not available and reason in inputs
    assert report["reference"][0] and report["tiny"][0]
    assert {"acoustic", "damped"} <= set(equations) and "absent" not in equations


def test_broken_plugins_are_reported_on_the_command_line(python):
    lines = python(EVERYTHING, "-m", "sweep_core").splitlines()
    for name, reason in REASONS.items():
        assert [line for line in lines if line.split()[:1] == [name] and reason in line], name
    assert [line for line in lines if line.split()[:1] == ["absent"] and "Error" in line]


BROKEN_BACKENDS = (*REASONS, "late")
ERRORS = f"""
import json, sweep_core
errors = {{}}
for name in {BROKEN_BACKENDS}:
    try:
        sweep_core.backend(name)
    except sweep_core.PluginError as error:
        errors[name] = str(error)
print(json.dumps(errors))
"""


def test_the_error_for_a_broken_backend_gives_the_reason(python):
    errors = json.loads(python(EVERYTHING, "-c", ERRORS))
    for name in BROKEN_BACKENDS:
        assert REASONS.get(name, "failed to load: RuntimeError: the accelerator's driver is too old") in errors[name]


def test_only_the_first_plugin_of_a_name_is_used(python):
    """Two entry points have the same name, and one has the name of SWEEP."""
    code = """
from importlib.metadata import EntryPoint
from sweep_core.plugins import discovery
names = [("tiny", "sweep_tiny.plugin"), ("tiny", "sweep_damped"), ("sweep_core", "sweep_tiny")]
discovery.entry_points = lambda group: [EntryPoint(*name, group) for name in names]
print(sorted(s.name for s in discovery.backends() if s.available))
"""
    assert python(EVERYTHING, "-c", code).strip() == "['reference', 'tiny']"
