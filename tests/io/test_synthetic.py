"""The synthetic model is plausible geology, and the same for the same seed."""

import numpy as np
import pytest

from sweep_core.errors import DomainError, DtypeError, ShapeError
from sweep_core.io import downsample, faulted_model, find_water
from sweep_core.io.synthetic import _Fault, _Waves

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", [(16, 16), (94, 288), (120, 40), (30, 200)])
def test_every_seed_and_size_gives_a_valid_model(shape, seed):
    model = faulted_model(shape, 20.0, seed)
    assert model.shape == shape and model.dh == 20.0 and model.name == f"faulted-{seed}"
    rock = model.true[~model.water]
    assert set(np.unique(model.true[model.water])) == {1500.0}
    assert 1539 < rock.min() and 2900 < rock.max() <= 4500
    assert model.water[0].all() and not model.water[shape[0] // 2 :].any()
    np.testing.assert_array_equal(find_water(model.true), model.water)


@pytest.mark.parametrize("seed", SEEDS)
def test_models_are_suitable_for_inversion(seed):
    model = faulted_model((94, 288), 25.0, seed)
    rows, rock = model.water.sum(axis=0), ~model.water
    assert np.ptp(rows) >= 3, "the seafloor has relief"
    profile = np.array([row[dry].mean() for row, dry in zip(model.true[20:], rock[20:], strict=True)])
    assert np.polyfit(np.arange(len(profile)), profile, 1)[0] > 10, "speed increases with depth, in m/s per cell"
    error = (model.initial - model.true)[rock]
    assert 100 < np.sqrt((error**2).mean()) < 450, "the start has a moderate error"
    rough = [np.abs(np.diff(m, axis=0))[rock[:-1]].mean() for m in (model.true, model.initial)]
    assert rough[1] < 0.5 * rough[0]
    assert model.true.max() > 4400, "the model has a fast lens"


def test_the_seed_determines_the_model_and_the_spacing_does_not():
    first, again, other = (faulted_model((60, 90), 20.0, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.true, again.true)
    np.testing.assert_array_equal(first.initial, again.initial)
    assert np.abs(first.true - other.true).max() > 500
    np.testing.assert_array_equal(first.true, faulted_model((60, 90), 5.0, 3).true)


def test_a_finer_grid_shows_the_same_earth():
    coarse, fine = faulted_model((101, 201), 20.0, 5), faulted_model((201, 401), 10.0, 5)
    true, water = downsample(fine.true, 10.0, 20.0, fine.water)
    assert np.mean(water != coarse.water) < 0.01
    assert np.corrcoef(true.ravel(), coarse.true.ravel())[0, 1] > 0.99


def test_more_faults_break_more_beds():
    def breaks(count):
        models = [faulted_model((120, 240), 20.0, seed, faults=count).true for seed in range(6)]
        return np.mean([(np.abs(np.diff(m, axis=1)) > 250).mean() for m in models])

    assert breaks(0) < 0.8 * breaks(4) < 0.8 * breaks(12)


def test_a_fault_moves_the_hanging_wall_down():
    fault = _Fault(surface=1.0, side=1, dip=np.radians(60.0), slip=0.1)
    x, z = fault.undo(np.array([1.1, 2.0]), np.array([0.5, 0.5]))  # the plane is at x = 1.29 there
    np.testing.assert_allclose(x, [1.1, 2.0 - 0.05])
    np.testing.assert_allclose(z, [0.5, 0.5 - 0.1 * np.sin(np.radians(60.0))])


def test_a_curve_stays_within_its_amplitude():
    curve = _Waves.draw(np.random.default_rng(0), 0.3, 0.4, 2.0)
    assert 0.05 < np.abs(curve(np.linspace(0, 50, 5000))).max() <= 0.3


def test_the_water_has_the_requested_depth():
    model = faulted_model((100, 300), 10.0, 1, water_depth=250.0)
    assert abs(model.water.sum(axis=0).mean() * 10.0 - 250.0) < 60.0


def test_radii_and_passes_smooth_the_start():
    sharp = faulted_model((60, 90), 20.0, radii=(1, 1), passes=1)
    soft = faulted_model((60, 90), 20.0, radii=(6, 6), passes=3)
    np.testing.assert_array_equal(sharp.true, soft.true)
    assert np.abs(sharp.initial - sharp.true).mean() < 0.6 * np.abs(soft.initial - soft.true).mean()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"shape": 100}, ShapeError, r"expected \(nz, nx\)"),
        ({"shape": (15, 100)}, ShapeError, "at least 16"),
        ({"shape": (50.0, 100)}, DtypeError, "integers"),
        ({"seed": -1}, DomainError, "seed is -1"),
        ({"seed": "a"}, DtypeError, "integers"),
        ({"faults": -1}, DomainError, "faults is -1"),
        ({"dh": 0.0}, DomainError, "dh is 0.0"),
        ({"dh": (10, 10)}, DtypeError, "dh is"),
        ({"water_depth": 5.0}, DomainError, "water_depth is 5 m; expected from one cell, 10 m, .* 245 m"),
        ({"water_depth": 300.0}, DomainError, "water_depth is 300 m"),
        ({"water_depth": "deep"}, DtypeError, "water_depth is 'deep'"),
        ({"radii": (-1, 1)}, DomainError, "radii"),
    ],
)
def test_bad_options_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        faulted_model(**{"shape": (50, 100), "dh": 10.0, **changes})
