"""The figures of a run: data, changes of the model, survey, and colours with the range of the rock."""

from pathlib import Path

import numpy as np
import pytest

from sweep_core import Observation, plot
from sweep_core.inversion import Settings, arguments_of, make_solver
from sweep_core.inversion.experiment import model_error

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def saved(monkeypatch):
    """Return the written figures by file name; they are drawn in this process."""
    figures = {}

    def draw(self, path, plot, *arguments, **options):
        figures[Path(path).name] = plot(*arguments, **options)

    monkeypatch.setattr(plot.FigureProcess, "draw", draw)
    return figures


def labels(figure):
    return {axis.get_ylabel() for axis in figure.axes}


@pytest.mark.parametrize(
    ("physics", "field", "parameters"),
    [("acoustic", "pressure h1", {"vp (m/s)"}), ("elastic", "vz", {"vp (m/s)", "vs (m/s)", "rho (kg/m3)"})],
)
def test_figures_show_data_models_and_survey(tmp_path, saved, monkeypatch, physics, field, parameters):
    monkeypatch.delenv("SWEEP_DATA", raising=False)
    settings = Settings(max_shots=4, physics=physics, backend="torch", out=tmp_path)
    experiment, solver = settings.experiment, make_solver(settings, "none", None)
    shots, earth = experiment.shots, experiment.model
    record = np.random.default_rng(0).standard_normal((4, len(shots.wavelet), len(shots.receivers), len(parameters)))
    record = record[..., : len(experiment.receiver_type)]
    history = ({"iteration": 0, "misfit": 8.0, "model_error": model_error(earth.initial, earth.true), "seconds": 1.0},)
    observations = Observation("start", 0, 8.0, (0, 1, 2, 3), earth.initial, earth.initial, 0, history)
    for observer in arguments_of(settings, solver, record)["observers"]:
        observer(observations)
    assert any(label.startswith(f"{field}, AGC over") for label in labels(saved["observed_data.png"]))
    assert saved["ricker.png"].axes[0].get_title() == f"Ricker, {experiment.freq:g} Hz"

    epoch = saved["epoch_0000.png"]
    assert parameters < labels(epoch) and "misfit / first" in labels(epoch)
    legend = [text.get_text().split(" (")[0] for text in epoch.legends[0].get_texts()]
    assert legend == ["4 sources", f"{len(np.unique(shots.receivers, axis=0))} receivers"]
    rock, (model, *_) = ~earth.water, (earth.true if earth.true.ndim == 3 else earth.true[None])
    start = epoch.axes[0].get_images()[0]
    assert start.get_clim() == pytest.approx(np.percentile(model[rock], (0.5, 99.5)))
