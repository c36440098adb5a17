"""PML widths and profiles."""

import itertools

import numpy as np
import pytest

from sweep_core import Acoustic, DomainError, Elastic, OptionError, ShapeError, make_problem
from sweep_core.discretization.array_ops import NumpyOps, coefficients_of
from sweep_core.discretization.operators import axis_of
from sweep_core.numerics.cpml import CPML, widths


@pytest.mark.parametrize(
    ("value", "ndim", "expected"),
    [
        (0, 2, ((0, 0), (0, 0))),
        (20, 2, ((20, 20), (20, 20))),
        (np.int32(3), 2, ((3, 3), (3, 3))),
        ((1, 2, 3, 4), 2, ((1, 2), (3, 4))),
        ([0, 5, 0, 0, 7, 7], 3, ((0, 5), (0, 0), (7, 7))),
    ],
    ids=str,
)
def test_widths_are_one_number_or_one_per_face(value, ndim, expected):
    assert widths(value, ndim) == expected


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (-1, DomainError, "pml_width is -1; expected whole numbers"),
        ((1, 2, 3, -4), DomainError, r"pml_width is \(1, 2, 3, -4\)"),
        (2.0, OptionError, r"pml_width is 2.0; expected a number of cells, or one per face \('top', 'bottom'"),
        ((1, 2, 3, 4.5), DomainError, "expected whole numbers"),
        ((1, 2, 3, True), DomainError, "expected whole numbers"),
        (True, OptionError, "pml_width is True"),
        (b"full", OptionError, "pml_width is b'full'"),
        (np.array(20), OptionError, r"pml_width is array\(20\); expected a number of cells"),
        (None, OptionError, "pml_width is None"),
        ((1, 2, 3), ShapeError, "pml_width has 3 values; expected one, or one per face"),
    ],
    ids=str,
)
def test_bad_widths_are_refused(value, kind, message):
    with pytest.raises(kind, match=message):
        widths(value, 2)


@pytest.mark.parametrize("value", [20, (0, 20, 20, 20)], ids=str)
def test_a_free_surface_has_no_layer(value):
    assert widths(value, 2, free_surface=True) == ((0, 20), (20, 20))
    with pytest.raises(
        OptionError, match=r"pml_width is \(1, 5, 5, 5\) with a free surface on top; expected 0 as its first value"
    ):
        widths((1, 5, 5, 5), 2, free_surface=True)


def profiles(width=(6, 4), cells=30, dt=1e-3, types=("cpmls", "cpmls"), **options):
    return CPML((width, (0, 0)), types, **options).profiles(0, cells, 10.0, dt)


def test_nothing_is_damped_inside():
    decay, gain, _ = profiles()
    assert not decay[6:-4].any() and not gain[6:-4].any()
    assert (decay[:6] > 0).all() and (gain[:6] < 0).all() and (decay[-4:] > 0).all() and (gain[-4:] < 0).all()


def test_damping_grows_outwards():
    decay, gain, _ = profiles()
    assert (np.diff(decay[:6]) > 0).all() and (np.diff(gain[:6]) > 0).all()
    assert (np.diff(decay[-4:]) < 0).all()


def test_the_memory_fades_and_never_amplifies():
    """|b| < 1, and 1 + a / (1 - b), the stretch at zero frequency, stays positive."""
    for width in (1, 5, 20, 100):
        decay, gain, _ = profiles((width, width), 3 * width)
        assert (decay < 1).all() and (decay >= 0).all()
        assert (1 + gain / (1 - decay) > -1e-12).all()


def test_faces_mirror_each_other():
    decay, gain, damping = profiles((7, 7), types=("mpmls", "cpmls"))
    np.testing.assert_array_equal(decay, decay[::-1])
    np.testing.assert_array_equal(gain, gain[::-1])
    np.testing.assert_array_equal(damping, damping[::-1])


