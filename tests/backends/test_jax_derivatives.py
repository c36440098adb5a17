"""Derivatives under JAX's transforms, compiled and eager, against the Born run of the reference."""

import derivatives
import numpy as np
import pytest
from laws import (
    ASKED,
    VARIANTS,
    born_of_snapshots,
    error,
    executors,
    reference_born,
    reference_record,
    variant,
    with_snapshots,
)

from sweep_core import UnsupportedError

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

from sweep_jax import PropJax  # noqa: E402

impls = pytest.mark.parametrize("entry", executors("jax-c", "jax-eager"))
compiled = pytest.mark.parametrize("entry", executors("jax-c"))
eager = pytest.mark.parametrize("entry", executors("jax-eager"))


class Setting(derivatives.Setting):
    solver_class, framework, array = PropJax, jnp, staticmethod(jnp.asarray)

    def jvp(self, dvp, vp=None):
        return jax.jvp(self.record, (self.vp if vp is None else vp,), (dvp,))[1]


FORWARD = {
    "jvp": lambda s: s.jvp(s.dvp),
    "jvp-jit": lambda s: jax.jit(s.jvp)(s.dvp, s.vp),
    "jvp-vmap": lambda s: jax.vmap(s.jvp)(s.two)[1],
    "jvp-vmap-jit": lambda s: jax.jit(jax.vmap(s.jvp))(s.two)[0] / 2,
    "jvp-vmap-models": lambda s: jax.vmap(s.jvp, (None, 0))(s.dvp, jnp.stack([s.vp - 9, s.vp]))[1],
    "jvp-map": lambda s: jax.lax.map(s.jvp, s.two)[1],
    "jvp-checkpoint": lambda s: jax.jvp(jax.checkpoint(s.record), (s.vp,), (s.dvp,))[1],
    "jacfwd": lambda s: jax.jacfwd(lambda a: s.record(s.vp + a * s.dvp))(0.0),
    "linearize": lambda s: jax.linearize(s.record, s.vp)[1](s.dvp),
    "born": lambda s: s.born(s.dvp),
    "born-numpy": lambda s: s.born(np.asarray(s.dvp)),
    "born-jit": lambda s: jax.jit(s.born)(s.dvp, s.vp),
    "born-vmap": lambda s: jax.vmap(s.born)(s.two)[1],
    "born-jvp": lambda s: jax.jvp(s.born, (s.two[0],), (s.dvp,))[1],
    "born-transposed-twice": lambda s: jax.linear_transpose(jax.linear_transpose(s.born, s.dvp), s.weights)((s.dvp,))[
        0
    ],
    "both": lambda s: jax.jvp(s.record, (s.vp, s.wavelet), (s.dvp, s.wavelet))[1] - s.record(s.vp),
    "both-born": lambda s: s.born(s.dvp, d_wavelet=s.wavelet) - s.record(s.vp),
}


@pytest.mark.parametrize("transform", FORWARD)
@impls
def test_forward_mode_equals_the_born_run(transform, entry):
    this = Setting(entry)
    assert error(FORWARD[transform](this), reference_born(this.example)) < 1e-11


REVERSE = {
    "grad": lambda s: jax.grad(s.weighted)(s.vp),
    "grad-checkpoint": lambda s: jax.grad(jax.checkpoint(s.weighted))(s.vp),
    "grad-vmap": lambda s: jax.vmap(jax.grad(s.weighted))(jnp.stack([s.vp - 9, s.vp]))[1],
    "grad-map": lambda s: jax.lax.map(jax.grad(s.weighted), jnp.stack([s.vp - 9, s.vp]))[1],
    "jacrev": lambda s: jax.jacrev(lambda vp: s.weighted(vp)[None])(s.vp)[0],
    "vjp-vmap": lambda s: jax.vmap(jax.vjp(s.record, s.vp)[1])(jnp.stack([0 * s.weights, s.weights]))[0][1],
    "linearize": lambda s: jax.linear_transpose(jax.linearize(s.record, s.vp)[1], s.vp)(s.weights)[0],
    "born": lambda s: jax.grad(lambda dvp: (s.born(dvp) * s.weights).sum())(s.dvp),
    "born-transposed": lambda s: jax.linear_transpose(s.born, s.dvp)(s.weights)[0],
    "vjp-jvp": lambda s: jax.jvp(jax.vjp(s.record, s.vp)[1], (s.weights,), (s.weights,))[1][0],
}


@pytest.mark.parametrize("transform", REVERSE)
@impls
def test_reverse_mode_is_the_adjoint_of_the_born_run(transform, entry):
    """<dm, J^T y> = <J dm, y>."""
    this = Setting(entry)
    terms = this.example.direction()[0] * np.asarray(REVERSE[transform](this))
    expected = (reference_born(this.example) * this.example.noise()).sum()
    assert abs(terms.sum() - expected) < 1e-11 * np.abs(terms).sum()


@impls
def test_born_is_transposed_in_the_wavelet_too(entry):
    """The wavelet varies alone and with the earth. The record is linear in the wavelet."""
    this = Setting(entry)
    expected = np.asarray(jax.grad(lambda wave: (this.record(this.vp, wave) * this.weights).sum())(this.wavelet))
    answer = (np.asarray(this.record(this.vp)) * np.asarray(this.weights)).sum()
    assert (expected * np.asarray(this.wavelet)).sum() == pytest.approx(answer, rel=1e-11)
    pulled = jax.linear_transpose(lambda dvp, wave: this.born(dvp, d_wavelet=wave), this.dvp, this.wavelet)
    assert error(pulled(this.weights)[1], expected) < 1e-12
    alone = jax.grad(lambda wave: (this.born(this.dvp, d_wavelet=wave) * this.weights).sum())(this.wavelet)
    assert error(alone, expected) < 1e-12


