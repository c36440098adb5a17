"""Problems are immutable values: compared, hashed and pickled by their arguments."""

import pickle

import attrs
import numpy as np
import pytest

from sweep_core import Acoustic, DomainError, MemoryOptions, OptionError, make_problem, native
from sweep_core.discretization.operators import axis_of
from sweep_core.numerics.stencils import (
    first_derivative,
    midpoint_mean,
    root_shift,
    second_derivative,
    second_derivative_root,
    staggered_derivative,
)

BASE = {"equation": Acoustic(4), "shape": (20, 30), "dh": 10.0, "dt": 1e-3}
OTHER = {
    "equation": Acoustic(6),
    "shape": (30, 20),
    "dh": (10.0, 5.0),
    "dt": 2e-3,
    "pml_width": 10,
    "pml_velocity": 2500.0,
    "pml_freq": 7.0,
    "memory": MemoryOptions("full", known_above=3),
    "free_surface": True,
    "source_scaling": "increment",
    "edge_gradient": "interior",
    "time_dispersion": "corrected",
}


@pytest.mark.parametrize("name", OTHER)
def test_problems_of_different_arguments_differ(name):
    first, same, other = make_problem(**BASE), make_problem(**BASE), make_problem(**{**BASE, name: OTHER[name]})
    assert first == same and hash(first) == hash(same)
    assert first != other and len({first, same, other}) == 2


def test_equivalent_arguments_give_equal_problems():
    arguments = {"shape": [np.int64(20), 30], "dh": (10, 10.0), "dt": np.float64(1e-3), "pml_width": [20] * 4}
    arguments |= {"source_type": ["h1"], "receiver_type": ("h1",), "pml_type": "cpmlr"}
    assert make_problem(**{**BASE, **arguments}) == make_problem(**BASE)


@pytest.mark.parametrize("name", ["dt", "grid", "equation", "memory"])
def test_problems_cannot_be_changed(name):
    problem = make_problem(**BASE)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(problem, name, None)
    with pytest.raises(ValueError, match="read-only"):
        native.tables(problem)[0] = 1


def test_problems_survive_pickling():
    problem = make_problem(**{**BASE, **OTHER})
    hash(problem)  # the cached hash must not travel to a process with other hashes of text
    copy = pickle.loads(pickle.dumps(problem))
    assert copy == problem and hash(copy) == hash(problem)
    np.testing.assert_array_equal(native.tables(copy), native.tables(problem))


def test_equations_are_values():
    assert Acoustic(4) == Acoustic(spatial_order=4) != Acoustic(6)
    assert Acoustic(4, device="cpu") != Acoustic(4) and hash(Acoustic(4)) == hash(Acoustic(4))
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Acoustic(4).spatial_order = 6


def test_one_equation_serves_many_problems():
    equation = Acoustic(8)
    problems = [make_problem(**{**BASE, "equation": equation, "shape": (n, n)}) for n in (20, 30)]
    assert problems[0].equation is problems[1].equation and problems[0] != problems[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shape": (2**16, 2**15)}, r"shape \(65536, 32768\) has 2151417408 cells with its PML, .* at most 2147483647"),
        ({"shape": (2**40, 20)}, "expected at most 2147483647"),
        ({"shape": (1300, 1300, 1300)}, r"in shape \(1340, 1340, 1340\); expected at most"),
        ({"pml_width": 2**62}, "cells with its PML, in shape"),
        ({"dh": 1e300}, "dh is 1e[+]300; expected positive, finite spacings, 1e-12 to 1e[+]12 m"),
        ({"dh": 1e-300}, "dh is 1e-300"),
        ({"dt": 1e-300}, "dt = 1e-300 s at dh = .*; expected dt / dh of 1e-15 to 1e[+]15 s/m"),
        ({"dt": 1e300}, "dt = 1e[+]300 s"),
    ],
    ids=lambda x: str(x) if isinstance(x, dict) else "",
)
def test_sizes_and_steps_out_of_range_are_refused(changes, message):
    with pytest.raises(DomainError, match=message):
        make_problem(**{**BASE, **changes})


def test_the_largest_grid_is_accepted():
    assert make_problem(**{**BASE, "shape": (2**15, 2**16 - 41), "pml_width": 0}).padded_shape == (2**15, 2**16 - 41)


def test_the_padded_shape_includes_the_pml():
    assert make_problem(**BASE, pml_width=(1, 2, 3, 4)).padded_shape == (23, 37)


def test_pressure_samples_begin_at_time_zero():
    np.testing.assert_array_equal(make_problem(**BASE).time("h1", 4), [0, 1e-3, 2e-3, 3e-3])


def test_time_of_a_field_that_is_not_recorded_is_refused():
    with pytest.raises(OptionError, match=r"field 'vx' is not recorded; expected one of receiver_type, \['h1'\]"):
        make_problem(**BASE).time("vx", 4)


@pytest.mark.parametrize("nt", [-1, 2.5, True, "a", None])
def test_bad_numbers_of_samples_are_refused(nt):
    problem = make_problem(**BASE)
    for times in (problem.time, problem.source_time):
        with pytest.raises(DomainError, match=f"nt is {nt!r}; expected a whole number of samples"):
            times("h1", nt)


def test_tables_hold_weights_scaled_by_the_step_and_profiles():
    problem = make_problem(**{**BASE, "dh": (10.0, 5.0)}, pml_width=(1, 2, 3, 4))
    table, at = native.tables(problem), 0
    for axis, (cells, spacing) in enumerate(zip((23, 37), (10.0, 5.0), strict=True)):
        scale = 1e-3 / spacing
        stencils = (staggered_derivative(4) * scale, first_derivative(4) * scale, second_derivative(4) * scale**2)
        expected_weights = (*stencils, midpoint_mean(4), second_derivative_root(4) * scale)
        for part, expected in zip(axis_of(problem, axis)[:5], expected_weights, strict=True):
            np.testing.assert_array_equal(part, expected)
        profiles = (problem.cpml.profiles(axis, cells, spacing, 1e-3, shift) for shift in (0, root_shift(4)))
        for part in (part for profile in profiles for part in profile):
            np.testing.assert_array_equal(table[at : at + len(part)], part)
            at += len(part)
    assert at == len(table)
