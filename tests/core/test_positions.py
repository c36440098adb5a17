"""Positions become weighted cells: interpolation, folding at a free surface, positions beyond the layers."""

import numpy as np
import pytest

from sweep_core import Acoustic, Elastic, make_problem
from sweep_core.acquisition.positions import RADIUS, points_of

SHAPE, PML = (24, 30), (6, 5, 4, 7)


def problem(**options):
    return make_problem(Acoustic(4), SHAPE, 10.0, 1e-3, **({"pml_width": PML} | options))


def read(example, positions, wave, xp=np):
    """Return the value of wave(z, x), in cells of the model, that a receiver at each position records."""
    (points,) = points_of(xp, example, ["h1"], positions, 1)
    (top, bottom), (left, right) = example.pml
    z, x = np.meshgrid(np.arange(-top, SHAPE[0] + bottom), np.arange(-left, SHAPE[1] + right), indexing="ij")
    return (np.asarray(points.weights) * wave(z, x).ravel()[np.asarray(points.cells)]).sum(-1)[0]


def positions(low=0.0, count=200):
    rng = np.random.default_rng(0)
    return np.stack([rng.uniform(0, SHAPE[1] - 1, count), rng.uniform(low, SHAPE[0] - 1, count)], -1)[None]


@pytest.mark.parametrize(("cycles", "tolerance"), [(0.1, 1e-3), (0.25, 3e-3)])
def test_plane_waves_are_interpolated(cycles, tolerance):
    """The wave has up to 0.25 cycles a cell, half of Nyquist, for which Hicks (2002) chose the window."""

    def wave(z, x):
        return np.cos(2 * np.pi * cycles * (0.8 * x + 0.6 * z) + 0.3)

    at = positions()
    assert np.abs(read(problem(), at, wave) - wave(at[0, :, 1], at[0, :, 0])).max() < tolerance


@pytest.mark.parametrize("at", [(11.3, 9.85), (11.004, 10.996)], ids=str)
def test_weights_are_those_of_hicks(at):
    """sinc(x) I0(b sqrt(1 - (x / r)^2)) / I0(b), with r = 4 and b = 6.31 (Hicks 2002, table 4); beside a node, too."""
    (points,) = points_of(np, problem(), ["h1"], np.array([[at]]), 1)
    across, down = (np.arange(-3, 5) - x % 1 for x in at)
    columns, rows = (np.sinc(x) * np.i0(6.31 * np.sqrt(1 - (x / 4) ** 2)) / np.i0(6.31) for x in (across, down))
    np.testing.assert_allclose(points.weights[0, 0], np.outer(rows, columns).ravel(), rtol=0, atol=1e-13)


def test_a_fold_is_the_mirror_image():
    """An odd wave is read above the surface as below it."""
    setup = problem(free_surface=True, pml_width=(0, *PML[1:]))

    def wave(z, x):
        return np.sin(0.5 * z) * np.cos(0.4 * x)

    at = positions(low=0.05)
    assert np.abs(read(setup, at, wave) - wave(at[0, :, 1], at[0, :, 0])).max() < 3e-3
    (points,) = points_of(np, setup, ["h1"], at, 1)
    assert (points.cells >= 0).all(), "nothing is read above the grid"
    below = points.cells // setup.padded_shape[1] > 0
    assert (points.weights[~below] == 0).all(), "nothing is read on the surface"


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float32, np.float64])
def test_a_node_is_its_own_cell(dtype):
    at = np.array([[[0, 0], [29, 23], [7, 11]]])
    (points,) = points_of(np, problem(pml_width=0), ["h1"], at.astype(dtype), 1)
    assert points.cells.shape == (1, 3, 1 if np.issubdtype(dtype, np.integer) else (2 * RADIUS) ** 2)
    alone = np.abs(points.weights) > 1e-12
    assert (alone.sum(-1) == 1).all() and np.allclose(points.weights[alone], 1)
    np.testing.assert_array_equal(points.cells[alone], [0, 23 * 30 + 29, 11 * 30 + 7])


OUTSIDE = {
    "left": (-0.001, 5),
    "below": (5, 23.001),
    "nan": (np.nan, 5),
    "inf": (5, np.inf),
    "taps left": (0.5, 5),
    "taps right": (28.5, 5),
    "taps below": (5, 22.5),
}


@pytest.mark.parametrize("at", OUTSIDE.values(), ids=OUTSIDE)
def test_unusable_positions_are_marked(at):
    with np.errstate(invalid="ignore"):
        (points,) = points_of(np, problem(pml_width=2), ["h1"], np.array([[at, (5.5, 5.5)]]), 1)
    assert (points.cells[0, 0] == -1).all() and (points.cells[0, 1] >= 0).all()


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_positions_on_the_free_surface_are_marked(dtype):
    setup = problem(free_surface=True, pml_width=(0, 5, 5, 5))
    cells = points_of(np, setup, ["h1"], np.array([[[3, 0], [3, 1]]], dtype), 1)[0].cells
    assert (cells[0, 0] == -1).all() and (cells[0, 1] >= 0).all()


@pytest.mark.parametrize("shape", [(24, 30), (12, 13, 14)])
@pytest.mark.parametrize("free_surface", [False, True])
def test_several_fields_have_the_points_of_each_field(free_surface, shape):
    pml = (0 if free_surface else 6, *(5,) * (2 * len(shape) - 1))
    setup = make_problem(Elastic(4), shape, 10.0, 1e-3, free_surface=free_surface, pml_width=pml)
    at = np.random.default_rng(0).uniform(0.1, 11, (2, 9, len(shape)))
    names = [field.name for field in setup.fields]
    for name, points in zip(names, points_of(np, setup, names, at, 2), strict=True):
        (alone,) = points_of(np, setup, [name], at, 2)
        np.testing.assert_array_equal(points.cells, alone.cells, name)
        np.testing.assert_array_equal(points.weights, alone.weights, name)


@pytest.mark.parametrize("free_surface", [False, True])
def test_every_library_gives_the_same_points(free_surface):
    setup, at = problem(free_surface=free_surface, pml_width=(0, *PML[1:]) if free_surface else PML), positions(0.1)
    (expected,) = points_of(np, setup, ["h1"], at, 1)
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    for xp, x in ((torch, torch.tensor(at)), (jax.numpy, jax.numpy.asarray(at))):
        (points,) = points_of(xp, setup, ["h1"], x, 1)
        np.testing.assert_array_equal(np.asarray(points.cells), expected.cells)
        np.testing.assert_allclose(np.asarray(points.weights), expected.weights, atol=1e-15)
