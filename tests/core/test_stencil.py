"""Taylor stencils are exact on polynomials, skew or symmetric, and have a sharp stability limit."""

from fractions import Fraction

import numpy as np
import pytest
from laws import ORDERS

from sweep_core import Acoustic, OptionError, Shots, check_call, make_problem
from sweep_core.discretization.array_ops import NumpyOps
from sweep_core.execution.reference import ReferenceExecutor
from sweep_core.numerics.stencils import (
    check_order,
    first_derivative,
    largest_speed,
    root_shift,
    second_derivative,
    second_derivative_root,
)

order = pytest.mark.parametrize("order", [*ORDERS, 12, 16, 20])


def apply(weights, values, sign):
    """Return sum_k w_k (f[+k] + sign f[-k]) at the middle of `values`."""
    middle = len(values) // 2
    return sum(w * (values[middle + k] + sign * values[middle - k]) for k, w in enumerate(weights, start=1))


@order
def test_first_derivative_is_exact_on_polynomials_up_to_its_order(order):
    half, exact = order // 2, [Fraction(float(w)).limit_denominator(10**9) for w in first_derivative(order)]
    for power in range(order + 2):
        values = [Fraction(k) ** power for k in range(-half, half + 1)]
        result = float(apply(exact, values, -1))
        assert (result == pytest.approx(float(power == 1), abs=1e-7)) == (power <= order)


@order
def test_second_derivative_is_exact_on_polynomials_up_to_its_order(order):
    half = order // 2
    centre, *side = (Fraction(float(w)).limit_denominator(10**12) for w in second_derivative(order))
    for power in range(order + 3):
        values = [Fraction(k) ** power for k in range(-half, half + 1)]
        result = float(centre * values[half] + apply(side, values, 1))
        assert (result == pytest.approx(2.0 * (power == 2), abs=1e-7)) == (power < order + 2)


def test_well_known_weights_are_reproduced():
    assert first_derivative(4) == pytest.approx([2 / 3, -1 / 12])
    assert second_derivative(4) == pytest.approx([-5 / 2, 4 / 3, -1 / 12])
    assert second_derivative(8) == pytest.approx([-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])


@order
def test_weights_are_shared_and_cannot_be_changed(order):
    assert first_derivative(order) is first_derivative(order)
    with pytest.raises(ValueError, match="read-only"):
        second_derivative(order)[0] = 0


@pytest.mark.parametrize("bad", [0, -2, 3, 4.0, True, "4", None, [4], 66, 10**9, 2**62], ids=repr)
def test_an_order_is_an_even_number_of_2_to_64(bad):
    with pytest.raises(OptionError, match=r"spatial_order is .*; expected an even number of 2 to 64"):
        check_order(bad)


@pytest.mark.parametrize("good", [2, np.int64(8), 30], ids=repr)
def test_an_order_may_be_any_integer(good):
    assert check_order(good) == good and type(check_order(good)) is int


def growth_after(order, dh, factor, steps=600):
    """Return the growth of noise in a box after some steps of `factor` times the largest stable dt."""
    shape, speed = (16, 18), 2000.0
    dt = factor * largest_speed(order, dh, 1.0) / speed
    problem = make_problem(Acoustic(order), shape, dh, dt, pml_width=0)
    object.__setattr__(problem, "dt", dt)
    wavelet = np.zeros((1, 1, steps))
    wavelet[..., 0] = 1
    x, z = np.meshgrid(range(shape[1]), range(shape[0]))
    everywhere = np.stack([x.ravel(), z.ravel()], axis=-1)[None]
    signs = np.where((x + z).ravel() % 2, -1.0, 1.0)  # the wavenumber that becomes unstable first
    shots = Shots(signs[None, :, None] * wavelet, everywhere, everywhere)
    models = [np.full(shape, speed)]
    record, _ = ReferenceExecutor._run(problem, shots, check_call(problem, shots, models), models)
    return np.abs(record[:, -20:]).max() / np.abs(record[:, 1]).max()


@pytest.mark.parametrize("dh", [(10.0, 10.0), (10.0, 6.0)], ids=str)
@pytest.mark.parametrize("order", ORDERS)
def test_the_stability_limit_is_sharp(order, dh):
    """A box oscillates for ever just below the limit and blows up just above; 16 cells hide 2 per cent."""
    assert growth_after(order, dh, 0.999) < 1e3
    assert growth_after(order, dh, 1.03) > 1e6


@pytest.mark.parametrize("shape", [(14, 9), (14, 8, 9)], ids=["2-D", "3-D"])
@pytest.mark.parametrize("parity", [-1, 1])
@pytest.mark.parametrize("order", [2, 4, 8])
def test_differences_at_a_free_surface_equal_those_of_the_mirrored_field(order, parity, shape):
    """An equation's own step takes such differences of its results."""
    field = np.random.default_rng(0).standard_normal((2, *shape))
    mirrored = np.concatenate([parity * field[:, :0:-1], field], 1)
    below, doubled = (
        NumpyOps(make_problem(Acoustic(order), x.shape[1:], 10.0, 1e-3, pml_width=0, free_surface=free), np.float64)
        for x, free in ((field, True), (mirrored, False))
    )
    for axis in range(len(shape)):
        for name in ("d1", "d2"):
            result, expected = getattr(below, name)(field, axis, parity), getattr(doubled, name)(mirrored, axis)
            np.testing.assert_allclose(result, expected[:, shape[0] - 1 :], rtol=0, atol=1e-14)


@pytest.mark.parametrize("order", [2, 4, 6, 8, 16, 64])
def test_the_root_times_its_transpose_is_minus_the_second_derivative(order):
    whole = np.convolve([1, -1], second_derivative_root(order))
    np.testing.assert_allclose(
        -np.correlate(whole, whole, "full")[order // 2 :], second_derivative(order), rtol=0, atol=1e-14
    )


@pytest.mark.parametrize("order", [2, 4, 8, 64])
def test_the_root_takes_the_derivative_where_its_shift_says(order):
    """It is exact for parabolas there: R x^2 = 2 (shift), x counted from the node."""
    k = np.arange(1, order // 2 + 1)
    weights = second_derivative_root(order)
    assert (weights * ((2 - k) - (1 - k))).sum() == pytest.approx(1, abs=1e-14)
    assert (weights * ((2 - k) ** 2 - (1 - k) ** 2)).sum() == pytest.approx(2 * root_shift(order), abs=1e-13)


def test_the_root_of_order_4_is_known_in_closed_form():
    assert second_derivative_root(4) == pytest.approx([(1 + (4 / 3) ** 0.5) / 2, (1 - (4 / 3) ** 0.5) / 2], abs=1e-15)
