"""Pictures and films have the requested format and are readable; bad input is refused with a reason."""

import errno
import os
import warnings
from itertools import pairwise

import numpy as np
import pytest

from sweep_core import DomainError, OptionError, ShapeError, StorageError, plot
from sweep_core.distribution import Interval, Link, Profile, predict
from sweep_core.io import Gathers

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
Image = pytest.importorskip("PIL.Image", reason="pillow is not installed")

NZ, NX, NT, NREC = 30, 50, 60, 25
SOURCES = np.array([[25, 2]])
RECEIVERS = np.stack([np.arange(0, NX, 2), np.full(NREC, 2)], axis=1)
MODEL = np.linspace(1500, 3000, NZ)[:, None] + np.zeros(NX)
RECORD = np.sin(0.4 * np.arange(NT)[:, None] - 0.3 * np.arange(NREC))
SNAPS = np.sin(0.3 * np.arange(20)[:, None, None] - np.hypot(*np.mgrid[:NZ, :NX]) / 3)
TIMES = 0.02 * np.arange(20)
VOLUME = np.broadcast_to(MODEL[:, None], (NZ, 20, NX))


def picture(path):
    """Return the picture as RGB; check that it is a PNG of more than one colour."""
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB"))
    assert min(pixels.shape[:2]) > 100 and pixels.std() > 5
    return pixels


MODELS = {
    "alone": (MODEL, 10.0, {}),
    "with its survey": (MODEL, 10.0, {"sources": SOURCES, "receivers": RECEIVERS, "title": "t"}),
    "several shots, floats, two spacings": (
        *(MODEL, (5.0, 10.0)),
        {"sources": [[[3.5, 2.0]], [[40.25, 2.0]]], "receivers": np.add(RECEIVERS, [[[0, 0]], [[1, 0]]])},
    ),
    "one position": (MODEL, 10.0, {"sources": [3, 4]}),
    "a deep hole": (MODEL[:, :4], 10.0, {}),
    "constant": (np.full((9, 9), 2000.0), 10.0, {}),
    "integers with a gap": (np.where(MODEL > 2900, np.nan, MODEL), 10, {}),
    "a volume": (VOLUME, (5.0, 10.0, 10.0), {"sources": [[9, 9, 2]], "receivers": [[5, 5, 1], [9, 19, 29]]}),
    "a volume through a point": (VOLUME, 10.0, {"point": (3, 19, 7)}),
}


@pytest.mark.parametrize(("model", "dh", "options"), MODELS.values(), ids=MODELS)
def test_a_model_is_drawn(tmp_path, model, dh, options):
    plot.save(plot.plot_model(model, dh, **options), tmp_path / "new" / "model.png")
    picture(tmp_path / "new" / "model.png")


def test_a_model_has_axes_in_km_and_depth_downwards():
    axis, bar = plot.plot_model(MODEL, (20.0, 10.0), SOURCES, RECEIVERS).axes
    assert axis.get_xlabel() == "x (km)" and axis.get_ylabel() == "depth (km)" and bar.get_ylabel() == "vp (m/s)"
    assert axis.get_ylim() == pytest.approx(((NZ - 0.5) * 0.02, -0.01)) and axis.get_aspect() == 1
    assert axis.get_xlim() == pytest.approx((-0.005, (NX - 0.5) * 0.01))
    source, receivers = axis.get_lines()
    assert source.get_xydata() == pytest.approx(np.array([[0.25, 0.04]]))
    assert receivers.get_xydata() == pytest.approx(RECEIVERS * (0.01, 0.02))
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["1 source", "25 receivers"]


def test_many_receivers_are_thinned_and_the_legend_says_so():
    axis = plot.plot_model(np.ones((9, 400)), 10.0, receivers=[[x, 2] for x in range(400)]).axes[0]
    assert axis.get_legend().get_texts()[0].get_text() == "400 receivers (one in 10 drawn)"
    assert len(axis.get_lines()[0].get_xdata()) == 40


