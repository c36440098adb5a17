"""PropTorch is a regular nn.Module: parameters, state_dict, to, double, pickling, devices."""

import copy
import io
import pickle

import numpy as np
import pytest
from laws import case, error, executors, reference_born, reference_record, shipped_equations

from sweep_core import Acoustic, DeviceError, DtypeError, OptionError, ShapeError, SweepError

torch = pytest.importorskip("torch")
from sweep_torch import PropTorch, TorchExecutor  # noqa: E402

impls = pytest.mark.parametrize("entry", executors("torch-c", "torch-eager"))


def shots_of(example):
    return torch.tensor(example.shots.wavelet), example.shots.sources, example.shots.receivers


def solver(example, **options):
    return PropTorch(**(example.arguments | options))


@pytest.fixture(params=shipped_equations())
def owner(request):
    """A case, and a solver that owns its models."""
    setup = case(request.param)
    return setup, solver(setup, models=[torch.tensor(m) for m in setup.models])


def test_models_at_construction_are_parameters(owner):
    setup, prop = owner
    names = [p.name for p in setup.problem.equation.parameters]
    assert [name for name, _ in prop.named_parameters()] == names == list(prop.state_dict())
    for name, model in zip(names, setup.models, strict=True):
        parameter = getattr(prop, name)
        assert isinstance(parameter, torch.nn.Parameter) and parameter.requires_grad
        np.testing.assert_array_equal(parameter.detach(), model)
    assert error(prop(*shots_of(setup)), reference_record(setup)) < 1e-12


def test_each_parameter_has_the_gradient_of_its_model(owner):
    setup, prop = owner
    prop(*shots_of(setup)).square().sum().backward()
    leaves = [torch.tensor(m, requires_grad=True) for m in setup.models]
    record = solver(setup)(*shots_of(setup), models=leaves)
    for parameter, expected in zip(prop.parameters(), torch.autograd.grad(record.square().sum(), leaves), strict=True):
        assert expected.any() and torch.equal(parameter.grad, expected)


def test_a_parameter_is_used_without_a_copy():
    setup = case()
    vp = torch.nn.Parameter(torch.tensor(setup.models[0]))
    assert solver(setup, models=[vp]).vp is vp
    plain = torch.tensor(setup.models[0])
    own = solver(setup, models=[plain]).vp
    assert own.data_ptr() != plain.data_ptr(), "a plain tensor is copied, so that a step does not change the caller's"


def test_without_models_there_are_no_parameters():
    setup = case()
    prop = solver(setup)
    assert not list(prop.parameters()) and not prop.state_dict()
    with pytest.raises(OptionError, match="models are missing; pass models="):
        prop(*shots_of(setup))


def test_an_optimiser_lowers_the_misfit(owner):
    setup, prop = owner
    observed = prop(*shots_of(setup)).detach()
    with torch.no_grad():
        prop.vp.mul_(0.98)
    optimiser, losses = torch.optim.Adam(prop.parameters(), lr=5.0), []
    for _ in range(8):
        optimiser.zero_grad()
        loss = (prop(*shots_of(setup)) - observed).square().sum()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_models_of_a_call_replace_parameters(owner):
    setup, prop = owner
    others = [torch.tensor(m * 1.01) for m in setup.models]
    arguments = prop(*shots_of(setup), models=others)
    assert torch.equal(arguments, solver(setup)(*shots_of(setup), models=others))
    assert not torch.equal(arguments, prop(*shots_of(setup)))


def test_a_state_dict_restores_the_models(owner):
    setup, prop = owner
    stream = io.BytesIO()
    torch.save(prop.state_dict(), stream)
    stream.seek(0)
    other = solver(setup, models=[1.01 * p.detach() for p in prop.parameters()])
    other.load_state_dict(torch.load(stream))
    assert torch.equal(other(*shots_of(setup)), prop(*shots_of(setup)))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
