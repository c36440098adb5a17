"""An argument of another package is refused with its name in SWEEP."""

import importlib
import inspect
import re

import attrs
import pytest

from sweep_core import Acoustic, AcousticVariableDensity, Elastic, OptionError, ricker
from sweep_core._util import peer_names
from sweep_core.acquisition.snapshots import Snapshots
from sweep_core.errors import UnknownOptionError
from sweep_core.execution.propagator import Propagator
from sweep_core.memory import BoundaryOptions, CkptOptions, MemoryOptions
from sweep_core.memory.options import CUDAOptions

SOLVERS = [("sweep_torch", "PropTorch"), ("sweep_jax", "PropJax")]
GRID = (Acoustic(), (9, 9), 10.0, 1e-3)


@pytest.fixture(params=SOLVERS, ids=lambda p: p[1])
def kind(request):
    package, name = request.param
    pytest.importorskip(package.removeprefix("sweep_"))
    return getattr(importlib.import_module(package), name)


def refusal(call, *values, **arguments) -> str:
    with pytest.raises(UnknownOptionError) as info:
        call(*values, **arguments)
    assert isinstance(info.value, OptionError) and isinstance(info.value, TypeError)
    return str(info.value)


def test_a_solver_names_the_argument_of_sweep(kind):
    for name, answer in peer_names.SOLVER.items():
        assert refusal(kind, *GRID, **{name: 1}) == f"{kind.__name__} has no argument {name!r}; {answer}"


def test_a_call_and_a_born_run_name_the_argument_of_sweep(kind):
    solver = kind(*GRID, pml_width=3)
    for name, answer in peer_names.CALL.items():
        assert refusal(solver, **{name: 1}) == f"a call of {kind.__name__} has no argument {name!r}; {answer}"
        assert refusal(solver.born, **{name: 1}).endswith(f".born has no argument {name!r}; {answer}")


def test_a_misspelling_gets_the_nearest_name_and_others_get_all_names(kind):
    assert refusal(kind, *GRID, pml_widht=3).endswith("'pml_widht'; did you mean 'pml_width'?")
    assert "it has 'equation', 'shape', 'dh', 'dt'," in refusal(kind, *GRID, colour=3)
    solver = kind(*GRID, pml_width=3)
    assert refusal(solver, reciever_mask=1).endswith("did you mean 'receiver_mask'?")
    assert refusal(CkptOptions, chunk=3).endswith("did you mean 'chunks'?")


@pytest.mark.parametrize("equation", [Acoustic, AcousticVariableDensity, Elastic])
def test_an_equation_and_a_wavelet_name_the_argument_of_sweep(equation):
    for name, answer in peer_names.EQUATION.items():
        assert refusal(equation, **{name: 8}).endswith(answer)
    for name, answer in peer_names.RICKER.items():
        assert refusal(ricker, **{name: 8}) == f"ricker has no argument {name!r}; {answer}"


OPTIONS = BoundaryOptions, CkptOptions, CUDAOptions, MemoryOptions, Snapshots


def test_answers_name_existing_arguments():
    """Each `name=` of an answer is an argument of SWEEP. No refused name is an argument of its function."""
    import sweep_torch

    pytest.importorskip("torch")
    call = set(inspect.signature(sweep_torch.PropTorch.forward).parameters)
    solver = set(inspect.signature(Propagator).parameters)
    fields = {field.name for option in (*OPTIONS, Acoustic) for field in attrs.fields(option)}
    known = call | solver | fields | set(inspect.signature(ricker).parameters)
    for table in (peer_names.SOLVER, peer_names.CALL, peer_names.EQUATION, peer_names.RICKER):
        for answer in table.values():
            assert set(re.findall(r"\b(\w+)=", answer)) <= known, answer
    assert not solver & set(peer_names.SOLVER) and not call & set(peer_names.CALL)
    assert not set(inspect.signature(ricker).parameters) & set(peer_names.RICKER)


def test_all_arguments_of_deepwave_have_an_answer():
    deepwave = pytest.importorskip("deepwave")
    ours = {*inspect.signature(Propagator).parameters, "sources", "receivers", "receiver_mask"}
    assert set(inspect.signature(deepwave.scalar).parameters) - ours <= set(peer_names.CALL)


def test_all_arguments_of_sweep_solver_have_an_answer():
    base = pytest.importorskip("sweep.propagator.base")
    theirs = set(inspect.signature(base.PropBase).parameters) - {"kwargs"}
    assert theirs - set(inspect.signature(Propagator).parameters) <= set(peer_names.SOLVER)