def test_the_damping_reaches_the_target_reflection():
    """exp(-2 / velocity times the integral of d) is R for each width."""
    for width in (5, 10, 20, 50):
        dt, spacing = 1e-6, 10.0
        cpml = CPML(((width, 0), (0, 0)), ("cpmls", "cpmls"), freq=1e-9)
        decay, _, _ = cpml.profiles(0, 3 * width, spacing, dt)
        d = -np.log(decay[:width]) / dt
        integral = spacing * (d.sum() - d[0] / 2)
        assert np.exp(-2 * integral / cpml.velocity) == pytest.approx(cpml.reflection(width), rel=0.25)


def test_low_frequencies_are_shifted_least_at_the_outer_end():
    """By b and a, alpha falls from pi freq at the beginning of a layer to zero at its end, and d grows."""
    dt, width, freq = 1e-4, 6, 7.0
    result = profiles((width, 0), dt=dt, freq=freq, types=("mpmls", "cpmls"))
    decay, gain, damping = (values[:width][::-1] for values in result)
    both = -np.log(decay) / dt
    d = gain / (decay - 1) * both
    depth = np.arange(1, width + 1) / width
    np.testing.assert_allclose(both - d, np.pi * freq * (1 - depth), rtol=0, atol=1e-9 * both.max())
    np.testing.assert_allclose(d, d[-1] * depth**2, rtol=1e-9)
    np.testing.assert_allclose(-np.log(damping) / dt, d[-1] * depth**8, rtol=1e-7)
    assert (result.damping[width:] == 1).all()


def test_a_wider_layer_aims_lower():
    for order in (2, 4, 8):
        cpml = CPML(((0, 0), (0, 0)), ("cpmls", "cpmls"), decades=2 + 1.5 * order)
        targets = [cpml.reflection(width) for width in range(1, 60)]
        assert all(a >= b for a, b in itertools.pairwise(targets)) and targets[-1] < 1e-6 < targets[0]


@pytest.mark.parametrize("name", ["velocity", "freq"])
@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")], ids=repr)
def test_design_values_are_positive(name, bad):
    with pytest.raises(DomainError, match=f"pml_{name} is {bad}; expected a positive number"):
        make_problem(Acoustic(), (20, 20), 10.0, 1e-3, **{f"pml_{name}": bad})


def test_design_values_are_part_of_the_problem():
    first, other = (make_problem(Acoustic(), (20, 20), 10.0, 1e-3, pml_velocity=v) for v in (2000.0, 3000.0))
    assert first != other
    assert (axis_of(first, 0).whole.decay != axis_of(other, 0).whole.decay).any()


@pytest.mark.parametrize(("field", "coefficient", "shift"), [("vx", "bx", 0.5), ("sxx", "pi", 0.0)])
def test_a_multiaxial_layer_damps_fields_and_half_as_much_their_rates(field, coefficient, shift):
    """f <- exp(-g dt) f + exp(-g dt / 2) c e at the nodes of f; g rises with the eighth power of the depth."""
    arguments = {"equation": Elastic(4), "shape": (20, 30), "dh": 10.0, "dt": 1e-3, "pml_width": (0, 0, 6, 6)}
    plain, damped = (make_problem(**arguments, pml_type=kind) for kind in ("cpmls", ("cpmls", "mpmls")))
    models = [np.full((20, 30), value) for value in (3000.0, 1700.0, 2000.0)]
    rates = [
        coefficients_of(problem, models, 1, np, None)[problem.coefficient_names.index(coefficient)][0]
        for problem in (plain, damped)
    ]
    at = np.arange(42) + shift
    depth = np.maximum(np.maximum(6 - at, at - (41 - 6)), 0) / 6
    step = 1.5 * 3000 * np.log(1 / damped.cpml.reflection(6)) / 60 * depth**8 * 1e-3
    np.testing.assert_allclose(rates[1] / rates[0], np.exp(-step / 2) + np.zeros((20, 1)), rtol=1e-12)
    ones = np.ones((1, 20, 42))
    np.testing.assert_allclose(
        NumpyOps(damped, np.float64).damped(damped.field(field), ones), np.exp(-step) * ones, rtol=1e-12
    )
    assert NumpyOps(plain, np.float64).damped(plain.field(field), ones) is ones
