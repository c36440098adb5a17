"""Derivatives under torch's transforms, compiled and eager, against the Born run of the reference."""

import sys
from concurrent.futures import ThreadPoolExecutor

import derivatives
import numpy as np
import pytest
from laws import (
    ASKED,
    VARIANTS,
    born_of_snapshots,
    case,
    error,
    executors,
    reference_born,
    reference_record,
    variant,
    with_snapshots,
)

from sweep_core import UnsupportedError

torch = pytest.importorskip("torch")
from torch.autograd import forward_ad  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

from sweep_torch import PropTorch  # noqa: E402

impls = pytest.mark.parametrize("entry", executors("torch-c", "torch-eager"))
compiled = pytest.mark.parametrize("entry", executors("torch-c"))
eager = pytest.mark.parametrize("entry", executors("torch-eager"))


class Setting(derivatives.Setting):
    solver_class, framework, array = PropTorch, torch, staticmethod(torch.tensor)

    def jvp(self, dvp, vp=None):
        return torch.func.jvp(self.record, (self.vp if vp is None else vp,), (dvp,))[1]


def dual(s):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(s.record(forward_ad.make_dual(s.vp, s.dvp))).tangent


def leaf_of(x):
    return x.clone().requires_grad_()


ZERO = np.float64(0.0)
FORWARD = {
    "jvp": lambda s: s.jvp(s.dvp),
    "dual": dual,
    "jvp-vmap": lambda s: torch.vmap(s.jvp)(s.two)[1],
    "jvp-vmap-models": lambda s: torch.vmap(s.jvp, (None, 0))(s.dvp, torch.stack([s.vp - 9, s.vp]))[1],
    "jacfwd": lambda s: torch.func.jacfwd(lambda a: s.record(s.vp + a * s.dvp))(torch.tensor(ZERO)),
    "born": lambda s: s.born(s.dvp),
    "born-vmap": lambda s: torch.vmap(s.born)(s.two)[1],
    "born-jvp": lambda s: torch.func.jvp(s.born, (s.two[0],), (s.dvp,))[1],
    "born-of-a-leaf": lambda s: s.born(leaf_of(s.dvp), leaf_of(s.vp)),
    "both": lambda s: torch.func.jvp(s.record, (s.vp, s.wavelet), (s.dvp, s.wavelet))[1] - s.record(s.vp),
    "both-born": lambda s: s.born(s.dvp, d_wavelet=s.wavelet) - s.record(s.vp),
}


@pytest.mark.parametrize("transform", FORWARD)
@impls
def test_forward_mode_equals_the_born_run(transform, entry):
    this = Setting(entry)
    assert error(FORWARD[transform](this), reference_born(this.example)) < 1e-11


def by_autograd(function, at):
    leaf = leaf_of(at)
    return torch.autograd.grad(function(leaf), leaf)[0]


REVERSE = {
    "grad": lambda s: torch.func.grad(s.weighted)(s.vp),
    "grad-vmap": lambda s: torch.vmap(torch.func.grad(s.weighted))(torch.stack([s.vp - 9, s.vp]))[1],
    "jacrev": lambda s: torch.func.jacrev(lambda vp: torch.stack([s.misfit(vp), s.weighted(vp)]))(s.vp)[1],
    "vjp-vmap": lambda s: torch.vmap(torch.func.vjp(s.record, s.vp)[1])(torch.stack([0 * s.weights, s.weights]))[0][1],
    "born": lambda s: torch.func.grad(lambda dvp: (s.born(dvp) * s.weights).sum())(s.dvp),
    "born-autograd": lambda s: by_autograd(lambda dvp: (s.born(dvp) * s.weights).sum(), s.dvp),
    "beside what does not vary": lambda s: torch.func.grad(lambda vp: (s.record(vp) * s.record(s.vp)).sum())(s.vp),
}


