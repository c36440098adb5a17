"""Named intervals add up to the time of each step; a cost model predicts the time of more devices from them."""

import json
import time

import numpy as np
import pytest
from inverting import on_ranks
from traces import check_trace

from sweep_core import CheckpointError, DomainError, DtypeError, OptionError, SerialDistributor, ShapeError
from sweep_core.distribution import (
    Interval,
    Link,
    Profile,
    Recorder,
    TimedDistributor,
    chrome_trace,
    predict,
    read_profile,
    record_interval,
)
from sweep_core.distribution.profile import KINDS


def recorded():
    """Return the profile of two steps on one rank, with intervals inside each other."""
    recorder = Recorder()
    with recorder.recording(SerialDistributor()):
        recorder.begin_step("start")
        for _ in range(2):
            recorder.begin_step("step")
            with record_interval("evaluation", "host"):
                with record_interval("forward", "forward"):
                    time.sleep(0.02)
                with record_interval("backward", "backward", shots=3):
                    time.sleep(0.03)
                    with record_interval("all_reduce", "communication", nbytes=80):
                        time.sleep(0.01)
                time.sleep(0.005)
        recorder.begin_step("end")
    return recorder.gather(SerialDistributor())


def test_an_interval_counts_without_the_intervals_inside_it():
    profile = recorded()
    assert profile.names == ("start", "step", "step", "end") and profile.size == 1
    mean = dict(zip(KINDS, profile.mean[0], strict=True))
    for kind, least in (("forward", 0.02), ("backward", 0.03), ("communication", 0.01), ("host", 0.005)):
        assert mean[kind] >= least
    assert mean["gradient"] == mean["idle"] == mean["data"] == 0
    walls = np.diff(profile.starts)[:, 1:3].mean()
    assert profile.mean.sum() == pytest.approx(walls, rel=1e-9)
    by_name = {each.name: each for each in profile.intervals[0]}
    assert by_name["backward"].own < by_name["backward"].end - by_name["backward"].start - 0.01


def test_without_a_recorder_an_interval_does_nothing():
    with record_interval("forward", "forward") as interval:
        assert interval is None
    assert not Recorder().intervals


def test_the_table_holds_the_seconds_of_each_kind():
    text = str(recorded())
    head, row, share = (text.splitlines()[n].split() for n in (1, 2, 4))
    assert head == ["rank", "forward", "backward", "communication", "data", "host", "idle", "step"]
    values = [float(value) for value in row[1:]]
    assert sum(values[:-1]) == pytest.approx(values[-1], rel=0.02)
    assert share[0] == "share" and text.startswith("seconds of the mean of 2 steps")
    empty = Profile((), np.zeros((1, 1)), ((),))
    assert str(empty) == "no step was computed, so there is no time to show"


def test_many_ranks_have_their_extremes_in_the_table():
    profile = recorded()
    many = Profile(profile.names, np.repeat(profile.starts, 40, 0), profile.intervals * 40)
    first = [line.split()[0] for line in str(many).splitlines()[2:5]]
    assert first == ["least", "most", "mean"]


def test_the_trace_nests_and_its_durations_add_up():
    profile = recorded()
    trace = json.loads(json.dumps(chrome_trace(profile)))
    assert check_trace(trace) == {0}
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    steps = sum(event["dur"] for event in events if event["name"] in ("step 1", "step 2"))
    assert steps == pytest.approx(1e6 * np.diff(profile.starts)[0, 1:3].sum(), rel=1e-9)
    own = {kind: 0.0 for kind in KINDS}
    for event in events:
        if event["cat"] != "part":
            inside = [e for e in events if e["cat"] != "part" and e is not event and e["ts"] >= event["ts"]
                      and e["ts"] + e["dur"] <= event["ts"] + event["dur"]]  # fmt: skip
            direct = sum(e["dur"] for e in inside if e["name"] != "all_reduce" or event["name"] == "backward")
            own[event["cat"]] += event["dur"] - direct
    for kind in ("forward", "backward", "communication"):
        assert own[kind] / 2e6 == pytest.approx(profile.mean[0, KINDS.index(kind)], rel=1e-6)
    sums = [event["args"] for event in events if event["name"] == "all_reduce"]
    assert sums == [{"bytes": 80}] * 2


