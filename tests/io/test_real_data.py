"""Viking Graben line 12, Marmousi-II and a crop of F3, from SWEEP_DATA, are read, written and used by a solver."""

import os
from pathlib import Path

import attrs
import numpy as np
import pytest

from sweep_core import Acoustic, Shots, backend, make_problem, ricker
from sweep_core.errors import DataError
from sweep_core.io import (
    Gathers,
    Line,
    downsample,
    find_water,
    open_segy,
    read_array,
    read_gathers,
    read_segy,
    write_gathers,
    write_segy,
    write_segy_section,
)
from sweep_core.processing import first_breaks

pytest.importorskip("segyio", reason="segyio is not installed")


def data(name):
    path = Path(os.environ.get("SWEEP_DATA", "unset")) / name
    if not path.exists():
        pytest.skip(f"SWEEP_DATA does not lead to {name}: no file {path}")
    return path


@pytest.fixture
def viking():
    return read_segy(data("viking_small.segy"), dh=12.5, dt=0.002)


def test_viking_graben_has_its_documented_geometry(viking):
    assert viking.observed.shape == (4, 1199, 120, 1) and viking.receiver_mask.all() and not viking.clipped.any()
    np.testing.assert_allclose(viking.sources * 12.5, [[3237 + 25 * n, 6] for n in range(4)])
    np.testing.assert_allclose(viking.offsets, np.tile(np.arange(-3237.0, -261, 25), (4, 1)))
    assert (viking.receivers[..., 1] == 0.8).all() and viking.misfit.largest == 0 and len(viking.notes) == 3
    for note, message in zip(
        viking.notes,
        ("its first trace 1500; its size admits only 600", "decimal degrees", "sampled anew"),
        strict=True,
    ):
        assert message in note


def test_the_direct_wave_of_viking_graben_has_the_speed_of_water(viking):
    near = slice(105, 120)  # refractions arrive first at larger offsets
    times, offsets = first_breaks(viking)[:, near], -viking.offsets[:, near]
    slope, begin = np.polyfit(offsets.ravel(), times.ravel(), 1)
    assert 1430 < 1 / slope < 1530 and abs(begin) < 0.01  # the wave leaves the source at time zero


def test_viking_graben_is_written_and_read_back(viking, tmp_path):
    same = read_segy(write_segy(tmp_path / "out.sgy", viking), dh=12.5, line=viking.line)
    reread = read_gathers(write_gathers(tmp_path / "out.npz", same), [3, 1])
    for key in ("sources", "receivers", "observed", "shots"):
        np.testing.assert_allclose(getattr(reread, key), getattr(viking, key)[[3, 1]], rtol=1e-12)


def test_f3_is_read_as_a_section_of_integers():
    segy = open_segy(data("f3.sgy"))
    assert segy.section().shape == (75, 414) and segy.section().flags.c_contiguous and (segy.delay == 0.004).all()
    np.testing.assert_allclose(segy.sources[:, :2], np.stack([segy.header("CDP_X"), segy.header("CDP_Y")], axis=1) / 10)
    steps = np.linalg.norm(np.diff(segy.sources[:18, :2], axis=0), axis=1)
    np.testing.assert_allclose(steps, 25, atol=0.5)
    assert np.abs(segy.traces()).max() > 1000 and segy.interval == 0.004
    with pytest.raises(DataError, match=r"f3.sgy is a section: its binary header .* \(sorting code 4\)"):
        read_segy(segy, dh=12.5)


def test_modelled_shots_over_marmousi_are_read_back_from_segy(tmp_path):
    """Model and shots pass through SEG-Y; the solver then reproduces the record from the file's geometry."""
    vp = read_array(data("marmousi2_12p5m_vp_true.npy"))
    write_segy_section(tmp_path / "vp.sgy", vp, 12.5, line=Line((4e5, 6e6), (0, 1)), text=["MARMOUSI-II, VP"])
    np.testing.assert_array_equal(open_segy(tmp_path / "vp.sgy").section(), vp)
    vp, _ = downsample(vp, 12.5, 50.0, find_water(vp))
    vp, dh, dt, nt = vp[:, 100:180], 50.0, 0.004, 150
    sources = np.array([[10.25, 1.5], [60.5, 1.5]])
    receivers = np.stack([np.linspace(4, 74, 15), np.full(15, 2.25)], axis=1)
    mask = np.ones((2, 15), bool)
    mask[0, 12:] = False
    problem = make_problem(Acoustic(4), vp.shape, dh, dt, pml_width=10)

    def run(sources, receivers, mask):
        shots = Shots(ricker(5.0, nt, dt), sources, receivers, mask)
        return np.asarray(backend("reference").forward(problem, shots, [vp.astype(float)]), dtype=np.float32)

    record = run(sources, receivers, mask)
    traces = np.where(mask, np.cumsum(mask).reshape(mask.shape) - 1, -1)
    instance = Gathers(sources, np.tile(receivers, (2, 1, 1)), record, dt=dt, dh=dh, receiver_mask=mask, traces=traces)
    result = read_segy(write_segy(tmp_path / "shots.sgy", instance), dh=dh, line=Line())
    np.testing.assert_array_equal(result.observed, record)
    np.testing.assert_array_equal(result.receiver_mask, mask)
    np.testing.assert_allclose(result.sources, sources, atol=1e-12)
    reread = run(result.sources, result.receivers, result.receiver_mask)
    np.testing.assert_allclose(reread, result.observed, atol=1e-6 * np.abs(record).max())
    finer = read_segy(tmp_path / "shots.sgy", dh=dh, dt=dt / 2, line=Line())
    np.testing.assert_allclose(finer.observed[:, ::2], record, atol=1e-6 * np.abs(record).max())
    assert attrs.evolve(result, observed=reread).nt == nt
