"""Pictures of gathers: what is drawn is what is there, into a figure of their own or one that is given."""

import attrs
import numpy as np
import pytest

from sweep_core import Acoustic, DomainError, DtypeError, Elastic, OptionError, ShapeError, plot
from sweep_core.io import Gathers
from sweep_core.problem import make_problem

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def gathers():
    rng, mask = np.random.default_rng(0), np.ones((3, 20), bool)
    mask[1, 4:6], mask[2, 15:] = False, False
    traces = np.where(np.arange(20) < [[20], [20], [15]], np.arange(60).reshape(3, 20), -1)
    receivers = np.stack(np.broadcast_arrays(2.0 * np.arange(20) + [[0.0], [1], [2]], 1.0), axis=-1)
    observed = rng.standard_normal((3, 50, 20, 1)).astype(np.float32) * mask[:, None, :, None]
    clipped = np.zeros((3, 20), bool)
    clipped[0, 3] = True
    return Gathers(np.array([[0.0, 1], [1, 1], [2, 1]]), receivers, observed, dt=0.004, dh=10.0, receiver_mask=mask,
                   traces=traces, clipped=clipped, shots=np.array([7, 8, 9]), name="line")  # fmt: skip


def test_one_gather(gathers, tmp_path):
    figure = plot.plot_traces(gathers, 1, gain=1, against="x")
    axis, bar = figure.axes
    assert axis.get_title(loc="left") == "line, shot 1 (number 8): 18 traces, without 2 dead"
    assert (axis.get_xlabel(), axis.get_ylabel(), bar.get_ylabel()) == ("x (km)", "time (s)", "amplitude × t")
    assert axis.get_ylim() == pytest.approx((0.196, 0)) and axis.get_xlim() == pytest.approx((0.01, 0.39), abs=0.02)
    figure.savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 5000


def test_a_shot_is_called_by_its_index_first(gathers):
    """Whatever the acquisition calls it; where that is its index, once."""
    titles = [
        plot.plot_traces(each).axes[0].get_title(loc="left") for each in (gathers, attrs.evolve(gathers, shots=None))
    ]
    assert [title.partition(":")[0] for title in titles] == ["line, shot 0 (number 7)", "line, shot 0"]


def test_offsets_and_wiggles_into_axes_that_are_given(gathers):
    from matplotlib.figure import Figure

    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plot.plot_traces(gathers, 2, style="wiggle", ax=left) is figure
    assert plot.plot_geometry(gathers, ax=right) is figure
    assert left.get_xlabel() == "offset (m)" and left.get_xlim() == pytest.approx((-10, 290))
    assert len(left.get_lines()) == 15 and len(figure.axes) == 2


def test_the_geometry(gathers):
    (axis,) = plot.plot_geometry(gathers).axes
    drawn = {line.get_label(): line.get_xydata() for line in axis.get_lines()}
    assert set(drawn) == {"52 live", "1 clipped", "2 dead", "3 sources"}
    np.testing.assert_allclose(drawn["2 dead"], [[0.09, 1], [0.11, 1]])
    np.testing.assert_allclose(drawn["3 sources"], [[0, 0], [0.01, 1], [0.02, 2]])


def test_observed_and_modelled_over_each_other(gathers, tmp_path):
    figure = plot.plot_comparison(gathers, 0.5 * gathers.observed, 1, most=6, percentile=100)
    left, right = figure.axes
    lines = left.get_lines()
    assert len(lines) == 12 and left.get_ylim() == pytest.approx((0.196, 0))
    observed, modelled = (line.get_xdata() for line in (lines[0], lines[6]))
    np.testing.assert_allclose(modelled, 0.5 * observed, atol=1e-9)  # the first trace swings about zero
    assert left.get_xlabel() == "offset (m)" and left.get_ylabel() == "time (s)"
    np.testing.assert_allclose(lines[0].get_ydata(), gathers.times)
    black, red = (line.get_ydata() for line in right.get_lines())
    np.testing.assert_allclose(red, 0.5 * black)
    figure.savefig(tmp_path / "a.png")
    halved = plot.plot_comparison(gathers, gathers.observed, weights=0.5 * gathers.weights()).axes[1].get_lines()
    whole = plot.plot_comparison(gathers, gathers.observed).axes[1].get_lines()
    np.testing.assert_allclose(halved[0].get_ydata(), 0.5 * whole[0].get_ydata())
    assert plot.plot_comparison(gathers, gathers.observed, ax=(left, right)) is figure


