"""Pictures show components and units, reflections beside the direct wave, and the changes of an inversion."""

import numpy as np
import pytest

from sweep_core import Acoustic, AcousticVariableDensity, Elastic, plot, ricker
from sweep_core.io import Gathers
from sweep_core.problem import make_problem

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

NZ, NX = 20, 30
WATER = np.zeros((NZ, NX), bool)
WATER[:4] = True
TRUE = np.where(WATER, 1.0, 2000 + 50.0 * np.arange(NZ)[:, None])  # the values of the water would ruin any scale
START = np.where(WATER, 1.0, TRUE - 100)
NOW = np.where(WATER, 1.0, TRUE - 30)
GRADIENT = np.random.default_rng(0).standard_normal((NZ, NX)) * ~WATER
HISTORY = [{"epoch": n, "misfit": 4.0 / 2**n, "model_error": 9.0} for n in range(3)]
SURVEY = np.array([[4.0, 1.0]])
SOURCES, RECEIVERS = [[[4, 1]], [[20, 1]]], [[x, 2] for x in range(0, NX, 3)]
CHANGES = "inverted − start", "inverted − true"
RECORD = np.sin(np.arange(60.0))[:, None] + np.zeros(5)


def problem(equation, *recorded):
    return make_problem(equation, (NZ, NX), 10.0, 0.001, receiver_type=recorded or None)


@pytest.mark.parametrize(
    ("solver", "field", "expected"),
    [
        (problem(Acoustic()), "h1", "pressure h1 (Pa)"),
        (problem(AcousticVariableDensity()), "p", "pressure p (Pa)"),
        (problem(AcousticVariableDensity()), "vz", "vz (m/s)"),
        (problem(Elastic()), "p", "pressure p (Pa)"),
        (problem(Elastic()), "sxz", "sxz (Pa)"),
    ],
)
def test_a_field_has_its_name_and_unit(solver, field, expected):
    assert plot.field_label(solver, field) == expected
    snapshots = plot.plot_snapshots(np.ones((2, NZ, NX)), [0, 1], 10.0, solver=solver, field=field)
    assert snapshots.axes[-1].get_ylabel() == expected


def test_gathers_name_and_draw_the_recorded_field():
    solver, record = problem(Elastic(), "vz", "vx"), np.stack([RECORD, 3 * RECORD], axis=-1)[None]
    for n, field in enumerate(("vz", "vx")):
        axis, bar = plot.plot_gather(record, 0.004, solver=solver, field=field, percentile=100).axes
        assert bar.get_ylabel() == f"{field} (m/s)"
        np.testing.assert_array_equal(axis.get_images()[0].get_array(), record[0, ..., n])
    assert plot.plot_gather(record[..., 1], 0.004, solver=solver, field="vx").axes[1].get_ylabel() == "vx (m/s)"
    assert plot.plot_gather(RECORD, 0.004).axes[1].get_ylabel() == "amplitude", "the field is unknown"
    assert plot.plot_gather(RECORD, 0.004, label="strain").axes[1].get_ylabel() == "strain"


def test_a_page_names_the_recorded_field_and_the_waves():
    arrays = {"sources": [[4, 1]], "receivers": RECEIVERS[:5], "snapshots": np.ones((5, NZ, NX)), "times": np.arange(5)}
    solver = problem(Elastic(), "vz")
    figure = plot.plot_shot(TRUE, 10.0, 0.004, **arrays, record=RECORD, solver=solver, wave="p", gain=0)
    assert [axis.get_ylabel() for axis in figure.axes[4:]] == ["vp (m/s)", "vz (m/s)"] + 2 * ["pressure p (Pa)"]


@pytest.mark.parametrize(("gain", "suffix"), [(1, " (Pa) × t"), (2.0, " (Pa) × $t^{2}$"), ("agc", ", AGC over 0.4 s")])
def test_a_gain_shows_late_reflections_beside_the_direct_wave(gain, suffix):
    time = 0.004 * np.arange(1000)
    direct, late = np.exp(-(((time - 0.2) / 0.02) ** 2)), np.exp(-(((time - 3.2) / 0.02) ** 2))
    record = np.repeat((direct - 0.01 * late)[:, None], 4, axis=1)
    axis, bar = plot.plot_gather(record, 0.004, solver=problem(Acoustic()), gain=gain, percentile=100).axes
    image = axis.get_images()[0]
    shown = np.abs(np.asarray(image.get_array())[:, 0]) / image.get_clim()[1]
    assert bar.get_ylabel() == "pressure h1" + suffix
    entries = {1: 0.16, 2.0: 1.0, "agc": 0.99}[gain]  # relative to the largest; 0.01 without gain
    assert shown[800] == pytest.approx(entries, rel=0.05) and shown.max() == pytest.approx(1)


