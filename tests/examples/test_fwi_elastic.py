"""The elastic inversion script from end to end on a small model, and its start models."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sweep_core import make_problem
from sweep_core.errors import CheckpointError, DomainError, ShapeError
from sweep_core.inversion import elastic_experiment
from sweep_core.inversion.descent import DENSITY
from sweep_core.inversion.unknowns import make_unknowns
from sweep_core.io import ElasticModel, elastic_from_vp, faulted_model, read_elastic, write_prepared

ROOT = Path(__file__).parents[2]
SCRIPT = str(ROOT / "examples/multi-gpu/torch/fwi_marmousi_dist.py")
LAUNCH = {
    "two ranks": [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", SCRIPT],
    "alone": [sys.executable, SCRIPT],
}
LINE = re.compile(r"^(\w+)(?: \(\S+\))? from (\S+) to (\S+), \S+ %$", re.MULTILINE)
NAMES = ("vp", "vs", "rho")
FIGURES = {"ricker.png", "observed_data.png", "loss.png", "epoch_0000.png", "epoch_0002.png"}


def earth(shape=(24, 40), dh=40.0):
    return faulted_model(shape, dh, seed=3)


def launch(which, model, out, epochs, *more, ok=True):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    options = ("--max-shots", 5, "--batchsize", 3, "--forward-batchsize", 2, "--freq", 2, "--show-every", 2)
    options = (
        *options,
        "--physics",
        "elastic",
        "--device",
        "cpu",
        "--model",
        model,
        "--out",
        out,
        "--epochs",
        epochs,
        *more,
    )
    command = [*LAUNCH[which], *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert (done.returncode == 0) == ok, done.stdout + done.stderr
    return {name: (float(a), float(b)) for name, a, b in LINE.findall(done.stdout)} if ok else done.stderr


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_prepared(tmp_path_factory.mktemp("model") / "small.npz", earth())


@pytest.fixture(scope="module")
def runs(model, tmp_path_factory):
    """Return (folder, messages) of runs of four epochs, on two ranks and on one."""
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    outs = {which: tmp_path_factory.mktemp(which.replace(" ", "_")) for which in LAUNCH}
    return {which: (out, launch(which, model, out, 4)) for which, out in outs.items()}


@pytest.mark.parametrize("which", LAUNCH)
def test_the_misfit_falls_and_every_parameter_moves(runs, which):
    out, messages = runs[which]
    assert set(messages) == {"misfit", *NAMES}
    assert messages["misfit"][1] < 0.5 * messages["misfit"][0]
    assert FIGURES <= {path.name for path in out.iterdir()}
    start, experiment = elastic_from_vp(earth()), elastic_experiment(elastic_from_vp(earth()))
    outcome = np.stack([np.load(out / f"inverted_{name}.npy", allow_pickle=False) for name in NAMES])
    moved = np.abs(outcome - start.initial)[:, ~start.water].max(axis=1)
    ratio = moved / np.ptp(start.initial[:, ~start.water], axis=1)
    assert (ratio > 0.01).all()
    steps = moved / experiment.steps
    assert steps.max() < 3 * steps.min(), "each parameter has its own step length"
    np.testing.assert_array_equal(outcome[:, start.water], start.true[:, start.water])
    assert experiment.equation.admits(*outcome).all()


def test_two_ranks_and_one_rank_agree(runs):
    two, one = (runs[which][1] for which in LAUNCH)
    for name in ("misfit", *NAMES):
        assert two[name] == pytest.approx(one[name], rel=1e-3)


@pytest.mark.slow  # test_fwi_scripts.py tests the same code without groups of parameters
def test_a_resumed_run_equals_an_uninterrupted_one(runs, model, tmp_path):
    launch("alone", model, tmp_path, 2)
    launch("alone", model, tmp_path, 4, "--resume")
    for name in NAMES:
        whole, resumed = (np.load(path / f"inverted_{name}.npy") for path in (runs["alone"][0], tmp_path))
        np.testing.assert_array_equal(resumed, whole)


def test_an_empty_folder_gives_one_sentence(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    message = launch("alone", tmp_path, tmp_path / "out", 1, ok=False)
    assert "holds 0 files <name>_<spacing>m_vp_true.npy" in message and "Traceback" not in message


def test_bounds_hold_for_every_parameter_at_once():
    experiment = elastic_experiment(elastic_from_vp(earth()))
    model, bounds = experiment.model, experiment.bounds()
    problem = make_problem(experiment.equation, model.water.shape, model.dh, experiment.dt)
    unknowns = make_unknowns(problem, list(model.initial), bounds, model.water)
    for factor in (0.1, 10.0):
        wild = model.initial * np.array([1 / factor, factor, factor], np.float32)[:, None, None]
        vp, vs, rho = outcome = unknowns.models((wild - model.initial)[:, ~model.water].ravel())
        assert experiment.equation.admits(vp, vs, rho).all() and experiment.equation.fits(vp, vs, rho).all()
        assert (vs[model.water] == 0).all()
        assert all(part[~model.water].max() <= bounds[name][1] for name, part in zip(NAMES, outcome, strict=True))


def test_shear_waves_must_fit_the_grid():
    model = elastic_from_vp(earth())
    slowest = min(earth[1, ~model.water].min() for earth in (model.true, model.initial))
    assert elastic_experiment(model, nshots=1, freq=0.99 * slowest / (5 * model.dh)).dt > 0
    with pytest.raises(DomainError, match=rf"waves of {slowest:.0f} m/s .* less than two cells"):
        elastic_experiment(model, nshots=1, freq=1.01 * slowest / (5 * model.dh))


def test_receivers_lie_on_the_seafloor_and_steps_follow_the_ranges():
    experiment = elastic_experiment(elastic_from_vp(earth()))
    x, z = experiment.shots.receivers.T
    water = experiment.model.water
    assert not water[z, x].any() and water[z - 1, x][z > 2].all() and z.min() >= 2
    ranges = [np.ptp(start[~water]) for start in experiment.model.initial]
    np.testing.assert_allclose(experiment.steps, np.array([1, 1, DENSITY]) * ranges / ranges[0], rtol=1e-6)


def save(folder, model, stem="m_20m"):
    for kind, values in (("true", model.true), ("smooth", model.initial)):
        for name, part in zip(NAMES, values, strict=True):
            np.save(folder / f"{stem}_{name}_{kind}.npy", part)


def test_read_elastic_resamples_to_another_spacing(tmp_path):
    fine = elastic_from_vp(earth((41, 61), 20.0))
    smeared = fine.initial.copy()
    smeared[:, fine.water] *= np.float32(1.1)
    save(tmp_path, ElasticModel(fine.true, fine.initial, fine.water, 20.0))
    np.save(tmp_path / "m_20m_vp_smooth.npy", smeared[0])
    same, coarse = read_elastic(tmp_path), read_elastic(tmp_path, 40.0)
    np.testing.assert_allclose(same.true, fine.true, rtol=1e-6)
    np.testing.assert_allclose(same.initial, fine.initial, rtol=1e-6)
    assert coarse.true.shape == (3, 21, 31) and coarse.dh == 40 and coarse.name == "m-elastic"
    np.testing.assert_array_equal(coarse.initial[:, coarse.water], coarse.true[:, coarse.water])
    for name in ("true", "initial"):
        values, source = getattr(coarse, name), getattr(fine, name)
        assert (values >= source.min(axis=(1, 2), keepdims=True) * 0.999).all()
        assert (values <= source.max(axis=(1, 2), keepdims=True) * 1.001).all()


def test_a_missing_file_is_reported_by_name(tmp_path):
    save(tmp_path, elastic_from_vp(earth()))
    (tmp_path / "m_20m_rho_smooth.npy").unlink()
    with pytest.raises(CheckpointError, match="rho_smooth"):
        read_elastic(tmp_path)


def test_impossible_models_are_refused():
    model = elastic_from_vp(earth())
    soft = model.true.copy()
    soft[1] = soft[0]
    with pytest.raises(DomainError, match="no solid"):
        ElasticModel(soft, model.initial, model.water, 40.0)
    with pytest.raises(DomainError, match="wrong in the water, which is known"):
        ElasticModel(model.true, model.initial * np.float32(1.01), model.water, 40.0)
    with pytest.raises(ShapeError, match=r"expected \(3, nz, nx\)"):
        ElasticModel(model.true[0], model.initial, model.water, 40.0)


def test_marmousi_at_25_m():
    folder = Path(os.environ.get("SWEEP_DATA", "unset"))
    if not (folder / "marmousi2_12p5m_vs_true.npy").exists():
        pytest.skip(f"SWEEP_DATA does not lead to the elastic Marmousi-II model at 12.5 m: {folder}")
    model = read_elastic(folder, 25.0)
    assert model.true.shape == (3, 141, 681)
    np.testing.assert_array_equal(model.water.sum(axis=0), 19)
    np.testing.assert_allclose(model.initial[:, model.water], [[1500], [0], [1010]] * np.ones(model.water.sum()))
