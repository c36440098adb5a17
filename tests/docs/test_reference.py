"""The API reference has every name that a package exports, those of plugins/ included."""

import importlib
import importlib.util
from inspect import ismodule
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = [*ROOT.glob("sweep_*"), *ROOT.glob("plugins/*/sweep_*")]


def test_every_exported_name_has_a_task_of_the_reference():
    for package in ("torch", "jax", "optax", "segyio", "sweep_dask", "distributed"):
        pytest.importorskip(package)
    spec = importlib.util.spec_from_file_location("site_reference", ROOT / "docs/site/reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    tasks = {
        id(value): reference.task_of(page.module, name, value).page
        for page in reference.pages()
        for name, value in page.own.items()
    }
    modules = [importlib.import_module(package.name) for package in PACKAGES]
    exported = {(m.__name__, name): getattr(m, name) for m in modules for name in vars(m).get("__all__", ())}
    assert not [key for key, value in exported.items() if id(value) not in tasks and not ismodule(value)]
    assert tasks[id(exported["sweep_dask", "DaskDistributor"])] == "distribution"
    assert len(exported) > 60
