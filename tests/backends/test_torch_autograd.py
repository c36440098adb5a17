"""A solver under torch: graphs, transforms, reused buffers, overhead."""

import gc
import threading
import time

import attrs
import numpy as np
import pytest
from laws import case, error, executors, variant

from sweep_core import Acoustic, DomainError, DtypeError, Elastic, StabilityError, UnsupportedError
from sweep_core.testing.laws import everything

torch = pytest.importorskip("torch")
from sweep_torch import PropTorch  # noqa: E402
from sweep_torch.memory import pool  # noqa: E402

impls = pytest.mark.parametrize("entry", executors("torch-c", "torch-eager"))
compiled = pytest.mark.parametrize("entry", executors("torch-c"))
strategies = pytest.mark.parametrize("strategy", ["full", "auto", "ckpt"])
each_strategy = pytest.mark.parametrize(
    ("entry", "strategy"),
    [
        pytest.param(*entry.values, strategy, id=f"{entry.id}-{strategy}")
        for entry in executors("torch-c", "torch-eager")
        for strategy in ("full", "auto", "ckpt", "recursive", "disk")[: 5 if entry.id == "torch-c" else 3]
    ],
)


class Setting:
    """A solver, its tensors, and a scalar to differentiate."""

    def __init__(self, entry, strategy="auto", **options):
        self.example = case(**options).remembering(strategy)
        impl = entry.executor_for(self.example.problem).impl
        self.solver = PropTorch(**self.example.arguments, impl=impl)
        self.wavelet = torch.tensor(self.example.shots.wavelet)
        self.model = torch.tensor(self.example.models[0])
        self.weights = torch.tensor(self.example.noise())

    def record(self, model=None, wavelet=None):
        model, wavelet = self.model if model is None else model, self.wavelet if wavelet is None else wavelet
        return self.solver(wavelet, self.example.shots.sources, self.example.shots.receivers, models=[model])

    def functional(self, model=None, wavelet=None):
        return (self.record(model, wavelet) * self.weights).sum()

    def gradient(self, model=None):
        leaf = (self.model if model is None else model).clone().requires_grad_()
        return torch.autograd.grad(self.functional(leaf), leaf)[0]


# --- graphs -----------------------------------------------------------------------------------------------------------


@each_strategy
def test_a_retained_graph_gives_the_gradient_twice(entry, strategy):
    this = Setting(entry, strategy)
    leaf = this.model.clone().requires_grad_()
    value = this.functional(leaf)
    first = torch.autograd.grad(value, leaf, retain_graph=True)[0]
    assert torch.equal(torch.autograd.grad(value, leaf)[0], first)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        value.backward()


@each_strategy
def test_live_graphs_never_share_a_buffer(entry, strategy):
    """Backward of an older record, after newer runs of other models, gives the older gradient."""
    this = Setting(entry, strategy)
    models = [this.model * factor for factor in (1.0, 0.9, 1.1)]
    expected = [this.gradient(m) for m in models]
    leaves = [m.clone().requires_grad_() for m in models]
    values = [this.functional(leaf) for leaf in leaves]
    this.record(), this.gradient(models[1])
    for i in (1, 0, 2):
        assert torch.equal(torch.autograd.grad(values[i], leaves[i])[0], expected[i])


@compiled
@pytest.mark.parametrize("strategy", ["full", "auto", "ckpt", "recursive", "disk"])
def test_old_values_of_buffers_change_nothing(entry, strategy):
    """Pooled memory holds values of the last call; here it holds NaN everywhere."""
    this = Setting(entry, strategy, seed=5)
    expected, record = this.gradient(), this.record()
    for buffer in pool._buffers:
        buffer.fill_(255)
    assert torch.equal(this.gradient(), expected)
    for buffer in pool._buffers:
        buffer.fill_(255)
    assert torch.equal(this.record(), record)


