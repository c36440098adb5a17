"""The contents and version of an installation, and the environments that the set-up of a tree does not change."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sweep_core import __version__
from sweep_core.cli import main
from sweep_core.native import library

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def names(requirements):
    return {re.split(r"[^\w-]", each)[0].replace("-", "_") for each in requirements}


def imported_packages(folder):
    """Yield the packages that modules of a folder import, at once or later."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield node.module.partition(".")[0]


@pytest.mark.parametrize("extra", ["torch", "jax"])
def test_a_backend_requires_the_imports_of_its_inversions(extra):
    installed = names(PROJECT["optional-dependencies"][extra]) | names(PROJECT["dependencies"])
    needed = {*imported_packages(ROOT / "sweep_core/inversion"), *imported_packages(ROOT / "sweep_core/command")}
    assert not needed - installed - sys.stdlib_module_names


def test_the_command_prints_the_version(capsys):
    with pytest.raises(SystemExit) as info:
        main(["--version"])
    assert info.value.code == 0 and capsys.readouterr().out == f"seismic-sweep {__version__}\n"
    assert PROJECT["version"] == __version__


def test_classifiers_name_all_pythons_from_the_oldest_on():
    named = [re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", each) for each in PROJECT["classifiers"]]
    minors = [int(match[1]) for match in named if match]
    assert minors and f">=3.{minors[0]}" == PROJECT["requires-python"]
    assert minors == list(range(minors[0], minors[0] + len(minors)))


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("file://{here}", "pip install --force-reinstall --no-deps {here}"),
        ("file://{here}/gone.whl", "pip install --force-reinstall --no-deps PATH, of a clone of SWEEP"),
        (None, "pip install --force-reinstall --no-deps PATH, of a clone of SWEEP"),
    ],
)
def test_the_advice_fits_the_installation(tmp_path, monkeypatch, url, advice):
    """pip copies the package without the sources beside it."""

    class Installed:
        def read_text(self, name):
            return url and json.dumps({"url": url.format(here=tmp_path), "dir_info": {}})

    assert library.build_command() == f"pip install --no-build-isolation --no-deps -e {ROOT}"
    monkeypatch.setattr(library, "__file__", str(tmp_path / "site-packages/sweep_core/native/library.py"))
    monkeypatch.setattr(library, "distribution", lambda name: Installed())
    assert library.build_command() == advice.format(here=tmp_path)


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
@pytest.mark.parametrize("editable", [True, False])
def test_make_replaces_no_installation_of_another_tree(tmp_path, editable):
    """VENV=none is the caller's own environment: its SWEEP may come from another tree."""
    tree, other, packages = (tmp_path / name for name in ("tree", "other", "packages"))
    for folder in (tree, other, packages / "seismic_sweep-0.1.0.dist-info"):
        folder.mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "CMakeLists.txt"):
        shutil.copy(ROOT / name, tree)
    for folder in ("native", "cmake"):
        (tree / folder).mkdir()
    info = packages / "seismic_sweep-0.1.0.dist-info"
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: seismic-sweep\nVersion: 0.1.0\n")
    origin = {"url": f"file://{other}", "dir_info": {"editable": editable}}
    # This pip only records its calls.
    (packages / "pip").mkdir()
    (packages / "pip/__init__.py").write_text("")
    (packages / "pip/__main__.py").write_text(f"open({str(tmp_path / 'calls')!r}, 'a').write('x')")
    command = ["make", "setup", "VENV=none", f"PYTHON={sys.executable}"]
    environment = os.environ | {"PYTHONPATH": str(packages)}
    for url in (f"file://{other}", f"file://{tree}"):
        (tmp_path / "calls").unlink(missing_ok=True)
        (info / "direct_url.json").write_text(json.dumps(origin | {"url": url}))
        run = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
        calls = len((tmp_path / "calls").read_text()) if (tmp_path / "calls").exists() else 0
        if url.endswith("other"):
            assert run.returncode and f"has seismic-sweep of {other}" in run.stderr and calls <= 1, run.stderr
        else:
            assert calls > 1, run.stderr