def test_traces_of_chosen_receivers_are_compared_at_their_offsets_in_metres(gathers):
    problem = make_problem(Acoustic(), (9, 60), 10.0, 0.001)
    left, _ = plot.plot_comparison(
        gathers, gathers.observed, 1, receivers=[12, 0, 19], percentile=100, solver=problem
    ).axes
    assert [label.get_text() for label in left.get_xticklabels()] == ["240", "0", "380"]
    assert left.get_title(loc="left") == "line, shot 1 (number 8): pressure h1 (Pa)"
    largest = np.abs(gathers.observed[1, :, [12, 0, 19], 0]).max()
    for n, receiver in enumerate((12, 0, 19)):
        trace = left.get_lines()[n].get_xdata() - n
        np.testing.assert_allclose(trace, gathers.observed[1, :, receiver, 0] / largest, atol=1e-6)


def test_what_was_recorded_is_said(gathers):
    both = attrs.evolve(gathers, observed=np.concatenate([gathers.observed, 2 * gathers.observed], axis=-1))
    problem = make_problem(Elastic(), (9, 60), 10.0, 0.001, receiver_type=("vz", "p"))
    image, bar = plot.plot_traces(both, 0, solver=problem, field="p", percentile=100).axes
    assert bar.get_ylabel() == "pressure p (Pa)"
    np.testing.assert_allclose(image.get_images()[0].get_array()[:, 0], both.observed[0, :, 0, 1])
    assert plot.plot_traces(both, 1, solver=problem, field="vz").axes[1].get_ylabel() == "vz (m/s)"
    with pytest.raises(ShapeError, match="the record has 2 fields; choose a field by field=: one of vz, p"):
        plot.plot_traces(both, 1, solver=problem)
    spectra = [plot.plot_comparison(both, both.observed, field=n).axes[1].get_lines()[0].get_ydata() for n in (0, 1)]
    np.testing.assert_allclose(spectra[1], 2 * spectra[0])


def test_what_cannot_be_drawn_is_refused(gathers):
    one = gathers.observed[0]
    for record in (one, one[..., 0]):
        with pytest.raises(ShapeError, match=r"expected \(3, 50, 20, 1\), .*; record\[None, ..., None\] has one shot"):
            plot.plot_comparison(gathers, record)
    with pytest.raises(DomainError, match="the modelled record holds only NaN or infinity"):
        plot.plot_comparison(gathers, np.nan * gathers.observed)
    with pytest.raises(DomainError, match="receiver 5 of shot 1 is dead; choose among 0, 1, 2, 3, 6"):
        plot.plot_comparison(gathers, gathers.observed, 1, receivers=[0, 5])
    with pytest.raises(DomainError, match="a receiver is 20; line has 20, counted from 0"):
        plot.plot_comparison(gathers, gathers.observed, receivers=[20])
    with pytest.raises(ShapeError, match=r"weights have shape \(3, 50, 19, 1\); expected \(3, 50, 20, 1\)"):
        plot.plot_comparison(gathers, gathers.observed, weights=gathers.weights()[:, :, 1:])
    with pytest.raises(DtypeError, match="shot is 1.5; expected a number from 0 to 2"):
        plot.plot_traces(gathers, 1.5)
    with pytest.raises(DomainError, match="shot is -1; line has 3, counted from 0"):
        plot.plot_traces(gathers, -1)
    with pytest.raises(OptionError, match="gain is 'loud'"):
        plot.plot_traces(gathers, gain="loud")
    with pytest.raises(DomainError, match="shot is 3; line has 3"):
        plot.plot_traces(gathers, 3)
    with pytest.raises(DomainError, match="field is 1; the record has 1"):
        plot.plot_traces(gathers, 0, field=1)
    with pytest.raises(OptionError, match="against is 'y'"):
        plot.plot_traces(gathers, against="y")
    with pytest.raises(OptionError, match="style is 'dots'"):
        plot.plot_traces(gathers, style="dots")
    for draw in (plot.plot_traces, plot.plot_geometry):
        with pytest.raises(DtypeError, match="gathers are ndarray"):
            draw(gathers.observed)
        with pytest.raises(DomainError, match="0, counted|no shots"):
            draw(gathers.take([]))
    with pytest.raises(ShapeError, match=r"modelled record has shape \(2, 50, 20, 1\); expected \(3, 50, 20, 1\)"):
        plot.plot_comparison(gathers, gathers.observed[:2])
    with pytest.raises(DomainError, match="shot is 3; line has 3"):
        plot.plot_comparison(gathers, gathers.observed, 3)
    with pytest.raises(DomainError, match="most is 0; expected a number of traces"):
        plot.plot_comparison(gathers, gathers.observed, most=0)