def test_a_gain_keeps_values_that_are_not_finite():
    record = RECORD.copy()
    record[30:, 2] = np.nan
    shown = plot.plot_gather(record, 0.004, gain="agc").axes[0].get_images()[0].get_array()
    np.testing.assert_array_equal(np.isnan(np.ma.filled(shown, np.nan)), np.isnan(record))


def panels(figure):
    return {axis.get_title(loc="left"): axis.get_images()[0] for axis in figure.axes if axis.get_images()}


def test_an_epoch_shows_models_gradient_changes_and_misfit():
    figure = plot.plot_epoch(
        NOW, 10.0, start=START, true=TRUE, gradient=GRADIENT, history=HISTORY, fixed=WATER, sources=SOURCES,
        receivers=RECEIVERS, title="epoch 2",
    )  # fmt: skip
    images, rock = panels(figure), ~WATER
    assert list(images) == ["start", "true", "inverted, epoch 2", "gradient", *CHANGES]
    expected = (START, TRUE, NOW, GRADIENT, NOW - START, NOW - TRUE)
    for image, values in zip(images.values(), expected, strict=True):
        np.testing.assert_array_equal(image.get_array(), values)
    models = {images[name].get_clim() for name in ("start", "true", "inverted, epoch 2")}
    assert models == {tuple(np.percentile(TRUE[rock], (0.5, 99.5)))}, "one scale, from the rock"
    changes = {images[name].get_clim() for name in CHANGES}
    assert changes == {(-70.0, 70.0)}
    low, high = images["gradient"].get_clim()
    assert low == -high == -np.percentile(np.abs(GRADIENT[1:-1, 1:-1][rock[1:-1, 1:-1]]), 99)
    labels = [axis.get_ylabel() for axis in figure.axes]
    assert labels.count("vp (m/s)") == 5 and labels.count("d misfit / d vp (per m/s)") == 1
    markers = figure.axes[0].get_lines()
    assert [len(line.get_xdata()) for line in markers] == [2, 10]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["2 sources", "10 receivers"]
    (curve,) = [axis for axis in figure.axes if axis.get_ylabel() == "misfit / first"]
    assert curve.get_xlabel() == "epoch"
    np.testing.assert_allclose(curve.get_lines()[0].get_xydata(), [[0, 1], [1, 0.5], [2, 0.25]])


def test_an_epoch_without_a_true_model_scales_colours_by_start_and_model():
    images = panels(plot.plot_epoch(NOW, 10.0, start=START, fixed=WATER))
    assert list(images) == ["start", "inverted", "inverted − start"]
    both = np.concatenate([START[~WATER], NOW[~WATER]])
    assert images["start"].get_clim() == images["inverted"].get_clim() == tuple(np.percentile(both, (0.5, 99.5)))


def test_several_parameters_have_a_column_and_a_scale_each():
    labels = ["vp (m/s)", "rho (kg/m3)"]
    models = {"start": [START, START / 2], "true": [TRUE, TRUE / 2]}
    figure = plot.plot_epoch([NOW, NOW / 2], 10.0, **models, fixed=WATER, labels=labels, gradient=[GRADIENT] * 2)
    images = panels(figure)
    assert list(images)[:4] == ["vp, start", "rho, start", "vp, true", "rho, true"] and len(images) == 12
    assert np.divide(images["rho, inverted"].get_clim(), images["vp, inverted"].get_clim()) == pytest.approx([0.5, 0.5])
    assert {"d misfit / d rho (per kg/m3)", "rho (kg/m3)"} <= {axis.get_ylabel() for axis in figure.axes}


def test_maps_are_uniform_and_signed_ones_diverge_about_zero():
    from matplotlib import colormaps

    figure = plot.plot_epoch(NOW, 10.0, start=START, gradient=GRADIENT, fixed=WATER)
    names = {title: image.get_cmap().name for title, image in panels(figure).items()}
    assert names == {"start": "viridis", "inverted": "viridis", "gradient": "RdBu_r", "inverted − start": "RdBu_r"}
    waves = plot.plot_snapshots(np.ones((1, NZ, NX)), [0], 10.0).axes[0].get_images()[0]
    assert waves.get_cmap().name == "RdBu_r" and colormaps["RdBu_r"](0.99)[0] > colormaps["RdBu_r"](0.99)[2]