@pytest.mark.parametrize("entry", executors("torch-eager", "torch-c"))
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("equation", [Acoustic, Elastic])
def test_autocast_changes_nothing(entry, equation, dtype):
    """A script may multiply its own matrices in half precision; fields keep their precision."""
    setup = variant("free surface, between nodes", equation, nt=12).remembering("ckpt-7").typed(np.float32)

    direction = [d.astype(np.float32) for d in setup.direction()]

    def answers():
        born = entry.executor_for(setup.problem).born(setup.problem, setup.shots, setup.models, direction)
        return [*everything(entry, setup), born.numpy()]

    expected = answers()
    with torch.autocast("cpu", dtype=dtype):
        for a, b in zip(answers(), expected, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("entry", executors("torch-eager", "torch-c"))
def test_autocast_reaches_no_coefficients(entry):
    """The coefficients of this equation multiply matrices."""

    class Turned(Acoustic):
        def coefficients(self, node_averages, vp):
            return super().coefficients(node_averages, vp @ node_averages.xp.eye(vp.shape[-1], dtype=vp.dtype))

    setup = case(nt=12).typed(np.float32)
    setup = attrs.evolve(setup, arguments=setup.arguments | {"equation": Turned(4)})
    expected = entry.forward(setup)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        np.testing.assert_array_equal(entry.forward(setup), expected)


@compiled
def test_calls_reuse_buffers(entry):
    pool.empty()
    this = Setting(entry, "full", nt=200)
    for _ in range(2):  # the adjoint returns buffers that are too small for it; the next forward run takes them
        this.gradient()
    remaining = {b.data_ptr() for b in pool._buffers}
    for _ in range(5):
        this.gradient()
    gc.collect()
    assert {b.data_ptr() for b in pool._buffers} == remaining


@compiled
def test_the_pool_stays_small(entry):
    pool.empty()
    for nt in (50, 60, 80, 110, 150, 200):
        Setting(entry, "full", nt=nt).gradient()
    history = 208 * 40 * 40 * 8 * 3
    assert sum(b.numel() for b in pool._buffers) < 3 * history
    pool.empty()
    assert not pool._buffers


@compiled
def test_threads_may_share_a_solver(entry):
    this = Setting(entry, "full", nt=120)
    models = [this.model * f for f in (1.0, 0.97, 1.02, 0.95)]
    expected, results, failures = [this.gradient(m) for m in models], {}, []

    def work(i):
        try:
            for _ in range(5):
                results[i] = this.gradient(models[i])
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(len(models))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures
    assert all(torch.equal(results[i], e) for i, e in enumerate(expected))


@impls
def test_gradients_accumulate(entry):
    this = Setting(entry)
    leaf = this.model.clone().requires_grad_()
    for _ in range(2):
        this.functional(leaf).backward()
    assert error(leaf.grad, 2 * this.gradient().numpy()) < 1e-14


@impls
def test_only_requested_gradients_are_computed(entry):
    this = Setting(entry)
    wavelet = this.wavelet.clone().requires_grad_()
    value = this.functional(wavelet=wavelet)
    value.backward()
    assert wavelet.grad is not None and this.model.grad is None
    assert not this.record().requires_grad
    with torch.no_grad():
        assert not this.record(this.model.clone().requires_grad_()).requires_grad


@impls
def test_a_shared_wavelet_sums_the_gradients_of_its_shots(entry):
    this = Setting(entry)
    shared = this.wavelet[0, 0].clone().requires_grad_()
    spread = shared.detach().expand_as(this.wavelet).clone().requires_grad_()
    assert torch.equal(this.record(wavelet=shared), this.record(wavelet=spread))
    this.functional(wavelet=shared).backward()
    this.functional(wavelet=spread).backward()
    assert error(shared.grad, spread.grad.sum((0, 1)).numpy()) < 1e-13


@impls
def test_layouts_of_memory_do_not_matter(entry):
    this = Setting(entry)
    strided = torch.empty(23, 19, dtype=torch.float64).T.copy_(this.model)
    assert not strided.is_contiguous()
    assert torch.equal(this.record(strided), this.record())
    assert torch.equal(this.gradient(strided), this.gradient())
    reversed_time = this.wavelet.flip(-1).contiguous().flip(-1)
    assert torch.equal(this.record(wavelet=reversed_time), this.record())
    negated = torch.complex(this.wavelet, -this.wavelet).conj().imag
    assert negated.is_neg() and torch.equal(this.record(wavelet=negated), this.record())
    negated = torch.complex(this.model, -this.model).conj().imag
    assert negated.is_neg() and torch.equal(this.record(negated), this.record())
    assert torch.equal(this.gradient(negated), this.gradient())


@impls
def test_sparse_tensors_are_refused(entry):
    this = Setting(entry)
    with pytest.raises(DtypeError, match="model 0 is torch.sparse_coo; expected a dense tensor"):
        this.record(this.model.to_sparse())
    sources = torch.tensor(this.example.shots.sources).to_sparse()
    with pytest.raises(DtypeError, match="sources are torch.sparse_coo; expected a dense tensor"):
        this.solver(this.wavelet, sources, this.example.shots.receivers, models=[this.model])


@impls
def test_a_cotangent_may_be_expanded_or_zero(entry):
    this = Setting(entry)
    leaf = this.model.clone().requires_grad_()
    expanded = torch.autograd.grad(this.record(leaf).sum(), leaf)[0]
    arguments = torch.autograd.grad(this.record(leaf), leaf, torch.ones_like(this.weights))[0]
    assert torch.equal(expanded, arguments)
    assert not torch.autograd.grad(this.record(leaf), leaf, torch.zeros_like(this.weights))[0].any()


@impls
def test_the_shortest_run_has_a_gradient_of_zero(entry):
    this = Setting(entry, nt=1)
    leaf = this.model.clone().requires_grad_()
    this.functional(leaf).backward()
    assert not leaf.grad.any()


# --- transforms -------------------------------------------------------------------------------------------------------


def refuses_func(entry, strategy):
    """Return whether the run needs torch's checkpointing, which does not work under torch.func."""
    return strategy == "ckpt" and "eager" in str(entry)


@each_strategy
def test_func_grad_equals_the_gradient(entry, strategy):
    this = Setting(entry, strategy)
    if refuses_func(entry, strategy):
        with pytest.raises(UnsupportedError, match="cannot recompute"):
            torch.func.grad(this.functional)(this.model)
        return
    assert error(torch.func.grad(this.functional)(this.model), this.gradient().numpy()) < 1e-13


@each_strategy
def test_vmap_over_models_and_wavelets_equals_single_calls(entry, strategy):
    this = Setting(entry, strategy)
    models = torch.stack([this.model, 0.95 * this.model])
    batch = torch.vmap(this.record)(models)
    assert all(error(t, this.record(m).numpy()) < 1e-13 for t, m in zip(batch, models, strict=True))
    wavelets = torch.stack([this.wavelet, 2 * this.wavelet], dim=1)
    batch = torch.vmap(lambda w: this.record(wavelet=w), in_dims=1)(wavelets)
    assert error(batch[1], 2 * this.record().numpy()) < 1e-13


@each_strategy
def test_vmap_of_func_grad_equals_single_gradients(entry, strategy):
    this = Setting(entry, strategy)
    if refuses_func(entry, strategy):
        return
    models = torch.stack([this.model, 0.95 * this.model])
    batch = torch.vmap(torch.func.grad(this.functional))(models)
    for result, model in zip(batch, models, strict=True):
        assert error(result, this.gradient(model).numpy()) < 1e-13


@impls
def test_func_vjp_equals_the_gradient(entry):
    this = Setting(entry, "full")
    record, pull = torch.func.vjp(this.record, this.model)
    assert torch.equal(record, this.record())
    assert error(pull(this.weights)[0], this.gradient().numpy()) < 1e-13


@impls
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_vmap_over_cotangents_equals_single_pullbacks(entry, axis):
    """Any axis of the cotangents may count the items."""
    this = Setting(entry, "full", nt=20)
    _, pull = torch.func.vjp(this.record, this.model)
    cotangents = torch.stack([this.weights, 2 * this.weights.flip(0)], dim=axis)
    batch = torch.vmap(lambda y: pull(y)[0], in_dims=axis)(cotangents)
    for result, y in zip(batch, cotangents.unbind(axis), strict=True):
        assert error(result, pull(y)[0].numpy()) < 1e-13


@compiled
def test_double_backward_is_refused_by_name(entry):
    """autograd.functional.jvp differentiates a gradient; torch.func.jvp does not (test_torch_derivatives.py)."""
    this = Setting(entry)
    with pytest.raises(UnsupportedError, match="use impl='eager'"):
        torch.autograd.functional.jvp(this.record, (this.model,), (this.model,))


@compiled
def test_second_derivatives_of_compiled_code_are_refused_by_name(entry):
    this = Setting(entry)
    leaf = this.model.clone().requires_grad_()
    (first,) = torch.autograd.grad(this.functional(leaf), leaf, create_graph=True)
    with pytest.raises(UnsupportedError, match="second derivatives of the compiled .* use impl='eager'"):
        first.sum().backward()
    with pytest.raises(UnsupportedError, match="second derivatives"):
        torch.func.grad(lambda m: torch.func.grad(this.functional)(m).sum())(this.model)


@strategies
def test_second_derivatives_of_eager_code_equal_differences_of_gradients(strategy):
    """The Hessian times a vector equals a difference of gradients."""
    (param,) = executors("torch-eager")
    this = Setting(param.values[0], strategy, nt=30)
    leaf, direction = this.model.clone().requires_grad_(), this.model * 1e-3
    (first,) = torch.autograd.grad(this.functional(leaf), leaf, create_graph=True)
    (second,) = torch.autograd.grad((first * direction).sum(), leaf)
    difference = (this.gradient(this.model + direction) - this.gradient(this.model - direction)) / 2
    assert error(difference, second.numpy()) < 1e-4


@impls
def test_shots_may_be_chosen_inside_transforms(entry):
    this = Setting(entry)
    sources, receivers = torch.tensor(this.example.shots.sources), torch.tensor(this.example.shots.receivers)

    def misfit(model, arguments=lambda x: x):
        mask = arguments(torch.arange(10)).reshape(2, 5) % 3 > 0
        return (this.solver(this.wavelet[:2], sources[:2], arguments(receivers)[:2], [model], mask) ** 2).sum()

    leaf = this.model.clone().requires_grad_()
    expected = torch.autograd.grad(misfit(leaf), leaf)[0]
    inside = torch.func.grad(lambda model: misfit(model, lambda x: x + 0 * torch.ones_like(x)))(this.model)
    assert error(inside, expected.numpy()) < 1e-13
    if "eager" in str(entry):  # only eager code has second derivatives
        nested = torch.func.jvp(torch.func.grad(misfit), (this.model,), (this.model,))[0]
        assert error(nested, expected.numpy()) < 1e-13


@impls
def test_transformed_positions_are_refused_by_name(entry):
    this = Setting(entry)
    sources = torch.tensor(this.example.shots.sources)

    def run(at):
        return this.solver(this.wavelet, at, this.example.shots.receivers, models=[this.model])

    with pytest.raises(UnsupportedError, match=r"sources are transformed \(torch.func\)"):
        torch.vmap(run)(torch.stack([sources, sources]))


@compiled
@pytest.mark.parametrize(
    ("bad", "kind"),
    [(float("nan"), DomainError), (0.0, DomainError), (-2000.0, DomainError), (1e5, StabilityError)],
    ids=["nan", "zero", "negative", "too fast"],
)
def test_bad_values_are_refused_inside_transforms(entry, bad, kind):
    """Python cannot read the values there, so compiled code checks them."""
    this = Setting(entry)
    model = this.model.clone()
    model[7, 8] = bad
    with pytest.raises(kind):
        torch.func.grad(this.functional)(model)


@pytest.mark.parametrize("bad", [float("nan"), 0.0, -2000.0, 1e5], ids=["nan", "zero", "negative", "too fast"])
@pytest.mark.parametrize("entry", executors("torch-eager"))
def test_bad_values_inside_transforms_are_nan_with_eager_code(entry, bad):
    """The result is never a plausible number."""
    this = Setting(entry)
    model = this.model.clone()
    model[7, 8] = bad
    record = torch.vmap(this.record)(torch.stack([this.model, model]))
    assert torch.isfinite(record[0]).all() and torch.isnan(record[1]).all()
    assert torch.isnan(torch.func.grad(this.functional)(model)).any()


# --- overhead ---------------------------------------------------------------------------------------------------------


@compiled
def test_a_small_call_has_a_small_overhead(entry, record_property):
    """40 x 40 cells, one step, forward and backward: microseconds, not milliseconds."""
    entry.executor_for(case().problem)
    prop = PropTorch(case().arguments["equation"], (40, 40), 10.0, 0.001, impl="c")
    model = torch.full((40, 40), 2000.0, requires_grad=True)
    wavelet, at = torch.zeros(2), torch.tensor([[5, 5]])
    times = []
    for _ in range(60):
        start = time.perf_counter()
        prop(wavelet, at, at, models=[model]).sum().backward()
        times.append(time.perf_counter() - start)
    record_property("median_ms", 1e3 * float(np.median(times)))
    assert min(times) < 5e-3


@compiled
def test_a_profiler_shows_the_runs_of_compiled_code(entry):
    this = Setting(entry)
    with torch.profiler.profile() as profile:
        this.gradient()
    assert {"sweep::forward", "sweep::adjoint"} <= {event.name for event in profile.events()}