def test_a_stored_trace_gives_the_profile_again(tmp_path):
    profile, path = recorded(), tmp_path / "trace.json"
    path.write_text(json.dumps(chrome_trace(profile)))
    again = read_profile(path)
    assert again.names == profile.names
    np.testing.assert_allclose(again.starts, profile.starts, atol=1e-9)
    np.testing.assert_allclose(again.seconds, profile.seconds, atol=1e-9)
    assert [(each.name, each.shots, each.nbytes) for each in again.intervals[0]] == [
        (each.name, each.shots, each.nbytes) for each in profile.intervals[0]
    ]
    path.write_text("{}")
    with pytest.raises(CheckpointError, match="expected the trace.json of a run with a profile"):
        read_profile(path)
    with pytest.raises(CheckpointError, match="No such file"):
        read_profile(tmp_path / "none.json")


def test_waiting_and_sending_are_told_apart():
    """Rank 1 comes 0.2 s late, so rank 0 is idle; both ranks send for a moment."""

    def work(rank):
        recorder, group = Recorder(), TimedDistributor(rank)
        with recorder.recording(group):
            recorder.begin_step("step")
            time.sleep(0.2 * rank.rank)
            total = group.all_reduce(np.ones(3))
        assert total.tolist() == [2, 2, 2] and (group.rank, group.size) == (rank.rank, 2)
        return recorder.gather(group)

    profile, nothing = on_ranks(2, work)
    assert nothing is None and profile.size == 2
    idle, sending = (profile.mean[:, KINDS.index(kind)] for kind in ("idle", "communication"))
    assert idle[0] > 0.15 and idle[0] > idle[1] + 0.1 and sending.max() < idle[0]
    assert check_trace(chrome_trace(profile)) == {0, 1}


def test_bars_of_the_picture_are_the_seconds_of_each_rank():
    plot = pytest.importorskip("sweep_core.plot")
    pytest.importorskip("matplotlib")
    profile = by_hand(2, [(8, 0.02), (8008, 1.02)])
    left, right = plot.plot_profile(profile).axes
    widths = [[bar.get_width() for bar in group] for group in left.containers]
    drawn = [n for n in range(len(KINDS)) if profile.mean[:, n].any()]
    np.testing.assert_allclose(widths, profile.mean[:, drawn].T)
    assert left.figure.legends[0].get_texts()[0].get_text() == "forward 8.0 %"
    tops = [patch.get_data().values for patch in right.patches]
    np.testing.assert_allclose(tops[-1], [10.0, 10.0])
    assert left.get_title() == "ranks compute waves for 20 % of the time"
    with pytest.raises(DomainError, match="the profile has no steps"):
        plot.plot_profile(Profile((), np.zeros((1, 1)), ((),)))


def test_the_curve_is_that_of_the_prediction():
    plot = pytest.importorskip("sweep_core.plot")
    pytest.importorskip("matplotlib")
    prediction = predict(by_hand(), (1, 2, 4), link=Link(0.01, 8000.0))
    left, _ = plot.plot_scaling(prediction, {"measured": {2: 1.5}}).axes
    lines = {line.get_label(): line.get_xydata() for line in left.get_lines()}
    np.testing.assert_allclose(lines["predicted"], [(row.devices, row.speed_up) for row in prediction.rows])
    np.testing.assert_allclose(lines["measured"], [(2, 1.5)])


# --- the cost model ---------------------------------------------------------------------------------------------------


def by_hand(size=1, sums=()):
    """Return the profile of two steps of 4 shots of 1 s each, 0.5 s of the host, and sums of (bytes, seconds)."""
    own, ranks = 4 // size, []
    for _ in range(size):
        intervals = []
        for begin in (0.0, 10.0):
            inside = [Interval("forward", "forward", begin, begin + 0.4 * own, 0.4 * own),
                      Interval("backward", "backward", begin + 0.4 * own, begin + own, 0.6 * own, own)]  # fmt: skip
            now = begin + own
            for nbytes, seconds in sums:
                inside.append(Interval("all_reduce", "communication", now, now + seconds, seconds, 0, nbytes))
                now += seconds
            intervals += [*inside, Interval("evaluation", "host", begin, now, 0.0, 0, 8000)]
            intervals.append(Interval("wait", "idle", now + 0.5, begin + 10, begin + 9.5 - now))
        ranks.append(tuple(intervals))
    return Profile(("step", "step"), np.repeat([[0.0, 10.0, 20.0]], size, 0), tuple(ranks))


