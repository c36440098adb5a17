"""The pictures of a run: what was recorded and what changed, with the survey, and colours that end where the rock does."""

from pathlib import Path

import numpy as np
import pytest

from sweep_core import plot
from sweep_core.inversion import Report, RunFolder, make_parser, read_settings
from sweep_core.inversion.elastic import make_elastic_parser, read_elastic_settings

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def saved(monkeypatch):
    """The figures that are written, by the names of their files."""
    figures = {}
    monkeypatch.setattr(plot, "save", lambda figure, path: figures.update({Path(path).name: figure}))
    return figures


def report(tmp_path, parser, read, *arguments):
    """The report of a run that has not begun, and its settings."""
    settings = read(parser("", "torch").parse_args(["--max-shots", "4", *arguments]), tmp_path)
    folder = RunFolder(tmp_path, settings.identity())
    folder.claim()
    folder.start()
    return Report(settings, folder), settings.experiment


def labels(figure):
    return {axis.get_ylabel() for axis in figure.axes}


@pytest.mark.parametrize(
    ("parser", "read", "field", "parameters"),
    [
        (make_parser, read_settings, "pressure h1", {"vp (m/s)"}),
        (make_elastic_parser, read_elastic_settings, "vz", {"vp (m/s)", "vs (m/s)", "rho (kg/m3)"}),
    ],
    ids=["acoustic", "elastic"],
)
def test_pictures_of_a_run(tmp_path, saved, monkeypatch, parser, read, field, parameters):
    monkeypatch.delenv("SWEEP_DATA", raising=False)
    told, experiment = report(tmp_path, parser, read)
    shots, earth = experiment.shots, experiment.model
    record = np.random.default_rng(0).standard_normal((4, len(shots.wavelet), len(shots.receivers), len(parameters)))
    told.data(record[..., : len(experiment.receiver_type)])
    assert any(label.startswith(f"{field}, AGC over") for label in labels(saved["observed_data.png"]))
    assert saved["ricker.png"].axes[0].get_title() == f"Ricker, {experiment.freq:g} Hz"

    told.epoch(0, 8.0, earth.initial, earth.initial, 1.0)
    epoch = saved["epoch_0000.png"]
    assert parameters < labels(epoch) and "misfit / first" in labels(epoch)
    shown = [text.get_text().split(" (")[0] for text in epoch.legends[0].get_texts()]
    assert shown == ["4 sources", f"{len(np.unique(shots.receivers, axis=0))} receivers"]
    rock, (model, *_) = ~earth.water, (earth.true if earth.true.ndim == 3 else earth.true[None])
    start = epoch.axes[0].get_images()[0]
    assert start.get_clim() == pytest.approx(np.percentile(model[rock], (0.5, 99.5)))