@pytest.mark.parametrize("transform", REVERSE)
@impls
def test_reverse_mode_is_the_adjoint_of_the_born_run(transform, entry):
    """<dm, J^T y> = <J dm, y>."""
    this = Setting(entry)
    terms = this.example.direction()[0] * REVERSE[transform](this).numpy()
    y = reference_record(this.example) if transform.startswith("beside") else this.example.noise()
    assert abs(terms.sum() - (reference_born(this.example) * y).sum()) < 1e-11 * np.abs(terms).sum()


@impls
def test_born_is_transposed_in_the_wavelet_too(entry):
    """The earth varies too. The record is linear in the wavelet."""
    this = Setting(entry)

    def weighted(wave):
        return (this.born(this.dvp, d_wavelet=wave) * this.weights).sum()

    expected = torch.func.grad(lambda wave: (this.record(this.vp, wave) * this.weights).sum())(this.wavelet)
    for result in (by_autograd(weighted, this.wavelet), torch.func.grad(weighted)(this.wavelet)):
        assert error(result, expected.numpy()) < 1e-12


@impls
def test_born_runs_in_several_threads(entry):
    """torch counts the levels of forward mode across all threads."""
    this = Setting(entry)
    expected, interval = this.born(this.dvp), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            result = list(pool.map(lambda _: this.born(this.dvp), range(100 if this.solver.impl == "c" else 12)))
    finally:
        sys.setswitchinterval(interval)
    assert all(torch.equal(born, expected) for born in result)


def twice(s):
    leaf = leaf_of(s.vp)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(s.record(forward_ad.make_dual(leaf, s.dvp))).tangent
        return torch.autograd.grad(tangent.sum(), leaf)[0]


SECOND = {
    "jvp-jvp": lambda s: torch.func.jvp(lambda vp: s.jvp(s.dvp, vp), (s.vp,), (s.dvp,))[1],
    "jvp-grad": lambda s: torch.func.jvp(torch.func.grad(s.misfit), (s.vp,), (s.dvp,))[1],
    "grad-jvp": lambda s: torch.func.grad(lambda vp: torch.func.jvp(s.misfit, (vp,), (s.dvp,))[1])(s.vp),
    "grad-grad": lambda s: torch.func.grad(lambda vp: torch.func.grad(s.misfit)(vp).sum())(s.vp),
    "hessian": lambda s: torch.func.hessian(lambda a: s.misfit(s.vp + a * s.dvp))(torch.tensor(ZERO)),
    "hvp": lambda s: torch.autograd.functional.hvp(s.misfit, (s.vp,), (s.dvp,))[1][0],
    "dual-backward": twice,
    "born-jvp": lambda s: torch.func.jvp(lambda vp: s.born(s.dvp, vp), (s.vp,), (s.dvp,))[1],
    "born-grad": lambda s: torch.func.grad(lambda vp: s.born(s.dvp, vp).square().sum())(s.vp),
    "born-autograd": lambda s: by_autograd(lambda vp: s.born(s.dvp, vp).square().sum(), s.vp),
}


@pytest.mark.parametrize("transform", SECOND)
@compiled
def test_second_derivatives_of_compiled_code_are_refused_by_name(transform, entry):
    """Compiled code never returns a silent zero."""
    with pytest.raises(UnsupportedError, match="second derivatives of the compiled .*use impl='eager'"):
        SECOND[transform](Setting(entry))


@pytest.mark.parametrize("transform", SECOND)
def test_second_derivatives_of_eager_code_are_not_zero(transform):
    (param,) = executors("torch-eager")
    assert SECOND[transform](Setting(*param.values)).abs().max() > 0


TRACED = {
    "linearize": lambda s: torch.func.linearize(s.record, s.vp)[1](s.dvp),
    "make_fx": lambda s: make_fx(lambda dvp: s.jvp(dvp))(s.dvp)(s.dvp),
}


@pytest.mark.parametrize("transform", ["linearize", pytest.param("make_fx", marks=pytest.mark.slow)])
@impls
def test_eager_code_can_be_traced_and_compiled_code_refuses(transform, entry):
    """A trace would record the result of compiled code as a tensor that nothing writes to."""
    this = Setting(entry, case(nt=12))  # the trace grows with every step
    if this.solver.impl == "c":
        with pytest.raises(UnsupportedError, match="torch.fx .* cannot trace impl='c'"):
            TRACED[transform](this)
    else:
        assert error(TRACED[transform](this), reference_born(this.example)) < 1e-11


