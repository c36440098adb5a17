"""PropTorch inside torch.compile(fullgraph=True)."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from laws import case, error, reference_record, shipped_equations, variant

torch = pytest.importorskip("torch")

from sweep_core import Elastic, Snapshots, UnsupportedError  # noqa: E402
from sweep_torch import PropTorch  # noqa: E402

impls = pytest.mark.parametrize("impl", ["c", "eager"])
equation = pytest.mark.parametrize("equation", shipped_equations())


@pytest.fixture(autouse=True)
def forget():
    """Reset Dynamo, which never retries a function that it has given up."""
    yield
    torch._dynamo.reset()


def leaves(example):
    return [torch.tensor(x, requires_grad=True) for x in (example.shots.wavelet, *example.models)]


def assert_compiled_is_the_same(misfit, example):
    """Compare value and gradients of a function of the wavelet and the models."""
    answers = []
    for function in (misfit, torch.compile(misfit, fullgraph=True)):
        arguments = leaves(example)
        value = function(*arguments)
        answers.append([value.detach(), *torch.autograd.grad(value, arguments)])
    for plain, compiled in zip(*answers, strict=True):
        assert error(compiled, plain.numpy()) < 1e-12


@equation
@impls
def test_compilation_does_not_change_record_and_gradients(impl, equation):
    setup = case(equation)
    solver, mask = PropTorch(**setup.arguments, impl=impl), torch.tensor(np.arange(15).reshape(3, 5) % 3 > 0)
    survey = torch.tensor(setup.shots.sources), torch.tensor(setup.shots.receivers)

    def misfit(wavelet, *models):
        return (solver(wavelet, *survey, models=[1.0 * m for m in models], receiver_mask=mask) ** 2).sum()

    assert_compiled_is_the_same(misfit, setup)


@equation
def test_a_module_with_parameters_compiles(equation):
    setup = case(equation)
    solver = PropTorch(**setup.arguments, impl="c", models=[torch.tensor(m) for m in setup.models])
    survey = [torch.tensor(x) for x in (setup.shots.wavelet, setup.shots.sources, setup.shots.receivers)]
    record = torch.compile(solver, fullgraph=True)(*survey)
    assert error(record, reference_record(setup)) < 1e-12
    record.sum().backward()
    assert all(p.grad.abs().max() > 0 for p in solver.parameters())
    copied = pickle.loads(pickle.dumps(solver))
    assert error(torch.compile(copied, fullgraph=True)(*survey), reference_record(setup)) < 1e-12


@equation
@impls
def test_a_compiled_function_may_be_transformed(impl, equation):
    """Dynamo gives up functions under torch.func, and would compile their inner frames with fixed addresses."""
    setup = case(equation)
    solver = PropTorch(**setup.arguments, impl=impl)
    first, *rest = map(torch.tensor, setup.models)
    survey = [torch.tensor(x) for x in (setup.shots.wavelet, setup.shots.sources, setup.shots.receivers)]

    def misfit(model):
        return (solver(*survey, models=[model, *rest]) ** 2).sum()

    expected = torch.func.grad(misfit)(first)
    for _ in range(3):
        assert torch.equal(torch.func.grad(torch.compile(misfit))(first), expected)


@impls
def test_dynamo_compiles_no_run_and_no_backward(impl, monkeypatch):
    """This includes a gradient under torch.func: Dynamo would treat an address as a constant."""
    entries, plain = set(), torch._dynamo.convert_frame._compile

    def note_entry(code, *args, **kwargs):
        entries.add(Path(code.co_filename).name)
        return plain(code, *args, **kwargs)

    monkeypatch.setattr(torch._dynamo.convert_frame, "_compile", note_entry)
    setup = case()
    solver = PropTorch(**setup.arguments, impl=impl)
    survey = [torch.tensor(x) for x in (setup.shots.wavelet, setup.shots.sources, setup.shots.receivers)]
    gradient = torch.func.grad(lambda model: (solver(*survey, models=[model]) ** 2).sum())

    def slope(model):
        return gradient(model)

    models = torch.tensor(setup.models[0]) * torch.tensor([1.0, 1.01])[:, None, None]
    expected = torch.func.vmap(slope)(models)
    assert torch.equal(torch.func.vmap(torch.compile(slope))(models), expected)
    assert "prop.py" in entries and not entries & {"operators.py", "native.py", "propagate.py", "eager.py"}


@impls
def test_vmap_inside_a_compiled_function_gives_the_same(impl):
    """Records and gradients are mapped over wavelets and over models with the batch on their last axis."""
    setup = case(Elastic, nt=12)
    solver = PropTorch(**setup.arguments, impl=impl)
    survey = [torch.tensor(x) for x in (setup.shots.sources, setup.shots.receivers)]

    def misfit(wavelet, *models):
        batch = torch.stack([2 * wavelet, wavelet]), [torch.stack([m, 0.99 * m], -1) for m in models]
        return (torch.vmap(lambda w, m: solver(w, *survey, models=m), in_dims=(0, -1))(*batch) ** 2).sum()

    assert_compiled_is_the_same(misfit, setup)


@impls
def test_forward_mode_is_refused(impl):
    setup = case()
    solver = PropTorch(**setup.arguments, impl=impl)
    survey = [torch.tensor(x) for x in (setup.shots.wavelet, setup.shots.sources, setup.shots.receivers)]

    def tangent(vp, dvp):
        return torch.func.jvp(lambda m: solver(*survey, models=[m]), (vp,), (dvp,))[1]

    with pytest.raises(Exception, match="forward mode inside torch.compile is not supported"):
        torch.compile(tangent, fullgraph=True)(torch.tensor(setup.models[0]), torch.tensor(setup.direction()[0]))


@impls
@pytest.mark.parametrize("argument", ["sources", "receivers"])
def test_derivatives_in_positions_are_refused(impl, argument):
    setup = variant("between nodes")
    solver = PropTorch(**setup.arguments, impl=impl)
    survey = {name: torch.tensor(getattr(setup.shots, name)) for name in ("wavelet", "sources", "receivers")}
    models, leaf = [torch.tensor(m) for m in setup.models], survey[argument].clone().requires_grad_()

    def record(positions):
        return solver(**(survey | {argument: positions}), models=models)

    with pytest.raises(Exception, match="no derivative in positions"):
        torch.compile(record, fullgraph=True)(leaf)


def test_born_is_refused():
    setup = case()
    solver = PropTorch(**setup.arguments, impl="c")
    survey = [torch.tensor(x) for x in (setup.shots.wavelet, setup.shots.sources, setup.shots.receivers)]
    models = [torch.tensor(m) for m in setup.models]
    with pytest.raises(Exception, match="born is not supported inside torch.compile"):
        torch.compile(solver.born, fullgraph=True)(*survey, models, models=models)


def test_snapshots_are_refused():
    setup = case()
    solver = PropTorch(**setup.arguments, impl="c")
    survey = [torch.tensor(x) for x in (setup.shots.wavelet, setup.shots.sources, setup.shots.receivers)]
    with pytest.raises(Exception, match="snapshots are not supported inside torch.compile"):
        torch.compile(solver, fullgraph=True)(
            *survey, models=[torch.tensor(m) for m in setup.models], snapshots=Snapshots(["h1"])
        )


@impls
@pytest.mark.parametrize("strict", [True, False])
def test_export_is_refused(impl, strict):
    """A program in a file would need to find its solver copied."""
    setup = case(nt=8)
    solver = PropTorch(**setup.arguments, impl=impl, models=[torch.tensor(m) for m in setup.models])
    survey = tuple(torch.tensor(x) for x in (setup.shots.wavelet, setup.shots.sources, setup.shots.receivers))
    with pytest.raises(Exception, match="torch.export is not supported"):
        torch.export.export(solver, survey, strict=strict)


def test_a_program_runs_only_its_own_solver():
    """A program from a file could run the first solver of another process."""
    setup = case(nt=8)
    arguments = [torch.tensor(x) for x in (setup.shots.wavelet, setup.shots.sources, setup.shots.receivers)]
    solver = PropTorch(**setup.arguments, impl="c")
    for number in (0, solver._number + 1):
        with pytest.raises(
            UnsupportedError, match=f"uses solver {number}, which no longer exists or belongs to another"
        ):
            torch.ops.sweep.record(*arguments, None, [torch.tensor(m) for m in setup.models], number, 8, 1)
