"""Files of prepared models, and the smoothing and resampling of models."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweep_core.errors import CheckpointError, DomainError, DtypeError, ShapeError
from sweep_core.io import PreparedModel, downsample, find_water, read_prepared, smooth, write_prepared


def earth(nz=20, nx=15, rows=4, seed=0):
    """Return random rock under water of varying depth: (vp, water)."""
    rng = np.random.default_rng(seed)
    vp = rng.uniform(1600, 4500, (nz, nx)).astype(np.float32)
    water = np.arange(nz)[:, None] < rows + rng.integers(0, 3, nx)[None, :]
    vp[water] = 1500.0
    return vp, water


def model(**changes):
    vp, water = earth()
    values = {"true": vp, "initial": smooth(vp, water, (2, 3), 2), "water": water, "dh": 12.5, "name": "test"}
    return PreparedModel(**{**values, **changes})


@st.composite
def cases(draw):
    nz, nx = draw(st.integers(1, 14)), draw(st.integers(1, 14))
    seed = draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    vp = rng.uniform(1510, 5000, (nz, nx)).astype(np.float32)
    water = np.arange(nz)[:, None] < rng.integers(0, nz + 1, nx)[None, :]
    vp[water] = 1500.0
    radii = draw(st.integers(0, 20)), draw(st.integers(0, 20))
    return vp, water, radii, draw(st.integers(1, 4))


def test_importing_io_loads_no_heavy_library():
    heavy = "{'scipy', 'segyio', 'matplotlib', 'torch', 'jax'}"
    code = f"import sys, sweep_core.io; print(*{heavy} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip() == b""


def test_a_model_is_read_back_unchanged(tmp_path):
    original = model()
    path = write_prepared(tmp_path / "deep" / "folder" / "m.npz", original)
    read = read_prepared(path, dh=12.5)
    for key in ("true", "initial", "water"):
        np.testing.assert_array_equal(getattr(read, key), getattr(original, key))
        assert getattr(read, key).dtype == getattr(original, key).dtype
    assert (read.dh, read.name, read.shape) == (12.5, "test", (20, 15))
    assert [p.name for p in path.parent.iterdir()] == ["m.npz"]
    assert read != original and hash(read) != hash(original), "instances compare by identity"


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = write_prepared(tmp_path / "m.npz", model())
    before = path.read_bytes()

    def full(stream, **entries):
        stream.write(b"half of it")
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space"):
        write_prepared(path, model(name="other"))
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]


def test_the_error_for_another_spacing_names_both_and_the_remedy(tmp_path):
    path = write_prepared(tmp_path / "m.npz", model())
    with pytest.raises(DomainError, match=r"dh is 25 m; expected 12\.5 m.*seismic-sweep model .* --target-dh 25"):
        read_prepared(path, dh=25)
    assert read_prepared(path, dh=12.5 * (1 + 1e-9)).dh == 12.5


def _save(path, **changes):
    m = model()
    entries = {"format": "sweep-prepared-model", "version": 1, "name": "x", "dh": 12.5}
    entries |= {"true": m.true, "initial": m.initial, "water": m.water}
    entries |= changes
    np.savez(path, **{key: value for key, value in entries.items() if value is not None})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "sourdough"}, "not written by SWEEP"),
        ({"format": np.zeros(3)}, "not written by SWEEP"),
        ({"version": 2}, "format version of .* is 2; expected 1"),
        ({"water": None}, "has no water"),
        ({"format": None, "dh": None}, "has no format, dh"),
        ({"dh": -1.0}, "valid model: dh is -1.0"),
        ({"dh": np.ones(2)}, "valid model"),
        ({"name": 3}, "valid model: name"),
        ({"true": np.ones((3, 3), np.float32)}, r"valid model: initial has shape \(20, 15\)"),
        ({"true": np.array([object()])}, "Object arrays cannot be loaded"),
    ],
)
def test_a_foreign_archive_is_refused(tmp_path, changes, message):
    path = tmp_path / "m.npz"
    _save(path)
    read_prepared(path)
    _save(path, **changes)
    with pytest.raises(CheckpointError, match=message) as error:
        read_prepared(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"hello", b"\x80\x04K\x01.", b"\x93NUMPY\x01\x00"])
def test_a_file_without_an_archive_is_refused(tmp_path, content):
    path = tmp_path / "m.npz"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="cannot be read as a prepared model"):
        read_prepared(path)


def test_a_bare_array_a_missing_file_and_a_folder_are_refused(tmp_path):
    np.save(tmp_path / "bare.npy", np.ones((3, 3), np.float32))
    with pytest.raises(CheckpointError, match="one bare array"):
        read_prepared(tmp_path / "bare.npy")
    with pytest.raises(CheckpointError, match="there is no file.*seismic-sweep model "):
        read_prepared(tmp_path / "none.npz")
    with pytest.raises(CheckpointError, match="cannot be read"):
        read_prepared(tmp_path)


def test_bytes_in_place_of_an_array_are_refused(tmp_path):
    path = write_prepared(tmp_path / "m.npz", model())
    with zipfile.ZipFile(path) as old:
        entries = {name: old.read(name) for name in old.namelist()}
    entries["water.npy"] = b"not an array"
    with zipfile.ZipFile(path, "w") as new:
        for name, content in entries.items():
            new.writestr(name, content)
    with pytest.raises(CheckpointError, match="entry water: the magic string"):
        read_prepared(path)


def test_damage_raises_one_error_or_changes_nothing(tmp_path):
    whole = model()
    path = write_prepared(tmp_path / "m.npz", whole)
    clean, rng, refused = path.read_bytes(), np.random.default_rng(1), 0
    for _ in range(250):
        damaged = bytearray(clean)
        for place in rng.integers(0, len(clean), rng.integers(1, 4)):
            damaged[place] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(damaged[: rng.integers(1, len(clean))] if rng.random() < 0.2 else damaged))
        try:
            read = read_prepared(path)
        except CheckpointError:
            refused += 1
        else:  # the checksums of zip guard the arrays
            np.testing.assert_array_equal(read.true, whole.true)
            np.testing.assert_array_equal(read.initial, whole.initial)
    assert refused > 150


# The model


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"true": [[1500.0]]}, DtypeError, "true is list"),
        ({"true": np.full((20, 15), 2000)}, DtypeError, "array of int64"),
        ({"initial": np.full((20, 15), 2000.0)}, DtypeError, "initial is float64; expected float32"),
        ({"true": np.ones(300, np.float32)}, ShapeError, r"shape \(300,\); expected \(nz, nx\)"),
        ({"true": np.ones((0, 15), np.float32)}, ShapeError, "neither of them zero"),
        ({"initial": np.full((15, 20), 2000, np.float32)}, ShapeError, r"\(15, 20\).*\(20, 15\)"),
        ({"initial": np.full((20, 15), np.nan, np.float32)}, DomainError, "nan"),
        ({"initial": np.full((20, 15), np.inf, np.float32)}, DomainError, "finite and above zero"),
        ({"initial": np.zeros((20, 15), np.float32)}, DomainError, "initial is 0 to 0 m/s"),
        (
            {"initial": np.full((20, 15), 2000, np.float32)},
            DomainError,
            "differs from true in .* cells of water",
        ),
        ({"water": np.ones((20, 15), np.int8)}, DtypeError, "water is an array of int8"),
        ({"water": None}, DtypeError, "water is NoneType"),
        ({"water": np.ones((20, 14), bool)}, ShapeError, "water has shape"),
        ({"water": np.ones((20, 15), bool)}, DomainError, "every cell is water"),
        ({"dh": 0}, DomainError, "dh is 0;"),
        ({"dh": float("nan")}, DomainError, "dh is nan"),
        ({"dh": (12.5, 12.5)}, DtypeError, "one number"),
        ({"dh": True}, DtypeError, "one number"),
        ({"name": " "}, DtypeError, "not empty"),
    ],
)
def test_an_invalid_model_is_refused(changes, error, message):
    with pytest.raises(error, match=message):
        model(**changes)


def test_a_model_without_water_is_accepted():
    vp, _ = earth(rows=0)
    none = np.zeros(vp.shape, bool)
    assert model(true=vp, initial=smooth(vp, none, (1, 1)), water=none).shape == (20, 15)


# The water


def test_find_water_returns_the_column_from_the_top():
    vp, water = earth()
    vp[15, :3] = 1500.0  # a pocket with the velocity of water far below
    np.testing.assert_array_equal(find_water(vp), water)
    np.testing.assert_array_equal(find_water(vp, 1500), water)
    np.testing.assert_array_equal(find_water(vp.astype(np.float64)), water)
    assert not find_water(vp, 1480.0).any()


def test_find_water_finds_none_on_an_island_or_on_land():
    vp, water = earth()
    vp[:, 5] = 2000.0
    water[:, 5] = False
    np.testing.assert_array_equal(find_water(vp), water)
    assert not find_water(np.full((4, 4), 2000, np.float32)).any()
    assert find_water(np.full((4, 4), 2000, np.float32), 2000).all()


@pytest.mark.parametrize(("velocity", "error"), [(0, DomainError), (np.inf, DomainError), ("x", DtypeError)])
def test_an_invalid_water_velocity_is_refused(velocity, error):
    with pytest.raises(error, match="velocity is"):
        find_water(earth()[0], velocity)


# Smoothing


@settings(max_examples=60, deadline=None)
@given(cases())
def test_smoothing_keeps_the_water_and_the_range_of_the_rock(case):
    vp, water, radii, passes = case
    result = smooth(vp, water, radii, passes)
    assert result.dtype == np.float32 and result.shape == vp.shape
    np.testing.assert_array_equal(result[water], vp[water])
    if not water.all():
        assert vp[~water].min() <= result[~water].min() and result[~water].max() <= vp[~water].max()


@settings(max_examples=40, deadline=None)
@given(cases(), st.floats(300, 9000, width=32))
def test_constant_rock_stays_constant_under_any_water(case, velocity):
    vp, water, radii, passes = case
    vp[~water] = velocity
    np.testing.assert_array_equal(smooth(vp, water, radii, passes), vp)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_smoothing_averages_slowness_of_rock_in_a_mirrored_window(case):
    vp, water, (rz, rx), _ = case
    pad = ((rz, rz), (rx, rx))
    slowness = np.pad(1 / vp.astype(np.float64), pad, mode="symmetric")
    rock = np.pad(~water, pad, mode="symmetric")
    expected = vp.astype(np.float64)
    for z, x in zip(*np.nonzero(~water), strict=True):
        window = np.s_[z : z + 2 * rz + 1, x : x + 2 * rx + 1]
        expected[z, x] = 1 / slowness[window][rock[window]].mean()
    np.testing.assert_allclose(smooth(vp, water, (rz, rx), 1), expected, rtol=2e-7)


def test_passes_add_up_and_the_radius_has_the_documented_width():
    vp, water = earth()
    np.testing.assert_allclose(
        smooth(vp, water, (2, 3), 2), smooth(smooth(vp, water, (2, 3), 1), water, (2, 3), 1), rtol=1e-6
    )
    spike = np.full((201, 1), 2000.0)
    spike[100] = 2000.5
    change = 1 / 2000.0 - 1 / smooth(spike.astype(np.float64), np.zeros((201, 1), bool), (8, 0), 3).astype(float)
    z = np.arange(201) - 100
    weights = change[:, 0] / change.sum()
    assert abs(np.sqrt((weights * z**2).sum()) / np.sqrt(3 * 8 * 9 / 3) - 1) < 0.02


@pytest.mark.parametrize(
    ("radii", "passes", "error"),
    [
        ((1,), 1, ShapeError),
        (3, 1, ShapeError),
        ((1, -1), 1, DomainError),
        ((1, 1.5), 1, DtypeError),
        ((1, 1), 0, DomainError),
        ((1, 1), 2.0, DtypeError),
    ],
)
def test_invalid_smoothing_is_refused(radii, passes, error):
    with pytest.raises(error):
        smooth(*earth(), radii, passes)


# Resampling


def test_a_ratio_of_one_changes_nothing():
    vp, water = earth()
    coarse, wet = downsample(vp, 12.5, 12.5, water)
    np.testing.assert_allclose(coarse, vp, rtol=1e-7)
    np.testing.assert_array_equal(wet, water)
    assert coarse is not vp


@settings(max_examples=40, deadline=None)
@given(cases(), st.integers(1, 9))
def test_resampling_averages_the_squared_slowness_of_a_centred_cell(case, ratio):
    vp, water = case[:2]
    coarse, wet = downsample(vp, 1.25, 1.25 * ratio, water)
    assert coarse.shape == tuple((n - 1) // ratio + 1 for n in vp.shape) == wet.shape
    reach = np.arange(-(ratio // 2), ratio // 2 + 1)
    taps = np.where((ratio % 2 == 0) & (2 * np.abs(reach) == ratio), 0.5, 1.0)
    for k, j in np.ndindex(coarse.shape):
        z, x = k * ratio + reach, j * ratio + reach
        in_z, in_x = (z >= 0) & (z < vp.shape[0]), (x >= 0) & (x < vp.shape[1])
        weight, window = np.outer(taps[in_z], taps[in_x]), np.ix_(z[in_z], x[in_x])
        values, mask = vp[window].astype(np.float64), water[window]
        assert wet[k, j] == (weight[mask].sum() > weight[~mask].sum())
        use = mask == wet[k, j]
        expected = ((weight * values**-2)[use].sum() / weight[use].sum()) ** -0.5
        np.testing.assert_allclose(coarse[k, j], expected, rtol=1e-6)


def test_resampling_keeps_a_sharp_seafloor_at_its_depth():
    vp = np.full((81, 41), 2000, np.float32)
    vp[:37] = 1500
    coarse, wet = downsample(vp, 5, 20, find_water(vp))
    assert set(np.unique(coarse)) == {1500, 2000}
    np.testing.assert_array_equal(wet.sum(axis=0), 10)  # 36 * 5 m = 180 m is the last wet node of both


def test_detail_below_the_coarse_cell_does_not_alias():
    z = np.arange(401)
    slowness = 1 / 2500.0 * (1 + 0.1 * np.cos(2 * np.pi * z * 0.11))  # 9 cells, where 10 are one coarse cell
    vp = np.repeat((1 / slowness)[:, None], 21, axis=1)
    dry = np.zeros(vp.shape, bool)
    coarse, _ = downsample(vp, 1.25, 12.5, dry)
    inside = coarse[1:-1]
    decimated = vp[::10][1:-1]
    assert np.ptp(inside) < 0.15 * np.ptp(decimated)


@pytest.mark.parametrize(
    ("source", "target", "error", "message"),
    [
        (12.5, 30, DomainError, r"nearest are 25 and 37\.5 m"),
        (12.5, 6.25, DomainError, r"nearest are 12\.5 and 25 m"),
        (0, 25, DomainError, "source_dh is 0;"),
        (12.5, -25, DomainError, "target_dh is -25;"),
        (12.5, "25", DtypeError, "target_dh is '25'"),
    ],
)
def test_a_target_that_is_no_multiple_of_the_spacing_is_refused(source, target, error, message):
    vp, water = earth()
    with pytest.raises(error, match=message):
        downsample(vp, source, target, water)


def test_rounded_spacings_are_accepted():
    vp, water = earth()
    assert downsample(vp, 0.1, 0.3, water)[0].shape == (7, 5)


# Marmousi-II


def test_marmousi_keeps_its_water_and_its_seafloor():
    if "SWEEP_DATA" not in os.environ:
        pytest.skip("SWEEP_DATA is not set: the Marmousi-II model at 12.5 m is not at hand")
    path = Path(os.environ["SWEEP_DATA"]) / "marmousi2_12p5m_vp_true.npy"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    vp = np.load(path)
    water = find_water(vp)
    np.testing.assert_array_equal(water.sum(axis=0), 37)
    coarse, wet = downsample(vp, 12.5, 25, water)
    start = smooth(coarse, wet, (8, 8))
    assert coarse.shape == (141, 681) and set(np.unique(coarse[wet])) == {1500.0}
    np.testing.assert_array_equal(wet.sum(axis=0), 19)
    np.testing.assert_array_equal(start[wet], coarse[wet])
    # Smoothing of slowness keeps the vertical travel time through the rock.
    times = [(25 / m.astype(np.float64)).sum(axis=0) for m in (coarse, start)]
    assert np.abs(times[1] / times[0] - 1).mean() < 0.02
    dry = ~water[::2, ::2]
    assert np.corrcoef(vp[::2, ::2][dry], coarse[dry])[0, 1] > 0.97