def test_the_unit_of_an_image_is_arbitrary_by_default():
    shown = [plot.plot_image(GRADIENT, 10.0, **label).axes[1].get_ylabel() for label in ({}, {"label": "change (m/s)"})]
    assert shown == ["image (arbitrary unit)", "change (m/s)"]


@pytest.mark.parametrize("name", ["plot_model", "plot_image"])
def test_neither_water_nor_the_rim_nor_a_source_cell_stretches_the_colours(name):
    values = GRADIENT if name == "plot_image" else TRUE
    spoilt = np.where(WATER, 1e9, values)
    if name == "plot_image":
        spoilt[-1] = spoilt[:, 0] = 1e9  # cells whose gradient includes the PML
        spoilt[10, 10] = 1e9  # a source
    figure = getattr(plot, name)(spoilt, 10.0, fixed=WATER)
    low, high = figure.axes[0].get_images()[0].get_clim()
    assert high < 1.2 * np.abs(values).max() and (low == -high) == (name == "plot_image")
    np.testing.assert_array_equal(figure.axes[0].get_images()[0].get_array(), spoilt)


def test_each_stage_is_scaled_by_its_first_misfit():
    history = [{"stage": stage, "iteration": n, "misfit": stage * 10.0 / (1 + n)} for stage in (1, 2) for n in range(3)]
    (axis,) = plot.plot_loss(history).axes
    assert axis.get_xlabel() == "iteration" and axis.get_ylabel() == "misfit / first of its stage"
    first, second = (line.get_xydata() for line in axis.get_lines())
    np.testing.assert_allclose(first, [[0, 1], [1, 0.5], [2, 1 / 3]])
    np.testing.assert_allclose(second, [[2, 1], [3, 0.5], [4, 1 / 3]])
    stopped = [{**line, "model_error": 1.0} for line in history if (line["stage"], line["iteration"]) != (1, 2)]
    for line in plot.plot_loss(stopped).axes[1].get_lines():
        np.testing.assert_allclose(line.get_xdata(), [0, 1, 1, 2, 3])


def test_spectra_end_where_the_energy_ends():
    """A Ricker wavelet of 10 Hz is at 1 % of its peak where x exp(1 - x) = 0.01, x = (f / 10 Hz)^2."""
    (low, high), (x, _) = 10 * np.sqrt((7.6, 7.7)), (7.64, 0)
    assert x * np.exp(1 - x) == pytest.approx(0.01, rel=0.02)
    right = plot.plot_wavelet(ricker(10.0, 1000, 0.001), 0.001).axes[1]
    assert right.get_xlim()[0] == 0 and low - 0.6 < right.get_xlim()[1] < high + 0.6


def test_a_wavelet_without_a_frequency_is_shown_whole():
    wavelet = np.sin(np.arange(100))
    left, right = plot.plot_wavelet(wavelet, 0.004, title="estimated").axes
    np.testing.assert_array_equal(left.get_lines()[0].get_ydata(), wavelet)
    assert left.get_title() == "estimated" and 39 < right.get_xlim()[1] < 125


def test_a_notebook_shows_the_whole_figure_without_pyplot(tmp_path):
    """IPython asks an object for its PNG; it knows matplotlib's own figures only after pyplot or %matplotlib."""
    shown, saved = plot.plot_model(TRUE, 10.0), plot.plot_model(TRUE, 10.0)
    plot.save(saved, tmp_path / "saved.png", dpi=int(saved.dpi))
    assert shown._repr_png_() == (tmp_path / "saved.png").read_bytes()


def test_observed_traces_are_visible_below_modelled_ones():
    """Both are visible in a perfect fit."""
    gathers = Gathers(SURVEY, SURVEY[:, None] + np.ones((1, 5, 2)), RECORD[None, ..., None], dt=0.001, dh=10.0)
    for axis in plot.plot_comparison(gathers, gathers.observed).axes:
        observed, modelled = axis.get_lines()[0], axis.get_lines()[-1]
        assert observed.get_linewidth() > modelled.get_linewidth() and observed.zorder <= modelled.zorder