def test_the_slices_of_a_volume_meet_in_the_point():
    volume = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    axes = plot.plot_model(volume, 1e3, point=(3, 1, 0)).axes
    shown = [axis.get_images()[0].get_array() for axis in axes if axis.get_images()]
    for section, expected in zip(shown, (volume[0], volume[:, 1], volume[:, :, 3]), strict=True):
        np.testing.assert_array_equal(section, expected)
    assert axes[0].get_ylim()[0] < axes[0].get_ylim()[1], "a map has y upwards"


@pytest.mark.parametrize("style", ["image", "wiggle", "both"])
@pytest.mark.parametrize(
    ("record", "titles"),
    [(RECORD, "one"), (np.stack([RECORD] * 3), ["a", "b", "c"]), (RECORD[None, :, :, None], None), (0 * RECORD, None)],
    ids=["one", "three", "as a solver returns it", "silence"],
)
def test_a_gather_is_drawn(tmp_path, style, record, titles):
    plot.save(plot.plot_gather(record, 0.004, RECEIVERS[:, 0] * 10.0, titles, style=style, gain=1), tmp_path / "g.png")
    picture(tmp_path / "g.png")


@pytest.mark.parametrize("style", ["image", "both"])
@pytest.mark.parametrize("x", [None, np.arange(NREC)[::-1] * 10.0, np.arange(NREC) ** 2.0, np.zeros(NREC)])
def test_receivers_may_have_any_positions(tmp_path, x, style):
    plot.save(plot.plot_gather(RECORD, 0.004, x, style=style), tmp_path / "g.png")
    picture(tmp_path / "g.png")


def test_traces_are_drawn_at_their_positions_with_time_downwards():
    record = np.zeros((NT, 3))
    record[10, 0] = 1.0  # the receiver farthest on the right
    axis = plot.plot_gather(record, 0.004, [300.0, 100.0, 200.0], style="both", percentile=100).axes[0]
    shown = axis.get_images()[0]
    assert shown.get_array()[10].tolist() == [0, 0, 1] and shown.get_extent()[:2] == pytest.approx((0.05, 0.35))
    assert axis.get_ylim() == pytest.approx((59 * 0.004, 0))
    peaks = [line.get_xdata().max() for line in axis.get_lines()]
    assert peaks == pytest.approx([0.1, 0.2, 0.4])


def test_at_most_sixty_wiggles_are_drawn():
    (axis,) = plot.plot_gather(np.ones((9, 500)), 0.004, style="wiggle").axes
    assert 50 < len(axis.get_lines()) <= 60


@pytest.mark.parametrize("model", [None, MODEL], ids=["alone", "over the model"])
@pytest.mark.parametrize(("count", "panels"), [(1, 1), (2, 2), (5, 5), (12, 12), (20, 12)])
def test_snapshots_are_drawn_with_one_symmetric_clip(tmp_path, count, panels, model):
    figure = plot.plot_snapshots(SNAPS[:count], TIMES[:count], 10.0, model)
    plot.save(figure, tmp_path / "s.png")
    picture(tmp_path / "s.png")
    waves = [axis.get_images()[-1] for axis in figure.axes if axis.get_images() and axis.get_title(loc="left")]
    assert len(waves) == panels
    assert len({image.get_clim() for image in waves}) == 1 and sum(waves[0].get_clim()) == 0
    np.testing.assert_array_equal(waves[-1].get_array(), SNAPS[count - 1])


