"""Elastic in other parameters: the same records and compiled code, and gradients by the chain rule."""

import attrs
import numpy as np
import pytest
from laws import executors

from sweep_core import Elastic, ElasticImpedance, ElasticLame, ElasticLogarithm, native
from sweep_core.execution.answers import error, record_error
from sweep_core.testing.cases import reference_record, variant


def lame(vp, vs, rho):
    """Return (lam, mu, rho), and d(vp, vs, rho) / d(lam, mu, rho) by rows."""
    lam, mu = rho * (vp**2 - 2 * vs**2), rho * vs**2
    zero, one = 0 * rho, 1 + 0 * rho
    rows = [[1 / (2 * rho * vp), 1 / (rho * vp), -vp / (2 * rho)], [zero, 1 / (2 * rho * vs), -vs / (2 * rho)]]
    return (lam, mu, rho), [*rows, [zero, zero, one]]


def impedance(vp, vs, rho):
    zero, one = 0 * rho, 1 + 0 * rho
    return (rho * vp, rho * vs, rho), [[1 / rho, zero, -vp / rho], [zero, 1 / rho, -vs / rho], [zero, zero, one]]


def logarithm(vp, vs, rho):
    zero = 0 * rho
    return (np.log(vp), np.log(vs), np.log(rho)), [[vp, zero, zero], [zero, vs, zero], [zero, zero, rho]]


CHANGES = {ElasticLame: lame, ElasticImpedance: impedance, ElasticLogarithm: logarithm}


def both(equation, name):
    """Return a case of Elastic, the same case in other parameters, and the derivatives of the change."""
    plain = variant(name, Elastic)
    models, derivatives = CHANGES[equation](*plain.models)
    arguments = plain.arguments | {"equation": equation(plain.arguments["equation"].spatial_order)}
    return plain, attrs.evolve(plain, arguments=arguments, models=list(models)), derivatives


@pytest.mark.parametrize("name", ["free surface", "3-D, free surface, between nodes"])
@pytest.mark.parametrize("equation", CHANGES)
def test_records_are_those_of_elastic(equation, name):
    plain, other, _ = both(equation, name)
    assert record_error(reference_record(other), reference_record(plain)) < 1e-12


@pytest.mark.parametrize("entry", executors("torch-eager", "torch-c"))
@pytest.mark.parametrize("equation", CHANGES)
def test_gradients_follow_the_chain_rule(equation, entry):
    """Compiled code is that of Elastic: its library knows no other name."""
    plain, other, derivatives = both(equation, "free surface")
    observed = 0.5 * reference_record(plain)
    expected = entry.misfit_and_gradient(plain, observed)[1]
    gradient = entry.misfit_and_gradient(other, observed)[1]
    for j, part in enumerate(gradient):
        assert error(part, sum(row[j] * np.asarray(g) for row, g in zip(derivatives, expected, strict=True))) < 1e-11
    assert native.supports(equation(), 2, "cpu")


def test_a_fluid_has_finite_gradients_in_lame_parameters():
    """The derivative with respect to mu is zero beside a fluid, where the mean of mu is zero."""
    (entry,) = (param.values[0] for param in executors("torch-eager"))
    plain = variant("free surface", Elastic)
    vp, vs, rho = (m.copy() for m in plain.models)
    vs[:6] = 0
    wet = attrs.evolve(plain, models=[vp, vs, rho])
    models = [rho * (vp**2 - 2 * vs**2), rho * vs**2, rho]
    other = attrs.evolve(wet, arguments=wet.arguments | {"equation": ElasticLame()}, models=models)
    assert record_error(reference_record(other), reference_record(wet)) < 1e-12
    gradient = [np.asarray(g) for g in entry.misfit_and_gradient(other, 0 * reference_record(wet))[1]]
    assert all(np.isfinite(g).all() for g in gradient) and (gradient[1][1:6] != 0).any()