def test_copies_compute_the_same_and_share_no_models(owner, duplicate):
    setup, prop = owner
    prop(*shots_of(setup))
    other = duplicate(prop)
    assert torch.equal(other(*shots_of(setup)), prop(*shots_of(setup))) and other.problem == prop.problem
    with torch.no_grad():
        for ours, theirs in zip(prop.parameters(), other.parameters(), strict=True):
            theirs.add_(1.0)
            assert not torch.equal(theirs, ours)


def test_float_and_double_change_the_dtype(owner):
    setup, prop = owner
    prop.float()
    assert {p.dtype for p in prop.parameters()} == {torch.float32}
    wavelet, sources, receivers = shots_of(setup)
    assert prop(wavelet.float(), sources, receivers).dtype == torch.float32
    prop.double()
    assert prop(wavelet, sources, receivers).dtype == torch.float64


@pytest.mark.parametrize("models", [False, True], ids=["empty", "with models"])
def test_to_moves_the_solver(models):
    setup = case()
    prop = solver(setup, models=[torch.tensor(m) for m in setup.models] if models else None)
    assert prop.device == torch.device("cpu")
    assert prop.to("meta") is prop and prop.device.type == "meta" and prop.impl == "eager"
    with pytest.raises(DeviceError, match="wavelet is on cpu, the solver computes on meta"):
        prop(*shots_of(setup), models=[torch.tensor(m) for m in setup.models])


def test_train_and_eval_and_hooks_change_nothing(owner):
    setup, prop = owner
    entries = []
    prop.register_forward_hook(lambda module, arguments, record: entries.append(record.shape))
    assert torch.equal(prop.eval()(*shots_of(setup)), prop.train()(*shots_of(setup))) and len(entries) == 2


def test_a_solver_works_inside_another_module(owner):
    setup, prop = owner

    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.prop, self.scale = prop, torch.nn.Parameter(torch.ones(()).double())

        def forward(self, *shots):
            return self.scale * self.prop(*shots)

    outer = Scaled()
    outer(*shots_of(setup)).square().sum().backward()
    assert set(outer.state_dict()) == {"scale", *(f"prop.{p.name}" for p in setup.problem.equation.parameters)}
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in outer.parameters())


@impls
def test_explain_names_the_implementation(entry):
    setup = case()
    executor = entry.executor_for(setup.problem)
    prop = solver(setup, impl=executor.impl)
    assert prop.impl == executor.impl and prop.explain().startswith(f"impl='{executor.impl}': ")


def test_auto_uses_compiled_code_if_possible():
    setup = case()
    support = TorchExecutor("c").supports(setup.problem)
    assert solver(setup).impl == ("c" if support else "eager")
    assert support.reason.split(":")[-1].strip() in solver(setup).explain()


def test_time_returns_the_times_of_samples():
    dt = case().arguments["dt"]
    np.testing.assert_allclose(solver(case()).time("h1", 3), [0, dt, 2 * dt])


# --- devices ----------------------------------------------------------------------------------------------------------


def test_equation_and_dev_may_name_the_same_device():
    setup = case()
    equation = Acoustic(4, device="cpu")
    assert solver(setup, equation=equation).device == solver(setup, equation=equation, dev="cpu").device
    assert solver(setup, equation=equation, dev=torch.device("cpu")).device == torch.device("cpu")


def test_models_decide_the_device_by_default():
    setup = case()
    assert solver(setup, models=[torch.tensor(setup.models[0], device="meta")]).device.type == "meta"


CONTRADICTIONS = {
    "dev and equation": ({"equation": Acoustic(4, device="meta"), "dev": "cpu"}, "dev is 'cpu' and the equation's"),
    "dev and models": (
        {"dev": "cpu", "models": [torch.ones(19, 23, device="meta")]},
        "model vp is on meta, the solver computes on cpu",
    ),
    "equation and models": (
        {"equation": Acoustic(4, device="meta"), "models": [torch.ones(19, 23)]},
        "model vp is on cpu, the solver computes on meta",
    ),
}


