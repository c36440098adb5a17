"""A solver warns at its first call, once, with the caller's line."""

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


def unchanged(call):
    pass


WARNINGS = {
    "km/s": (in_km, "vp is 2.39 m/s at most, which looks like km/s.*multiply vp by 1000"),
    "a coarse grid": (coarse, "of 2000 m/s, have 1.7 cells of 60 m per wavelength at 19.6 Hz.*use dh of 19.4 m"),
    "zeros": (silent, "the wavelet is zero throughout.*ricker"),
    "plain layers": (plain_sides, "where guided waves of elastic may grow.*pass .'cpmls', 'mpmls'."),
    "nothing": (unchanged, None),
}
both = pytest.mark.parametrize("framework", ["torch", "jax"])


def example(framework):
    pytest.importorskip(framework)
    return sound(framework=framework)


def warnings_of(solver, arguments) -> list:
    with warnings.catch_warnings(record=True) as output:
        warnings.simplefilter("always")
        solver(**arguments)
    return [w for w in output if issubclass(w.category, SweepWarning)]


@both
@pytest.mark.parametrize(("plant", "text"), WARNINGS.values(), ids=WARNINGS)
def test_a_solver_warns_once_of_an_unlikely_setting(framework, plant, text):
    call = example(framework)
    plant(call)
    solver, arguments = call.solver(), call.placed()
    if text is None:
        assert not warnings_of(solver, arguments)
        return
    with pytest.warns(SweepWarning, match=f"{text}.*certify") as output:
        solver(**arguments)
    assert [w.filename for w in output if w.category is SweepWarning] == [__file__]
    assert not warnings_of(solver, arguments)


@both
def test_two_samples_for_each_shot_are_checked_along_time(framework):
    """The wavelet does not change along the shots. There are as many samples as source fields."""
    pytest.importorskip(framework)
    call = sound(AcousticVariableDensity, framework=framework, source_type=["p", "vz"])
    call.arguments["wavelet"] = np.array([[1, -1], [1, -1]])
    assert ["per wavelength at 333 Hz" in str(w.message) for w in warnings_of(call.solver(), call.placed())] == [True]


@both
def test_each_solver_warns(framework):
    call = example(framework)
    silent(call)
    assert [len(warnings_of(call.solver(), call.placed())) for _ in range(2)] == [1, 1]


@both
def test_born_warns_if_it_is_called_first(framework):
    call = example(framework)
    silent(call)
    solver, arguments = call.solver(), call.placed()
    with pytest.warns(SweepWarning, match="the wavelet is zero throughout") as output:
        solver.born(**arguments, perturbations=arguments["models"])
    assert [w.filename for w in output if w.category is SweepWarning] == [__file__]
    assert not warnings_of(solver, arguments)


def test_traced_values_are_checked_at_the_first_call_outside_jit():
    jax = pytest.importorskip("jax")
    call = example("jax")
    silent(call)
    solver, arguments = call.solver(), call.placed()
    positions = {name: arguments.pop(name) for name in ("sources", "receivers")}
    assert not warnings_of(jax.jit(lambda **g: solver(**positions, **g)), arguments)
    assert len(warnings_of(solver, arguments | positions)) == 1


def test_an_empty_wavelet_gives_no_warning():
    call = example("torch")
    silent(call)
    call.arguments["sources"] = call.arguments["sources"][:0]
    assert len(warnings_of(call.solver(), call.placed())) == 1  # the wavelet still has samples
    call.arguments["wavelet"] = np.zeros((0, 340))
    assert not warnings_of(call.solver(), call.placed())
