"""Plots take arrays of any library, lists of models and axes, and refuse bad arguments by name."""

import numpy as np
import pytest

from sweep_core import Acoustic, DomainError, DtypeError, Elastic, OptionError, ShapeError, SweepError, plot
from sweep_core.distribution import Interval, Link, Profile, predict
from sweep_core.io import Gathers
from sweep_core.problem import make_problem

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

NZ, NX, NT, NREC = 12, 20, 30, 10
MODEL = 1500.0 + 40 * np.arange(NZ)[:, None] + np.zeros(NX)
VOLUME = np.stack([MODEL] * 4, axis=1)
RECORD = np.sin(0.4 * np.arange(NT)[:, None] - 0.3 * np.arange(NREC))
SNAPS, TIMES = np.stack([np.sin(MODEL / 50 + n) for n in range(6)]), 0.1 * np.arange(6)
SOURCES, RECEIVERS = np.array([[10, 2]]), np.stack([np.arange(0, NX, 2), np.full(NREC, 2)], axis=1)
HISTORY = [{"epoch": n, "misfit": 2.0 - n, "model_error": 3.0} for n in range(2)]
GATHERS = Gathers(np.array([[10.0, 2]]), RECEIVERS[None].astype(float), RECORD[None, ..., None], dt=0.004, dh=10.0)
PROFILE = Profile(("step",), np.array([[0.0, 3.0]]), ((Interval("backward", "backward", 0.0, 2.0, 2.0, 3),),))
ACOUSTIC = make_problem(Acoustic(), (NZ, NX), 10.0, 0.001)
ELASTIC = make_problem(Elastic(), (NZ, NX), 10.0, 0.001, receiver_type=("vz", "vx"))


def shot(of=lambda x: x, **options):
    arrays = {"sources": of(SOURCES), "receivers": of(RECEIVERS), "record": of(RECORD), "snapshots": of(SNAPS)}
    return plot.plot_shot([of(MODEL)], 10.0, 0.004, times=of(TIMES), **arrays, **options)


DRAW = {
    "plot_comparison": lambda of, **o: plot.plot_comparison(GATHERS, of(RECORD[None, ..., None]), **o),
    "plot_epoch": lambda of, **o: plot.plot_epoch(
        of(MODEL + 50), 10.0, start=[of(MODEL)], true=of(MODEL[None] + 90), gradient=of(MODEL), history=HISTORY,
        fixed=of(MODEL < 1600), sources=of(SOURCES), receivers=of(RECEIVERS), **o),
    "plot_gather": lambda of, **o: plot.plot_gather(of(RECORD), 0.004, of(RECEIVERS[:, 0] * 10.0), gain="agc", **o),
    "plot_geometry": lambda of, **o: plot.plot_geometry(GATHERS, **o),
    "plot_image": lambda of, **o: plot.plot_image([of(MODEL - 1700)], 10.0, of(SOURCES), of(RECEIVERS), **o),
    "plot_loss": lambda of, **o: plot.plot_loss(HISTORY, **o),
    "plot_model": lambda of, **o: plot.plot_model([of(MODEL)], 10.0, of(SOURCES), of(RECEIVERS), **o),
    "plot_parameters": lambda of, **o: plot.plot_parameters(
        ["vp", "vs"], {"true": [of(MODEL), of(MODEL / 2)], "start": of(np.stack([MODEL] * 2))}, 10.0, **o),
    "plot_profile": lambda of, **o: plot.plot_profile(PROFILE, **o),
    "plot_scaling": lambda of, **o: plot.plot_scaling(predict(PROFILE, link=Link(1e-5, 1e9)), {"two": {2: 1.9}}, **o),
    "plot_shot": shot,
    "plot_snapshots": lambda of, **o: plot.plot_snapshots(of(SNAPS), of(TIMES), 10.0, of(MODEL), **o),
    "plot_traces": lambda of, **o: plot.plot_traces(GATHERS, **o),
    "plot_wavelet": lambda of, **o: plot.plot_wavelet(of(RECORD[:, 0]), 0.004, **o),
}  # fmt: skip
PANELS = {"plot_comparison": 2, "plot_epoch": 7, "plot_loss": 2, "plot_parameters": 4, "plot_profile": 2,
          "plot_scaling": 2, "plot_shot": 4,
          "plot_snapshots": 6, "plot_wavelet": 2}  # fmt: skip


def plain(x):
    return x