@pytest.mark.parametrize(("options", "message"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_contradictory_devices_are_refused(options, message):
    with pytest.raises(DeviceError, match=message):
        solver(case(), **options)


@pytest.mark.parametrize("dev", ["cuda:7", "cuda:99", "quantum", 7, "cpu:x"], ids=repr)
def test_a_missing_device_is_refused(dev):
    with pytest.raises(DeviceError, match=f"device {dev!r} cannot be used: .*; 'cpu' is always available"):
        solver(case(), dev=dev)


def test_nothing_is_moved_silently():
    setup, prop = case(), solver(case())
    model = torch.tensor(setup.models[0])
    wavelet, sources, receivers = shots_of(setup)
    with pytest.raises(DeviceError, match="model 0 is on meta, the solver computes on cpu; move it there first"):
        prop(wavelet, sources, receivers, models=[model.to("meta")])
    with pytest.raises(DeviceError, match="wavelet is on meta"):
        prop(wavelet.to("meta"), sources, receivers, models=[model])


@pytest.mark.parametrize(
    ("models", "kind"),
    [
        ([torch.ones(19, 23, dtype=torch.int64)], SweepError),
        ([np.ones((19, 23))], SweepError),
        (torch.ones(19, 23), SweepError),
        ([], ShapeError),
        ([torch.ones(19, 23)] * 2, ShapeError),
        ([torch.ones(23, 19)], ShapeError),
        ([torch.ones(19, 23, dtype=torch.float16)], SweepError),
    ],
    ids=["integers", "numpy", "bare", "none", "two", "transposed", "half"],
)
def test_bad_models_are_refused_at_construction(models, kind):
    with pytest.raises(kind, match="model"):
        solver(case(), models=models)


# --- the executor -----------------------------------------------------------------------------------------------------


@impls
def test_the_executor_takes_numpy_and_tensors_alike(entry):
    example = case()
    executor = entry.executor_for(example.problem)
    tensors = [torch.tensor(m) for m in example.models]
    assert torch.equal(
        executor.forward(example.problem, example.shots, example.models),
        executor.forward(example.problem, example.shots, tensors),
    )


@impls
def test_the_executor_does_not_change_its_arguments(entry):
    setup, observed = case(), case().noise()
    tensors = [torch.tensor(m, requires_grad=True) for m in setup.models]
    remaining = [t.detach().clone() for t in tensors]
    misfit, gradients = entry.executor_for(setup.problem).misfit_and_gradient(
        setup.problem, setup.shots, tensors, observed
    )
    assert not misfit.requires_grad and not any(g.requires_grad for g in gradients)
    assert all(t.grad is None and torch.equal(t.detach(), k) for t, k in zip(tensors, remaining, strict=True))


@impls
def test_the_executor_differentiates_inside_no_grad(entry):
    setup = case()
    with torch.no_grad():
        _, gradients = entry.misfit_and_gradient(setup, setup.noise())
    assert np.abs(gradients[0]).max() > 0


@impls
def test_perturbations_are_tensors_of_the_device(entry):
    setup = case()
    prop = solver(setup, impl=entry.executor_for(setup.problem).impl, models=[torch.tensor(m) for m in setup.models])
    arguments, direction = shots_of(setup), torch.tensor(setup.direction()[0])
    with pytest.raises(DtypeError, match=r"perturbation 0 is a ndarray; expected a torch.Tensor"):
        prop.born(*arguments, setup.direction())
    with pytest.raises(DeviceError, match="perturbation 0 is on meta, the solver computes on cpu"):
        prop.born(*arguments, [direction.to("meta")])
    with pytest.raises(DtypeError, match=r"the wavelet's perturbation is a ndarray; expected a torch.Tensor"):
        prop.born(*arguments, [direction], d_wavelet=setup.shots.wavelet)
    assert error(prop.born(*arguments, [direction]), reference_born(setup)) < 1e-12


@pytest.mark.parametrize("impl", ["C", "", None, ["c"]], ids=repr)
def test_an_unknown_implementation_is_refused(impl):
    with pytest.raises(OptionError, match="impl is .*; expected one of 'auto', 'c', 'eager'"):
        TorchExecutor(impl)
