"""A record that is not finite is refused if its values can be read."""

import numpy as np
import pytest

from sweep_core import Acoustic, NotFiniteError, OptionError, Shots, UnsupportedError, make_problem
from sweep_core.execution.reference import ReferenceExecutor

SHAPE, DT = (16, 18), 1e-3
VP = np.full(SHAPE, 2500.0, np.float32)
LOUD = np.full(60, 3e38, np.float32)
POSITIONS = np.array([[9, 5]]), np.array([[4, 5], [9, 5]])
ARGUMENTS = (Acoustic(), SHAPE, 5.0, DT)


def front(framework, **options):
    """Return (solver, its call by a wavelet, the module) of a framework."""
    module = pytest.importorskip(framework)
    prop = pytest.importorskip(f"sweep_{framework}")
    array = module.as_tensor if framework == "torch" else module.numpy.asarray
    solver = (prop.PropTorch if framework == "torch" else prop.PropJax)(*ARGUMENTS, pml_width=4, **options)
    return solver, lambda wavelet: solver(array(wavelet), *POSITIONS, models=[array(VP)]), module


@pytest.mark.parametrize("impl", ["c", "eager"])
@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_a_record_that_is_not_finite_is_refused(framework, impl):
    for check in (None, True):
        _, call, _ = front(framework, impl=impl, check_finite=check)
        with pytest.raises(
            NotFiniteError, match=r"h1 of the record is .* at time step \d+ \(shot 0, receiver \d; float32\)"
        ):
            call(LOUD)
        assert np.isfinite(np.asarray(call(LOUD / 1e30))).all()
    assert not np.isfinite(np.asarray(front(framework, impl=impl, check_finite=False)[1](LOUD))).all()


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_an_unreadable_record_is_refused_only_on_request(framework):
    def transformed(check):
        _, call, module = front(framework, check_finite=check)
        batch = LOUD[None]
        if framework == "torch":
            return module.vmap(call)(module.as_tensor(batch))
        return module.jit(module.vmap(call))(batch)

    assert not np.isfinite(np.asarray(transformed(None))).all()
    with pytest.raises(UnsupportedError, match="check_finite is True, but no record can be read"):
        transformed(True)


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_certify_reports_a_record_that_is_not_finite(framework):
    solver, _, module = front(framework)
    array = module.as_tensor if framework == "torch" else module.numpy.asarray
    result = solver.certify(array(LOUD), *POSITIONS, models=[array(VP)])["finite record"]
    assert result.verdict == "wrong" and "at time step" in result.measured


def test_the_reference_refuses_a_record_that_is_not_finite():
    problem = make_problem(*ARGUMENTS, pml_width=4)
    with pytest.raises(NotFiniteError, match="float64"), np.errstate(all="ignore"):
        ReferenceExecutor().forward(problem, Shots(np.full(60, 1.7e308), *POSITIONS), [VP])


@pytest.mark.parametrize("bad", [1, "yes", "auto"])
def test_other_values_are_refused(bad):
    with pytest.raises(OptionError, match="check_finite is .*; expected True, False or None"):
        make_problem(*ARGUMENTS, check_finite=bad)
