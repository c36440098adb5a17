"""Solvers of all frameworks share their constructor, calls and docstrings."""

import importlib
import inspect
import re

import pytest

from sweep_core import Acoustic, DeviceError, MemoryOptions, OptionError, make_problem
from sweep_core.execution.propagator import Propagator

SOLVERS = [("sweep_torch", "PropTorch", "forward"), ("sweep_jax", "PropJax", "__call__")]


@pytest.fixture(params=SOLVERS, ids=lambda p: p[1])
def solver(request):
    """Return (class, docstrings of the constructor, a call and a Born run)."""
    package, name, call = request.param
    pytest.importorskip(package.removeprefix("sweep_"))
    kind = getattr(importlib.import_module(package), name)
    return kind, [inspect.getdoc(x) for x in (kind.__init__, getattr(kind, call), kind.born)]


def test_the_signature_has_the_arguments_of_make_problem(solver):
    names, stated = (list(inspect.signature(x).parameters) for x in (solver[0], make_problem))
    assert names[:5] == ["equation", "shape", "dh", "dt", "dev"]
    assert [n for n in names if n in stated and n != "memory"] == [n for n in stated if n != "memory"]
    assert names[-6:] == ["models", "impl", "memory", "cuda_options", "device", "check_finite"]


def test_both_frameworks_have_the_docstrings_of_the_base(solver):
    kind, texts = solver
    assert texts == [inspect.getdoc(getattr(Propagator, name)) for name in ("__init__", "forward", "born")]
    titles = ["Parameters", "Returns", "Raises", "Notes", "Examples"]
    assert re.findall(r"^(\w+)\n-+$", texts[1], re.MULTILINE) == titles
    stated = re.findall(r"^(\w+) :", texts[0], re.MULTILINE)
    assert stated == [n for n in inspect.signature(kind).parameters]


def test_a_device_may_be_stated_by_either_name(solver):
    prop = solver[0](Acoustic(), (9, 9), 10.0, 1e-3, device="cpu", pml_width=3)
    assert prop.executor.supports(prop.problem).ok
    with pytest.raises(OptionError, match="dev is 'cpu' and device is 'cpu'; give one of them"):
        solver[0](Acoustic(), (9, 9), 10.0, 1e-3, dev="cpu", device="cpu", pml_width=3)
    with pytest.raises(DeviceError, match="nowhere"):
        solver[0](Acoustic(), (9, 9), 10.0, 1e-3, device="nowhere", pml_width=3)


def test_a_solver_prints_its_arguments():
    torch = pytest.importorskip("torch")
    from sweep_torch import PropTorch

    options = {"free_surface": True, "pml_width": 12, "memory": MemoryOptions("ckpt"), "impl": "eager"}
    solver = PropTorch(Acoustic(spatial_order=8), (40, 50), (10.0, 20.0), 0.001, **options)
    answer = (
        "PropTorch(Acoustic(spatial_order=8), shape=(40, 50), dh=(10.0, 20.0), dt=0.001, source_type=['h1'], "
        "receiver_type=['h1'], pml_width=(0, 12, 12, 12), free_surface=True, impl='eager', memory='ckpt')"
    )
    assert repr(solver) == answer and answer in repr(torch.nn.Sequential(solver))