def test_a_failed_film_leaves_the_previous_one(tmp_path, monkeypatch):
    path = tmp_path / "film.gif"
    plot.movie(path, SNAPS, TIMES, 10.0, None, fps=10)
    whole = path.read_bytes()

    def fill(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", fill)
    with pytest.raises(StorageError, match="No space left on device; free some space"):
        plot.movie(path, SNAPS[:3], TIMES[:3], 10.0, None, fps=10)
    assert path.read_bytes() == whole and list(tmp_path.iterdir()) == [path]


def test_a_loss_may_begin_at_zero_and_needs_complete_lines(tmp_path):
    for first in (0.0, [0.0, 3.0]):
        lines = [{"epoch": n, "misfit": float(n), "model_error": first} for n in range(3)]
        with warnings.catch_warnings(action="error"):
            plot.save(plot.plot_loss(lines, ("vp (m/s)", "vs (m/s)")), tmp_path / "loss.png")
    with pytest.raises(DomainError, match="a line of the history has no model_error, unlike others: {'epoch': 0"):
        plot.plot_loss([{"epoch": 0, "misfit": 1.0}, {"epoch": 1, "misfit": 1.0, "model_error": 2.0}])
    assert len(plot.plot_loss([{"epoch": 0, "misfit": 1.0}]).axes) == 1


@pytest.mark.parametrize("model", [None, MODEL], ids=["alone", "over the model"])
def test_a_film_has_a_frame_for_each_snapshot(tmp_path, model):
    path = tmp_path / "new" / "film.GIF"
    plot.movie(path, SNAPS, TIMES, 10.0, model, fps=10)
    assert path.read_bytes().startswith(b"GIF89a")
    with Image.open(path) as film:
        assert film.n_frames == 20 and film.info["duration"] == 100 and film.info["loop"] == 0
        frames = []
        for n in (0, 10, 19):
            film.seek(n)
            frames.append(np.asarray(film.convert("RGB")).astype(int))
    assert frames[0].std() > 5 and frames[0][0, 0].tolist() == [255, 255, 255]
    assert all(np.abs(a - b).max() > 50 for a, b in pairwise(frames))


@pytest.mark.slow  # examples/short/wavefield.py makes one, too
def test_a_film_of_sixty_frames_is_small(tmp_path):
    z, x = np.mgrid[:200, :400]
    radius = np.hypot(z, x - 200)
    waves = np.stack([np.exp(-(((radius - 4 * n) / 8) ** 2)) * np.cos((radius - 4 * n) / 4) for n in range(60)])
    plot.movie(tmp_path / "film.gif", waves, np.arange(60), 10.0, 1500.0 + 10 * z + 50 * np.sin(x / 20))
    assert (tmp_path / "film.gif").stat().st_size < 2e6


def test_values_that_are_not_finite_can_be_drawn(tmp_path):
    broken = np.where(np.mgrid[:NZ, :NX][0] > 9, np.nan, SNAPS[:2])
    plot.save(plot.plot_snapshots(broken, TIMES[:2], 10.0, MODEL), tmp_path / "s.png")
    plot.save(plot.plot_gather(np.where(RECORD > 0.9, np.inf, RECORD), 0.004), tmp_path / "g.png")
    picture(tmp_path / "s.png"), picture(tmp_path / "g.png")


def test_a_shot_is_drawn_on_a_page(tmp_path):
    arrays = {"record": RECORD, "snapshots": SNAPS, "times": TIMES}
    plot.save(plot.plot_shot(MODEL, 10.0, 0.004, sources=SOURCES, receivers=RECEIVERS, **arrays), tmp_path / "p.png")
    picture(tmp_path / "p.png")
    arrays["record"] = np.stack([RECORD] * 2)
    with pytest.raises(ShapeError, match="holds 2 shots; expected one"):
        plot.plot_shot(MODEL, 10.0, 0.004, sources=SOURCES, receivers=RECEIVERS, **arrays)


PLOTS = sorted(name for name in plot.__all__ if name.startswith("plot_"))
HISTORY = [{"epoch": 1, "misfit": 2.0, "model_error": [3.0, 4.0]}]
SHAPES = {"flat": (2, 3000), "deep": (3000, 2), "a cell": (1, 1)}


def profile_of(nranks, nsteps):
    """Return a profile whose ranks compute three shots in each second."""
    steps = [Interval("backward", "backward", float(n), n + 0.5, 0.5, 3) for n in range(nsteps)]
    return Profile(("step",) * nsteps, np.tile(np.arange(nsteps + 1.0), (nranks, 1)), (tuple(steps),) * nranks)


@pytest.fixture
def draw_figure(tmp_path):
    """Return a function that draws a public figure of arrays of a shape (rows, columns), as many as it takes."""
    path = tmp_path / "p.png"

    def draw(name, shape, dh):
        rng, corner = np.random.default_rng(0), {"sources": [[0, 0]], "receivers": [[0, 0]] * 5}
        section = 1500 + rng.random(shape)
        waves, record = np.stack([section] * 20), rng.random((shape[0], 5))
        survey = Gathers(np.zeros((1, 2)), np.ones((1, shape[1], 2)), section[None, ..., None], dt=0.004, dh=dh)
        about = {"start": section, "true": section, "gradient": section, "history": HISTORY * shape[0]}
        calls = {
            "plot_comparison": lambda: plot.plot_comparison(survey, section[None, ..., None]),
            "plot_geometry": lambda: plot.plot_geometry(survey),
            "plot_traces": lambda: plot.plot_traces(survey),
            "plot_epoch": lambda: plot.plot_epoch(section, dh, **about),
            "plot_gather": lambda: plot.plot_gather(np.stack([section] * 12), 0.004),
            "plot_image": lambda: plot.plot_image(section, dh),
            "plot_loss": lambda: plot.plot_loss(HISTORY * shape[0], ["vp", "vs"]),
            "plot_model": lambda: plot.plot_model(np.stack([section] * 3, axis=1), dh),
            "plot_parameters": lambda: plot.plot_parameters(["v"] * 12, {"true": waves[:12]}, dh),
            "plot_profile": lambda: plot.plot_profile(profile_of(*shape)),
            "plot_scaling": lambda: plot.plot_scaling(predict(profile_of(*shape), link=Link(1e-5, 1e9))),
            "plot_shot": lambda: plot.plot_shot(
                section, dh, 0.004, **corner, record=record, snapshots=waves, times=TIMES
            ),
            "plot_snapshots": lambda: plot.plot_snapshots(waves, TIMES, dh),
            "plot_wavelet": lambda: plot.plot_wavelet(section[:, 0], 0.004, 5.0),
        }
        assert sorted(calls) == PLOTS
        if name == "movie":
            plot.movie(tmp_path / "f.gif", waves[:2], TIMES[:2], dh)
            return tmp_path / "f.gif"
        plot.save(calls[name](), path)
        return path

    return draw


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("name", [*PLOTS, "movie"])
def test_no_picture_is_larger_than_two_screens(draw_figure, name, shape):
    with Image.open(draw_figure(name, shape, 10.0)) as image:
        assert 150 <= min(image.size) and max(image.size) <= 4400 and np.prod(image.size) < 8e6


def test_a_bad_picture_is_refused_and_leaves_no_file(tmp_path):
    with pytest.raises(OptionError, match=r"sourdough.*ends in one of"):
        plot.save(plot.plot_model(MODEL, 10.0), tmp_path / "m.sourdough")
    with pytest.raises(OptionError, match="the figure is ndarray; expected a Figure"):
        plot.save(MODEL, tmp_path / "m.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("path", "options", "error", "message"),
    [("m.mp4", {}, OptionError, "ends in .gif"), ("m.gif", {"fps": 0}, DomainError, "fps is 0")],
)
def test_bad_films_are_refused(tmp_path, path, options, error, message):
    with pytest.raises(error, match=message):
        plot.movie(tmp_path / path, SNAPS, TIMES, 10.0, **options)
    with pytest.raises(ShapeError, match="3 times and 20 snapshots"):
        plot.movie(tmp_path / "m.gif", SNAPS, TIMES[:3], 10.0)
    assert not list(tmp_path.iterdir())
