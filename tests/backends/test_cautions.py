"""Warnings of a solver at its first call, once, with the caller's line."""

import warnings

import numpy as np
import pytest
from certified import sound

from sweep_core import AcousticVariableDensity, Elastic, SweepWarning


def in_km(call):
    call.arguments["models"] = [m / 1e3 for m in call.arguments["models"]]
    call.options["dh"] = 0.01


def coarse(call):
    call.options["dh"] = 60.0


def silent(call):
    call.arguments["wavelet"] = 0 * call.arguments["wavelet"]


def plain_sides(call):
    rho = np.full_like(call.arguments["models"][0], 2000.0)
    call.arguments["models"] = [*call.arguments["models"], 0 * rho, rho]
    call.options |= {"equation": Elastic(8), "free_surface": True, "pml_type": "cpmls"}


def fine(call):
    pass


SAID = {
    "km/s": (in_km, "vp is 2.39 m/s at most, which looks like km/s.*multiply vp by 1000"),
    "a coarse grid": (coarse, "of 2000 m/s, have 1.7 cells of 60 m per wavelength at 19.6 Hz.*use dh of 19.4 m"),
    "zeros": (silent, "the wavelet is zero throughout.*ricker"),
    "plain layers": (plain_sides, "where guided waves of elastic may grow.*pass .'cpmls', 'mpmls'."),
    "nothing": (fine, None),
}
both = pytest.mark.parametrize("framework", ["torch", "jax"])


def example(framework):
    pytest.importorskip(framework)
    return sound(framework=framework)


def warned(solver, arguments) -> list:
    with warnings.catch_warnings(record=True) as output:
        warnings.simplefilter("always")
        solver(**arguments)
    return [w for w in output if issubclass(w.category, SweepWarning)]


@both
@pytest.mark.parametrize(("plant", "text"), SAID.values(), ids=SAID)
def test_a_solver_says_once_what_is_hardly_meant(framework, plant, text):
    call = example(framework)
    plant(call)
    solver, arguments = call.solver(), call.placed()
    if text is None:
        assert not warned(solver, arguments)
        return
    with pytest.warns(SweepWarning, match=f"{text}.*certify") as output:
        solver(**arguments)
    assert [w.filename for w in output if w.category is SweepWarning] == [__file__]
    assert not warned(solver, arguments)


@both
def test_two_samples_for_each_shot_are_looked_at_along_time(framework):
    """Not along the shots, where the wavelet does not change, though there are as many samples as source fields."""
    pytest.importorskip(framework)
    call = sound(AcousticVariableDensity, framework=framework, source_type=["p", "vz"])
    call.arguments["wavelet"] = np.array([[1, -1], [1, -1]])
    assert ["per wavelength at 333 Hz" in str(w.message) for w in warned(call.solver(), call.placed())] == [True]


@both
def test_each_solver_says_it(framework):
    call = example(framework)
    silent(call)
    assert [len(warned(call.solver(), call.placed())) for _ in range(2)] == [1, 1]


@both
def test_born_says_it_first_where_it_is_called_first(framework):
    call = example(framework)
    silent(call)
    solver, arguments = call.solver(), call.placed()
    with pytest.warns(SweepWarning, match="the wavelet is zero throughout") as output:
        solver.born(**arguments, perturbations=arguments["models"])
    assert [w.filename for w in output if w.category is SweepWarning] == [__file__]
    assert not warned(solver, arguments)


def test_what_is_traced_is_looked_at_when_it_can_be():
    jax = pytest.importorskip("jax")
    call = example("jax")
    silent(call)
    solver, arguments = call.solver(), call.placed()
    positions = {name: arguments.pop(name) for name in ("sources", "receivers")}
    assert not warned(jax.jit(lambda **g: solver(**positions, **g)), arguments)
    assert len(warned(solver, arguments | positions)) == 1


def test_a_call_of_no_shots_says_nothing():
    call = example("torch")
    silent(call)
    call.arguments["sources"] = call.arguments["sources"][:0]
    assert len(warned(call.solver(), call.placed())) == 1  # the wavelet is there all the same
    call.arguments["wavelet"] = np.zeros((0, 340))
    assert not warned(call.solver(), call.placed())