def test_the_prediction_is_that_of_a_calculation_by_hand():
    """A sum on 2 devices takes 2 latencies and its bytes once; on 4 devices 4 latencies and the bytes 1.5 times."""
    link = Link(latency=0.01, bandwidth=8000.0)
    prediction = predict(by_hand(), (1, 2, 4, 8), link=link)
    assert (prediction.shots, prediction.shot, prediction.host) == (4, pytest.approx(1.0), pytest.approx(0.5))
    one, two, four, eight = prediction.rows
    assert (one.step, one.speed_up, one.efficiency, one.communication) == (pytest.approx(4.5), 1, 1, 0)
    small = 2 * 0.01 + 8 / 8000
    assert two.communication == pytest.approx(2 * 0.01 + 1 + small)
    assert two.step == pytest.approx(2 + 0.5 + two.communication)
    assert four.communication == pytest.approx(4 * 0.01 + 1.5 + 4 * 0.01 + 1.5 * 8 / 8000)
    assert four.speed_up == pytest.approx(4.5 / (1.5 + four.communication))
    assert (eight.shots, eight.compute, eight.idle) == (1, pytest.approx(1.0), pytest.approx(0.5))
    assert prediction.row(4) is four
    text = str(prediction).splitlines()
    assert len(text) == 5 and text[1].split()[:3] == ["1", "4", "4"]


def test_the_link_is_measured_by_the_sums_of_a_run():
    """8 bytes take 0.02 s, two messages; 8008 bytes take 1 s more on two ranks, which send each byte once."""
    profile = by_hand(2, [(8, 0.02), (8008, 1.02)])
    link = Link.of(profile)
    assert (link.latency, link.bandwidth) == (pytest.approx(0.01), pytest.approx(8000.0))
    two = predict(profile, (2,)).row(2)
    assert two.communication == pytest.approx(0.02 + 1.001 + 0.021)
    assert two.compute == pytest.approx(2.0) and two.host == pytest.approx(0.5)


def test_costs_make_the_most_expensive_part_the_slowest():
    free = Link(0, 1e30)
    row = predict(by_hand(), (2,), costs=[9, 1, 1, 1], link=free).row(2)
    assert row.compute == pytest.approx(3.0) and row.idle == pytest.approx(1.0)
    assert predict(by_hand(), (2,), shots=6, link=free).row(2).compute == pytest.approx(3.0)


def test_memory_is_that_of_the_shots_at_once():
    prediction = predict(by_hand(), (1, 2, 4), link=Link(0, 1e30), memory=lambda shots: 2**30 * shots, batch=3)
    assert [row.memory // 2**30 for row in prediction.rows] == [3, 2, 1]
    assert str(prediction).splitlines()[1].endswith("3.00 GiB")


def test_a_prediction_that_lacks_a_figure_is_refused():
    with pytest.raises(DomainError, match="measure latency and bandwidth; give link=Link"):
        predict(by_hand(), (1, 2))
    assert predict(by_hand(), (1,)).row(1).speed_up == 1, "one device needs no link"
    with pytest.raises(DomainError, match="the profile has no steps"):
        predict(Profile((), np.zeros((1, 1)), ((),)))
    with pytest.raises(DomainError, match="no step of the profile computed a gradient"):
        predict(Profile(("step",), np.array([[0.0, 1.0]]), ((),)))
    with pytest.raises(OptionError, match="devices is 3; expected one of 1, 2"):
        predict(by_hand(), (1, 2), link=Link(0, 1)).row(3)
    with pytest.raises(ShapeError, match="costs has 2 entries"):
        predict(by_hand(), costs=[1, 2], link=Link(0, 1))
    with pytest.raises(OptionError, match="devices is 0"):
        predict(by_hand(), (0,), link=Link(0, 1))
    with pytest.raises(DomainError, match="bandwidth is 0"):
        Link(0, 0)
    with pytest.raises(DtypeError, match="latency is None"):
        Link(None, 1)
