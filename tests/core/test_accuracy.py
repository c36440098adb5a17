"""The dispersion relation of the differences agrees with the differences themselves."""

import numpy as np
import pytest

from sweep_core import Acoustic, AcousticVariableDensity, Elastic
from sweep_core.acquisition.wavelets import energy_below, ricker
from sweep_core.numerics.numerical_dispersion import cells_needed, phase_error
from sweep_core.numerics.stencils import second_derivative, staggered_derivative

ORDERS = (2, 4, 8, 12)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("cells", [2.5, 4.0, 8.0])
def test_the_dispersion_relation_agrees_with_derivatives_of_a_wave(order, cells):
    """D2 of a sine, and two staggered D, give -k^2 times the sine; k is too small by the error."""
    k = 2 * np.pi / cells
    w = second_derivative(order)
    outcome = -(w[0] + 2 * sum(w[j] * np.cos(j * k) for j in range(1, len(w))))
    assert phase_error(Acoustic(spatial_order=order), 2, cells) == pytest.approx(
        1 - np.sqrt(outcome) / k, rel=1e-9, abs=1e-15
    )
    d = staggered_derivative(order)
    outcome = 2 * sum(d[j] * np.sin((j + 0.5) * k) for j in range(len(d)))
    for equation in (AcousticVariableDensity, Elastic):
        assert phase_error(equation(spatial_order=order), 3, cells) == pytest.approx(
            1 - outcome / k, rel=1e-9, abs=1e-15
        )


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("equation", [Acoustic, Elastic])
def test_the_cells_needed_give_the_error(order, equation):
    for error in (0.003, 0.01, 0.1):
        cells = cells_needed(equation(spatial_order=order), 2, error)
        assert phase_error(equation(spatial_order=order), 2, cells) == pytest.approx(error, rel=0.05)


def test_a_grid_has_no_wave_of_two_cells():
    assert phase_error(Acoustic(spatial_order=8), 2, 1.9) == 1


def test_waves_on_the_grid_have_the_predicted_speed():
    """The phase is that of a periodic line of cells after many tiny time steps with D2."""
    cells, order, dt, n = 5, 4, 0.01, 400
    w, x = second_derivative(order), np.arange(100)
    k = 2 * np.pi / cells
    speed = 1 - phase_error(Acoustic(spatial_order=order), 2, cells)
    old, new = np.cos(k * (x + speed * dt)), np.cos(k * x)
    for _ in range(n):
        second = w[0] * new + sum(w[j] * (np.roll(new, j) + np.roll(new, -j)) for j in range(1, len(w)))
        old, new = new, 2 * new - old + dt**2 * second
    assert np.abs(new - np.cos(k * (x - speed * n * dt))).max() < 1e-4
    assert np.abs(new - np.cos(k * (x - n * dt))).max() > 0.05


def test_the_energy_of_a_ricker_lies_below_twice_its_peak_frequency():
    """99 % of it lies below 1.93 times the peak, by the integral of f^4 exp(-2 f^2)."""
    f = np.linspace(0, 6, 60001)
    total = np.cumsum(f**4 * np.exp(-2 * f**2))
    expected = 10 * f[np.searchsorted(total, 0.99 * total[-1])]
    assert energy_below(ricker(10.0, 4000, 1e-3), 1e-3, 0.99) == pytest.approx(expected, rel=0.02)
    assert energy_below(np.zeros(9), 1e-3, 0.99) == 0