class DeviceTensor:
    """A tensor on another device that requires a gradient: NumPy cannot read it there."""

    def __init__(self, x, on_cpu=False):
        self.x, self.on_cpu, self.ndim = x, on_cpu, x.ndim

    def __array__(self, *_, **__):
        if not self.on_cpu:
            raise TypeError("can't convert a tensor on this device to numpy")
        return self.x

    def detach(self):
        return self

    def cpu(self):
        return DeviceTensor(self.x, on_cpu=True)


def with_gradient(x):
    torch = pytest.importorskip("torch")
    return torch.as_tensor(x).requires_grad_(x.dtype.kind == "f")


def of_jax(x):
    return pytest.importorskip("jax.numpy").asarray(x)


def contents(figure):
    """Return the images and lines of each axis."""
    return [
        [np.asarray(image.get_array(), np.float32) for image in axis.get_images()]
        + [np.asarray(line.get_xydata(), np.float32) for line in axis.get_lines()]
        for axis in figure.axes
    ]


def test_every_plot_is_tested_here():
    assert sorted(DRAW) == sorted(name for name in plot.__all__ if name.startswith("plot_"))


@pytest.mark.parametrize("library", [with_gradient, of_jax, DeviceTensor], ids=["torch", "jax", "another device"])
@pytest.mark.parametrize("name", DRAW)
def test_arrays_of_any_library_are_drawn_alike(name, library):
    for a, b in zip(contents(DRAW[name](plain)), contents(DRAW[name](library)), strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", DRAW)
def test_plots_draw_into_given_axes_and_return_their_figure(name):
    from matplotlib.figure import Figure

    figure, count = Figure(), PANELS.get(name, 1)
    axes = figure.subplots(1, count + 1)
    assert DRAW[name](plain, ax=axes[:count] if count > 1 else axes[0]) is figure
    assert all(axis.has_data() for axis in axes[:count]) and not axes[count].has_data()
    with pytest.raises(OptionError, match="ax is, or holds, Figure; expected Axes"):
        DRAW[name](plain, ax=figure)
    with pytest.raises(OptionError, match=f"ax holds {count + 1} axes; expected {count}"):
        DRAW[name](plain, ax=axes)
    with pytest.raises(OptionError, match="ax is, or holds, str; expected Axes"):
        DRAW[name](plain, ax="left")


def epoch(**changes):
    arguments = {"model": MODEL, "dh": 10.0, "start": MODEL, **changes}
    return plot.plot_epoch(**arguments)


NAN, ONE_SHOT = np.full_like(MODEL, np.nan), RECORD[:, :, None]
TWO = np.stack([RECORD, RECORD], axis=-1)[None]
BAD = {
    "a name": (lambda: plot.plot_model("m.png", MODEL), DtypeError, r"'m.png'; expected \(nz, nx\).*save\(figure, path"),
    "a name of a gather": (lambda: plot.plot_gather("g.png", RECORD), DtypeError, r"the record is 'g.png'"),
    "a line as a model": (lambda: plot.plot_model(MODEL[0], 10.0), ShapeError, r"\(20,\); expected \(nz, nx\)"),
    "complex": (lambda: plot.plot_model(1j * MODEL, 10.0), DtypeError, "complex128; expected real"),
    "ragged": (lambda: plot.plot_model([[1, 2], [3]], 10.0), DtypeError, "cannot be read"),
    "nothing": (lambda: plot.plot_model(None, 10.0), DtypeError, "dtype object"),
    "two models": (lambda: plot.plot_model([MODEL, MODEL], 10.0), ShapeError, r"list of 2 models; expected one: choose"),
    "NaN alone": (lambda: plot.plot_model(NAN, 10.0), DomainError, "the model holds only NaN or infinity"),
    "dh": (lambda: plot.plot_model(MODEL, -1.0), DomainError, "dh is -1.0; expected metres"),
    "three dh": (lambda: plot.plot_model(MODEL, (1, 2, 3)), ShapeError, "dh has 3 values; expected one"),
    "swapped": (lambda: plot.plot_model(MODEL, 10.0, [[2, 19]]), DomainError, r"sources: z = 19 \(cells\) lies outside"),
    "nan": (lambda: plot.plot_model(MODEL, 10.0, None, [[2.0, np.nan]]), DomainError, "receivers: z = nan"),
    "three columns": (lambda: plot.plot_model(MODEL, 10.0, [[2, 4, 5]]), ShapeError, r"columns \(x, z\)"),
    "point": (lambda: plot.plot_model(VOLUME, 10.0, point=(50, 0, 0)), DomainError, r"point is \(50, 0, 0\)"),
    "point of a section": (lambda: plot.plot_model(MODEL, 10.0, point=(5, 0, 0)), DomainError, "expected None"),
    "fixed": (lambda: plot.plot_model(MODEL, 10.0, fixed=MODEL), ShapeError, r"fixed is float64 .*expected bool"),
    "all fixed": (lambda: plot.plot_image(MODEL, 10.0, fixed=MODEL > 0), DomainError, "true in every cell"),
    "an image of NaN": (lambda: plot.plot_image(NAN, 10.0), DomainError, "the image holds only NaN"),
    "style": (lambda: plot.plot_gather(RECORD, 0.004, style="wobble"), OptionError, "'wobble'; expected one of 'image'"),
    "x": (lambda: plot.plot_gather(RECORD, 0.004, [1.0, 2.0]), ShapeError, "2 positions; expected 10"),
    "nan in x": (lambda: plot.plot_gather(RECORD, 0.004, [np.nan] * NREC), DomainError, "x holds only NaN"),
    "a nan in x": (lambda: plot.plot_gather(RECORD, 0.004, [np.nan, *range(9)]), DomainError, "x holds NaN"),
    "one shot with its field": (
        lambda: plot.plot_gather(ONE_SHOT, 0.004), ShapeError,
        r"30 shots; expected at most 12: shape \(30, 10, 1\).*record\[shot, ..., field\]",
    ),
    "two fields": (lambda: plot.plot_gather(TWO, 0.004), ShapeError, "record has 2 fields; choose a field by field=, co"),
    "two named": (lambda: plot.plot_gather(TWO, 0.004, solver=ELASTIC), ShapeError, "by field=: one of vz, vx"),
    "which of two": (lambda: plot.plot_gather(RECORD, 0.004, solver=ELASTIC), ShapeError, "by field=: one of vz, vx"),
    "a field out of range": (lambda: plot.plot_gather(TWO, 0.004, field=2), DomainError, "field is 2; the record has 2"),
    "a field by half": (lambda: plot.plot_gather(TWO, 0.004, field=0.5), DtypeError, "field is 0.5; expected a number"),
    "an unknown field": (
        lambda: plot.plot_gather(TWO, 0.004, solver=ELASTIC, field="p"), OptionError, "'p'; expected one .*: vz, vx",
    ),
    "a name without a solver": (
        lambda: plot.plot_gather(TWO, 0.004, field="vz"), OptionError, "'vz'; expected its number, or solver= as well",
    ),
    "another solver": (
        lambda: plot.plot_gather(TWO, 0.004, solver=ACOUSTIC), ShapeError, "has 2 fields; expected 1, of the solver: h1",
    ),
    "no solver": (lambda: plot.plot_gather(RECORD, 0.004, solver=Acoustic()), OptionError, "solver is Acoustic; expected"),
    "titles": (lambda: plot.plot_gather(RECORD, 0.004, None, ["a", "b"]), ShapeError, "2 titles; expected one"),
    "dt": (lambda: plot.plot_gather(RECORD, 0.0), DomainError, "dt is 0.0"),
    "dt of nothing": (lambda: plot.plot_gather(RECORD, None), DtypeError, "dt is None; expected one number, seconds"),
    "percentile": (lambda: plot.plot_gather(RECORD, 0.004, percentile=0), DomainError, "percentile is 0"),
    "gain": (lambda: plot.plot_gather(RECORD, 0.004, gain=-1), OptionError, "gain is -1; expected a power of time"),
    "another gain": (lambda: plot.plot_gather(RECORD, 0.004, gain="loud"), OptionError, "'loud'; expected .* or 'agc'"),
    "gains": (lambda: plot.plot_gather(RECORD, 0.004, gain=[1, 2]), OptionError, r"gain is \[1, 2\]"),
    "a silent record of NaN": (lambda: plot.plot_gather(RECORD * np.nan, 0.004), DomainError, "the record holds only NaN"),
    "times": (lambda: plot.plot_snapshots(SNAPS, TIMES[1:], 10.0), ShapeError, "5 times and 6 snapshots"),
    "all shots": (lambda: plot.plot_snapshots(SNAPS[None], TIMES, 10.0), ShapeError, r"a shot by snapshots\[shot\]"),
    "another model": (lambda: plot.plot_snapshots(SNAPS, TIMES, 10.0, MODEL.T), ShapeError, "that of a snapshot"),
    "a field of snapshots": (lambda: plot.plot_snapshots(SNAPS, TIMES, 10.0, field="vz"), OptionError, "solver= as well"),
    "no such field": (
        lambda: plot.plot_snapshots(SNAPS, TIMES, 10.0, solver=ELASTIC, field="h1"), OptionError, "'h1'; expected .* vx",
    ),
    "wavelets": (lambda: plot.plot_wavelet(np.ones((3, 9)), 0.004, 5.0), ShapeError, r"expected \(nt,\)"),
    "freq": (lambda: plot.plot_wavelet(np.ones(9), 0.004, 0.0), DomainError, "freq is 0.0; expected Hz"),
    "no epoch": (lambda: plot.plot_loss([]), DomainError, "history is empty"),
    "no misfit": (lambda: plot.plot_loss([{"epoch": 1}]), DomainError, "a line of the history has no misfit"),
    "labels of errors": (
        lambda: plot.plot_loss([{"misfit": 1.0, "model_error": [1.0, 2]}], ["vp"]), ShapeError, "1 labels; .* 2 param",
    ),
    "volumes of an epoch": (lambda: epoch(start=VOLUME), ShapeError, r"1 labels; expected one for each of the 12 models"),
    "a gradient of another shape": (
        lambda: epoch(gradient=MODEL.T), ShapeError, r"the gradient has shape \(20, 12\); expected \(12, 20\)",
    ),
    "models of two shapes": (
        lambda: epoch(model=[MODEL, MODEL.T], start=[MODEL] * 2, labels=["vp", "vs"]), ShapeError, "expected one shape",
    ),
    "a true model of NaN": (lambda: epoch(true=NAN), DomainError, "the true model holds only NaN"),
    "an empty history": (lambda: epoch(history=[]), DomainError, "history is empty"),
    "water elsewhere": (lambda: epoch(fixed=MODEL.T > 0), ShapeError, r"bool of shape \(20, 12\); expected bool \(12"),
    "labels": (lambda: plot.plot_parameters(["vp"], {"a": [MODEL] * 2}, 10.0), ShapeError, "1 labels; .* 2 models"),
    "a stage": (
        lambda: plot.plot_parameters(["v"], {"a": MODEL, "end": MODEL.T}, 10.0), ShapeError,
        r"stage 'end' has shape \(20, 12\); expected \(12, 20\)",
    ),
    "a hundred labels": (lambda: plot.plot_parameters(["v"] * 100, {"a": MODEL}, 1.0), ShapeError, "1 to 12 of each"),
    "stages in a list": (lambda: plot.plot_parameters(["v"], [MODEL], 10.0), DtypeError, "stages are list; expected a dict"),
    "one label": (lambda: epoch(labels="vp (m/s)"), DtypeError, r"labels are 'vp \(m/s\)'; expected a list"),
    "a blank label": (lambda: epoch(labels=[""]), DtypeError, r"labels are \[''\]"),
    "a history that is none": (lambda: plot.plot_loss("history.jsonl"), DtypeError, "the history is str; expected a list"),
    "an epoch in words": (lambda: plot.plot_loss([{"misfit": 1.0, "epoch": "x"}]), DtypeError, "epoch has dtype"),
    "a misfit of NaN": (lambda: plot.plot_loss([{"misfit": np.nan}]), DomainError, "misfit holds only NaN"),
    "a point in words": (lambda: plot.plot_model(VOLUME, 10.0, point="mid"), DtypeError, "point is 'mid'; expected a cell"),
    "a percentile in words": (lambda: plot.plot_image(MODEL, 10.0, percentile="99"), DomainError, "percentile is '99'"),
    "water that is ragged": (
        lambda: plot.plot_model(MODEL, 10.0, fixed=[[True], [True, False]]), DtypeError, "fixed cannot be read",
    ),
    "a title that is none": (lambda: plot.plot_gather(RECORD, 0.004, None, 5), DtypeError, "titles are 5; expected a list"),
    "a field that is no name": (lambda: plot.field_label(ACOUSTIC, 0), DtypeError, "field is 0; .* such as 'h1'"),
    "no path": (lambda: plot.save(plot.plot_model(MODEL, 10.0), None), OptionError, "the path of the picture is None; expected a path"),
    "no dots": (lambda: plot.save(plot.plot_model(MODEL, 10.0), "m.png", dpi=0), OptionError, "dpi is 0; expected dots"),
    "two records of a shot": (lambda: shot(lambda x: np.stack([x] * 2) if x is RECORD else x), ShapeError, "2 shots"),
}  # fmt: skip


@pytest.mark.parametrize(("draw", "error", "message"), BAD.values(), ids=BAD)
def test_bad_arguments_are_refused_by_name(draw, error, message):
    assert issubclass(error, SweepError)
    with pytest.raises(error, match=message):
        draw()