SECOND = {
    "jvp-jvp": lambda s: jax.jvp(s.jvp, (s.dvp, s.vp), (0 * s.dvp, s.dvp))[1],
    "jvp-grad": lambda s: jax.jvp(jax.grad(s.misfit), (s.vp,), (s.dvp,))[1],
    "jvp-grad-vmap-jit": lambda s: jax.jit(jax.vmap(lambda d: jax.jvp(jax.grad(s.misfit), (s.vp,), (d,))[1]))(s.two),
    "grad-jvp": lambda s: jax.grad(lambda vp: jax.jvp(s.misfit, (vp,), (s.dvp,))[1])(s.vp),
    "grad-grad": lambda s: jax.grad(lambda vp: jax.grad(s.misfit)(vp).sum())(s.vp),
    "grad-grad-jit": lambda s: jax.jit(jax.grad(lambda vp: jax.grad(s.misfit)(vp).sum()))(s.vp),
    "hessian": lambda s: jax.hessian(lambda a: s.misfit(s.vp + a * s.dvp))(0.0),
    "born-jvp": lambda s: jax.jvp(lambda vp: s.born(s.dvp, vp), (s.vp,), (s.dvp,))[1],
    "born-grad": lambda s: jax.grad(lambda vp: (s.born(s.dvp, vp) ** 2).sum())(s.vp),
}


@pytest.mark.parametrize("transform", SECOND)
@compiled
def test_second_derivatives_of_compiled_code_are_refused_by_name(transform, entry):
    """Compiled code never returns a silent zero."""
    with pytest.raises(UnsupportedError, match="a second derivative .*impl='c'.*use impl='eager'"):
        SECOND[transform](Setting(entry))


@pytest.mark.parametrize("name", [name for name in VARIANTS if "3-D" not in name])
@compiled
def test_vmap_supports_every_variant(name, entry):
    """Records, gradients and Born runs of a batch equal those of its parts."""
    setup = variant(name)
    this = Setting(entry, setup)
    models, wavelets = jnp.stack([this.vp - 9, this.vp]), jnp.stack([2 * this.wavelet, this.wavelet])
    assert error(jax.vmap(this.record)(models)[1], reference_record(setup)) < 1e-12
    assert error(jax.vmap(lambda w: this.record(this.vp, w))(wavelets)[0] / 2, reference_record(setup)) < 1e-12
    assert error(jax.vmap(this.born)(this.two)[1], reference_born(setup)) < 1e-11
    gradient = jax.grad(lambda w: (this.record(this.vp, w) * this.weights).sum())
    assert error(jax.vmap(gradient)(wavelets)[0], np.asarray(gradient(this.wavelet))) < 1e-12


@compiled
def test_snapshots_leave_the_gradient_unchanged(entry):
    """Snapshots of a batch equal those of its parts."""
    this = Setting(entry)
    both, expected = with_snapshots(this), np.asarray(jax.grad(this.weighted)(this.vp))
    for gradient in (
        jax.grad(both, has_aux=True)(this.vp)[0],
        jax.jit(jax.grad(jax.checkpoint(both), has_aux=True))(this.vp)[0],
        jax.vmap(jax.grad(both, has_aux=True))(jnp.stack([this.vp - 9, this.vp]))[0][1],
        jax.grad(lambda vp: both(vp)[0] + jax.lax.stop_gradient(both(vp)[1]).sum())(this.vp),
    ):
        assert error(gradient, expected) < 1e-14
    assert error(jax.linearize(both, this.vp, has_aux=True)[1](this.dvp), (expected * this.dvp).sum()) < 1e-11
    batch = jax.vmap(lambda w: both(this.vp, w))(jnp.stack([0 * this.wavelet, this.wavelet]))
    assert error(batch[1][1], np.asarray(both(this.vp)[1])) < 1e-14


@eager
def test_snapshots_have_their_derivative(entry):
    """The derivative is that of receivers in the same cells; it adds to the gradient of the record."""
    this = Setting(entry)
    both, expected = with_snapshots(this), born_of_snapshots(this.example, ASKED)
    assert error(jax.jvp(lambda vp: both(vp)[1], (this.vp,), (this.dvp,))[1], expected) < 1e-11
    weights = np.random.default_rng(5).standard_normal(expected.shape)
    gradient = jax.grad(lambda vp: both(vp)[0] + (both(vp)[1] * weights).sum())(this.vp)
    directional = (reference_born(this.example) * this.weights).sum() + (expected * weights).sum()
    assert float((gradient * this.dvp).sum()) == pytest.approx(float(directional), rel=1e-11)


@compiled
def test_a_derivative_of_snapshots_is_refused(entry):
    this = Setting(entry)
    both = with_snapshots(this)

    def energy(vp):
        misfit, output = both(vp)
        return misfit + (output**2).sum()

    for ask in (
        lambda: jax.grad(energy)(this.vp),
        lambda: jax.jit(jax.grad(energy))(this.vp),
        lambda: jax.vmap(jax.grad(energy))(this.vp[None]),
        lambda: jax.jvp(energy, (this.vp,), (this.dvp,)),
        lambda: jax.jit(lambda vp: jax.jvp(energy, (vp,), (this.dvp,)))(this.vp),
    ):
        with pytest.raises(UnsupportedError, match="none of snapshots; use impl='eager'"):
            ask()