@pytest.mark.filterwarnings("ignore")
def test_jit_trace_is_refused_by_compiled_code():
    (param,) = executors("torch-c")
    this = Setting(*param.values, case(nt=12))
    with pytest.raises(UnsupportedError, match=r"torch.jit.trace cannot trace impl='c'"):
        torch.jit.trace(this.record, (this.vp,), check_trace=False)


@pytest.mark.parametrize("name", [name for name in VARIANTS if "3-D" not in name])
@impls
def test_vmap_supports_every_variant(name, entry):
    """Records, gradients and Born runs of a batch equal those of its parts."""
    setup = variant(name)
    this = Setting(entry, setup)
    models, wavelets = torch.stack([this.vp - 9, this.vp]), torch.stack([2 * this.wavelet, this.wavelet])
    assert error(torch.vmap(this.record)(models)[1], reference_record(setup)) < 1e-12
    assert error(torch.vmap(lambda w: this.record(this.vp, w))(wavelets)[0] / 2, reference_record(setup)) < 1e-12
    assert error(torch.vmap(this.born)(this.two)[1], reference_born(setup)) < 1e-11
    gradient = torch.func.grad(lambda w: (this.record(this.vp, w) * this.weights).sum())
    assert error(torch.vmap(gradient)(wavelets)[0], gradient(this.wavelet).numpy()) < 1e-12


@impls
def test_snapshots_leave_the_gradient_unchanged(entry):
    """Snapshots of a batch equal those of its parts."""
    this = Setting(entry)
    both, leaf, expected = with_snapshots(this), leaf_of(this.vp), torch.func.grad(this.weighted)(this.vp).numpy()
    misfit, output = both(leaf)
    assert error(torch.autograd.grad(misfit + output.detach().sum(), leaf)[0], expected) < 1e-14
    assert error(torch.func.grad(both, has_aux=True)(this.vp)[0], expected) < 1e-14
    several = torch.vmap(torch.func.grad(both, has_aux=True))(torch.stack([this.vp - 9, this.vp]))
    assert error(several[0][1], expected) < 1e-14
    batch = torch.vmap(lambda w: both(this.vp, w))(torch.stack([0 * this.wavelet, this.wavelet]))
    assert error(batch[1][1], output.detach().numpy()) < 1e-14


@eager
@pytest.mark.parametrize("strategy", ["full", "ckpt-7"])
def test_snapshots_have_their_derivative(entry, strategy):
    """The derivative is that of receivers in the same cells; it adds to the gradient of the record."""
    this = Setting(entry, case().remembering(strategy))
    both, expected = with_snapshots(this), born_of_snapshots(this.example, ASKED)
    weights, leaf = torch.tensor(np.random.default_rng(5).standard_normal(expected.shape)), leaf_of(this.vp)
    misfit, output = both(leaf)
    (gradient,) = torch.autograd.grad(misfit + (output * weights).sum(), leaf)
    directional = (reference_born(this.example) * this.weights.numpy()).sum() + (expected * weights.numpy()).sum()
    assert (gradient * this.dvp).sum().item() == pytest.approx(directional, rel=1e-11)
    if strategy == "full":
        assert error(torch.func.jvp(lambda vp: both(vp)[1], (this.vp,), (this.dvp,))[1], expected) < 1e-11


@compiled
def test_a_derivative_of_snapshots_is_refused(entry):
    this = Setting(entry)
    both, leaf = with_snapshots(this), leaf_of(this.vp)

    def energy(vp):
        misfit, output = both(vp)
        return misfit + output.square().sum()

    for ask in (
        lambda: energy(leaf).backward(),
        lambda: both(leaf)[1].sum().backward(),
        lambda: torch.func.grad(energy)(this.vp),
        lambda: torch.func.jvp(energy, (this.vp,), (this.dvp,)),
    ):
        with pytest.raises(UnsupportedError, match="none of snapshots; use impl='eager'"):
            ask()
