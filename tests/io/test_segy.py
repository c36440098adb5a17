"""SEG-Y input follows the standard, and redundant header values are checked."""

import re

import attrs
import numpy as np
import pytest
import segy as standard

from sweep_core import DataError, DomainError, DtypeError, OptionError, ShotPlan, sampled
from sweep_core.io import Line, open_segy, read_segy

pytest.importorskip("segyio", reason="segyio is not installed")


def test_read_segy_returns_a_survey_for_a_solver(write):
    traces, _ = standard.survey()
    result = read_segy(write(), dh=12.5)
    assert result.observed.shape == (3, 64, 5, 1) and result.dt == 0.004 and result.dh == (12.5, 12.5)
    np.testing.assert_array_equal(result.sources, [[8, 0.48], [10, 0.48], [12, 0.48]])
    np.testing.assert_array_equal(result.receivers[0], [[n, 0.8] for n in range(5)])
    np.testing.assert_array_equal(result.receiver_mask, [[1] * 5, [1] * 4 + [0], [1] * 5])
    np.testing.assert_array_equal(result.traces, [[0, 1, 2, 3, 4], [5, 6, 7, 8, -1], [9, 10, 11, 12, 13]])
    np.testing.assert_allclose(result.observed[1, :, :4, 0], traces[5:9].T, rtol=1e-6, atol=1e-4)
    assert not result.observed[1, :, 4].any() and list(result.shots) == [101, 102, 103] and not result.notes
    for value in attrs.asdict(result, recurse=False).values():
        assert not isinstance(value, np.ndarray) or value.flags.c_contiguous


@pytest.mark.parametrize("order", "><")
@pytest.mark.parametrize("format", standard.KINDS)
def test_samples_of_every_format_and_byte_order_are_read(write, format, order):
    kind = np.dtype(standard.KINDS[format])
    traces, _ = standard.survey()
    if format in (2, 3, 8, 10, 11, 16):
        low = 0 if kind.kind == "u" else -100
        traces = np.random.default_rng(0).integers(low, 100, traces.shape).astype(kind)
    path = write(traces, format=format, order=order)
    np.testing.assert_array_equal(open_segy(path).traces(dtype=np.float64), standard_traces(path, format, order))
    assert np.abs(open_segy(path).traces() - traces).max() < 1e-3


def standard_traces(path, format, order=">"):
    return [standard.trace_samples(path.read_bytes(), n, 64, format, order) for n in range(14)]


def test_ibm_floats_equal_those_of_segyio(tmp_path):
    import segyio

    values = np.random.default_rng(0).standard_normal((3, 500)) * 10.0 ** np.random.default_rng(1).integers(
        -30, 30, (3, 500)
    )
    spec = segyio.spec()
    spec.format, spec.samples, spec.tracecount = 1, np.arange(500), 3
    with segyio.create(str(tmp_path / "a.sgy"), spec) as file:
        file.trace = values.astype(np.float32)
    with segyio.open(str(tmp_path / "a.sgy"), ignore_geometry=True) as file:
        np.testing.assert_array_equal(open_segy(tmp_path / "a.sgy").traces(), file.trace.raw[:])


@pytest.mark.parametrize(("scalar", "factor"), [(0, 1), (1, 1), (10, 10), (-10, 0.1), (-1000, 1e-3)])
def test_negative_scalars_divide_and_zero_means_one(write, scalar, factor):
    segy = open_segy(write(change={"SourceGroupScalar": scalar, "ElevationScalar": scalar}))
    np.testing.assert_allclose(segy.sources[0], [10000 * factor, 0, -60 * factor])
    np.testing.assert_allclose(segy.receivers[4], [5000 * factor, 0, -100 * factor])
    reading = open_segy(segy.path, coordinate_scalar=-100, elevation_scalar=-10)
    np.testing.assert_allclose(reading.sources[0], [100, 0, -6])


def test_depths_are_relative_to_the_datum(write):
    path = write(change={"SourceSurfaceElevation": 400, "SourceDepth": 60, "ReceiverGroupElevation": 380})
    result = read_segy(path, dh=(2.0, 12.5), datum=50.0)
    np.testing.assert_allclose(result.sources[:, 1] * 2.0, 50 - 34)
    np.testing.assert_allclose(result.receivers[..., 1] * 2.0, 50 - 38)
    with pytest.raises(DomainError, match="source of trace 0 lies at z = -34 m; .*pass datum=, or source_depth="):
        read_segy(path, dh=10.0)
    reading = read_segy(path, dh=10.0, source_depth=7.0, receiver_depth=0.0)
    assert (reading.sources[:, 1] == 0.7).all() and not reading.receivers[..., 1].any()


def test_feet_are_converted_to_metres(write):
    result = open_segy(write(binary={"Unit": 2}))
    np.testing.assert_allclose(result.sources[0], np.array([100, 0, -6]) * 0.3048)
    np.testing.assert_allclose(open_segy(result.path, unit="m").sources[0], [100, 0, -6])
    with pytest.raises(DataError, match="measurement system 7; expected 1"):
        open_segy(write(binary={"Unit": 7}))
    assert "not stated" in open_segy(write(binary={"Unit": 0})).notes[0]
    with pytest.raises(OptionError, match="unit is 'km'"):
        open_segy(result.path, unit="km")


def test_angles_are_refused_and_lengths_labelled_angles_are_noted(write):
    with pytest.raises(DataError, match="14 of 14 traces are in decimal degrees; expected lengths"):
        open_segy(write(change={"CoordinateUnits": 3}))
    far = {"CoordinateUnits": 3, "SourceX": 400000}
    assert "reach 4000, too much for angles" in open_segy(write(change=far)).notes[0]
    with pytest.raises(DataError, match="1 of 14 traces are in seconds of arc"):
        open_segy(write(change=lambda n: {"CoordinateUnits": 2 if n == 3 else 1}))
    assert not open_segy(write(change={"CoordinateUnits": 3}), unit="m").notes


def on_oblique_line(n):
    """Return header changes for a line 30 degrees north of east, with trace 7 at 3 m to its left."""
    _, headers = standard.survey()
    out = {}
    for name in ("Source", "Group"):
        along, left = headers[n][f"{name}X"] / 100, 3.0 * (n == 7 and name == "Group")
        x, y = along * np.cos(np.pi / 6) - left * 0.5, along * 0.5 + left * np.cos(np.pi / 6)
        out |= {f"{name}X": round(1000 * (5e5 + x)), f"{name}Y": round(1000 * (2e6 + y))}
    return out | {"SourceGroupScalar": -1000}


def test_geometry_is_projected_to_the_line_with_its_misfit(write):
    line = Line((5e5, 2e6), (np.cos(np.pi / 6), 0.5))
    result, fitted = (
        read_segy(write(change=on_oblique_line), dh=12.5, line=requested_line) for requested_line in (line, None)
    )
    assert line.azimuth == pytest.approx(60)
    np.testing.assert_allclose(result.sources[:, 0] * 12.5, [100, 125, 150], atol=2e-3)
    assert result.misfit.largest == pytest.approx(3, abs=2e-3) and result.misfit.offset == pytest.approx(
        np.hypot(100, 3) - 100, abs=2e-3
    )
    np.testing.assert_allclose(fitted.offsets, result.offsets, atol=0.1)
    assert fitted.receivers[..., 0].min() == pytest.approx(0, abs=1e-9) and 0.5 < fitted.misfit.largest < 3
    np.testing.assert_allclose(
        line.place(line.project(np.array([[5e5 + 1, 2e6]]))[0]), [[5e5 + 0.75, 2e6 + np.sqrt(3) / 4]]
    )
    with pytest.raises(DomainError, match="receiver of trace 0 lies at x = -20 m; .*pass line="):
        read_segy(write(), dh=12.5, line=Line((20, 0)))


def test_delays_shift_the_samples(write):
    traces, _ = standard.survey(nt=200)
    path = write(traces, change=lambda n: {"DelayRecordingTime": 100 if n < 5 else -54, "TimeScalar": 0})
    result = read_segy(path, dh=12.5)
    assert result.nt == 225 and not result.observed[0, :25].any()
    np.testing.assert_allclose(result.observed[0, 25:, :, 0], traces[:5].T, rtol=1e-5, atol=1e-4)
    late = sampled(traces[9:].T, 4e-3, 225, 4e-3, axis=0, start=-0.054)
    np.testing.assert_allclose(result.observed[2, :, :, 0], late, rtol=1e-5, atol=1e-3)
    assert result.recorded[0, 0].tolist() == pytest.approx([0.1, 0.896])
    weights = result.weights()
    assert weights.shape == (3, 225, 5, 1) and weights[0, :25].max() == 0 and weights[0, 25:].min() == 1
    assert not weights[1, :, 4].any() and weights[2, :186].min() == 1 and not weights[2, 187:].any()
    scaled = write(traces, change={"DelayRecordingTime": 1000, "TimeScalar": -10})
    assert (open_segy(scaled).delay == 0.1).all()
    with pytest.raises(DataError, match="begins 30 s after its source, and traces are 0.252 s long; pass nt="):
        read_segy(write(change={"DelayRecordingTime": 30000}), dh=12.5)


def test_traces_are_resampled_to_the_time_step(write):
    outcome = read_segy(write(), dh=12.5, dt=1.5e-3)
    assert outcome.nt == 169 and outcome.dt == 1.5e-3
    np.testing.assert_allclose(
        outcome.observed[0, :, :, 0],
        sampled(standard.survey()[0][:5].T, 4e-3, 169, 1.5e-3, axis=0),
        rtol=1e-5,
        atol=1e-3,
    )
    assert "sampled anew: every 1.5 ms, 4 ms in the file" in outcome.notes
    assert "low-pass at 50 Hz" in read_segy(write(), dh=12.5, dt=8e-3, nt=10).notes[-1]


def test_dead_clipped_and_dummy_traces_are_recognised(write):
    traces = standard.survey()[0]
    traces[2], traces[6] = 0, np.clip(traces[6], -200, 200)
    traces[7, 20:22] = traces[7].max() + 1  # two equal samples may be chance
    path = write(traces, change=lambda n: {"TraceIdentificationCode": {3: 2, 4: 3, 8: 5}.get(n, 1)})
    result = read_segy(path, dh=12.5, dead=[13])
    np.testing.assert_array_equal(result.receiver_mask, [[1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0]])
    assert result.traces[1].tolist() == [5, 6, 7, -1, -1] and result.dead.sum() == 4
    assert result.traces[result.clipped].tolist() == [6]
    assert not result.observed.swapaxes(1, 2)[~result.receiver_mask].any()
    assert result.notes == ("1 traces with identification codes [5] are left out",)
    text = str(result)
    for part in (
        "3 shots of 3 to 5 receivers, 13 traces",
        "4 dead (2, 3, 4, 13), 1 clipped (6)",
        "64 samples every 4 ms, 0.252 s",
        "z 6 m",
    ):
        assert part in text, text


def test_headers_of_dummy_traces_change_neither_shots_nor_line(write):
    dummy = {
        "TraceIdentificationCode": 3,
        "FieldRecord": 0,
        "SourceX": 0,
        "GroupX": -999,
        "GroupY": 999,
        "SourceDepth": 0,
    }
    dead = {"TraceIdentificationCode": 2, "GroupX": 0, "GroupY": 10**6, "ReceiverGroupElevation": 9999}
    plain = read_segy(write(), dh=12.5)
    result = read_segy(write(change=lambda n: {4: dummy, 6: dead}.get(n, {})), dh=12.5)
    assert result.misfit == plain.misfit and result.line == plain.line and len(result) == 3
    assert result.traces[0].tolist() == [0, 1, 2, 3, -1] and result.dead.sum() == 1
    np.testing.assert_array_equal(result.receivers[1, :4][result.receiver_mask[1, :4]], plain.receivers[1, [0, 2, 3]])
    assert result.notes == ("1 traces with identification codes [3] are left out",)
    with pytest.raises(DataError, match="all of its 14 traces are dead"):
        read_segy(write(), dh=12.5, dead=range(14))


def test_several_kinds_of_traces_need_codes(write):
    path = write(change=lambda n: {"TraceIdentificationCode": 12 + n % 2})
    with pytest.raises(DataError, match=r"several kinds, .*\[12, 13\]; expected one: choose by codes="):
        read_segy(path, dh=12.5)
    assert "7 traces" in str(read_segy(path, dh=12.5, codes=(13,)))
    with pytest.raises(DataError, match="no trace of seismic data: identification codes are .5.;"):
        read_segy(write(change={"TraceIdentificationCode": 5}), dh=12.5)


def test_ranks_read_only_their_shots(write):
    path, plan = write(), ShotPlan(3, 2)
    whole, parts = read_segy(path, dh=12.5), [read_segy(path, dh=12.5, shots=plan.part(rank)) for rank in range(2)]
    assert read_segy(path, dh=12.5, shots=[]).observed.shape == (0, 64, 5, 1)
    for key in ("sources", "receivers", "observed", "receiver_mask", "recorded", "shots", "traces"):
        np.testing.assert_array_equal(np.concatenate([getattr(part, key) for part in parts]), getattr(whole, key))
    np.testing.assert_array_equal(whole.take(plan.part(1)).observed, parts[1].observed)
    assert whole.line == parts[0].line == parts[1].line


def test_extended_textual_headers_are_skipped(write):
    segy = open_segy(write(texts=2))
    assert len(segy) == 14 and segy.text.splitlines()[4].rstrip() == "C 5 A TEST"
    np.testing.assert_allclose(segy.sources[0], [100, 0, -6])


def test_header_fields_are_read_by_name(write):
    segy = open_segy(write())
    assert segy.header("GroupX")[:3].tolist() == [0, 1250, 2500]
    with pytest.raises(OptionError, match="no trace header is called 'Sx'"):
        segy.header("Sx")
    with pytest.raises(DtypeError, match="float32 or float64"):
        segy.traces(dtype=np.int32)
    assert re.search(r"14 traces of 64 samples every 4 ms, IEEE float", str(segy))


@pytest.mark.parametrize("order", "><")
@pytest.mark.parametrize("coarse", [62, 63, 0])
def test_the_extended_interval_of_revision_2_is_a_double(write, coarse, order):
    """The interval is 62.5 microseconds; the 16-bit field holds its integer part, or zero."""
    header_options = {"binary": {"ExtendedInterval": 62.5}, "revision": 2, "order": order}
    assert open_segy(write(interval=coarse, **header_options)).interval == 62.5e-6
    assert read_segy(write(interval=coarse, **header_options), dh=12.5).dt == 62.5e-6
    earlier = write(interval=4000, binary={"ExtendedInterval": 62.5}, revision=1, order=order)
    assert open_segy(earlier).interval == 0.004, "revision 1 does not define these bytes"


def test_a_contradictory_extended_interval_needs_interval(write):
    path = write(binary={"ExtendedInterval": 62.5}, revision=2)
    with pytest.raises(DataError, match=r"62\.5 .* extended .* 4000 in 14; expected one: pass interval="):
        open_segy(path)
    assert open_segy(path, interval=62.5e-6).interval == 62.5e-6
    for odd in (np.nan, -1.0, np.inf):
        with pytest.raises(DataError, match="extended sample interval .* pass interval="):
            open_segy(write(binary={"ExtendedInterval": odd}, revision=2))


@pytest.mark.parametrize("order", "><")
def test_seismic_unix_files_are_read(write, order):
    """The files hold only traces, without the two file headers, in the byte order of the writer."""
    segy, bare = write(order=order), write(order=order).with_suffix(".su")
    bare.write_bytes(segy.read_bytes()[3600:])
    result, expected = open_segy(bare), open_segy(segy)
    np.testing.assert_array_equal(result.traces(), expected.traces())
    np.testing.assert_array_equal(result.sources, expected.sources)
    assert (result.interval, result.nt, len(result), result.text) == (0.004, 64, 14, "")
    assert "Seismic Unix" in str(result) and "measurement system is not stated" in str(result)
    np.testing.assert_array_equal(read_segy(bare, dh=12.5).observed, read_segy(segy, dh=12.5).observed)


@pytest.mark.parametrize("nt", [257, 514])
def test_a_byte_symmetric_count_does_not_decide_the_byte_order(tmp_path, nt):
    """The two bytes of 257 (0x0101) and of 514 (0x0202) are equal."""
    traces, headers = standard.survey(nt)
    for order in "<>":
        path = tmp_path / "shots.su"
        path.write_bytes(standard.encode(traces, headers, order=order)[3600:])
        np.testing.assert_array_equal(open_segy(path).traces(), traces)


def test_a_truncated_seismic_unix_file_is_refused_by_name(write):
    bare = write().with_suffix(".su")
    bare.write_bytes(write().read_bytes()[3600:-8])
    with pytest.raises(DataError, match="damaged or not a SEG-Y file.*Seismic Unix.* 64 samples"):
        open_segy(bare)


def test_header_bytes_override_the_standard_positions(write):
    """Vendors store coordinates in the bytes of the CDP, or as floats."""
    in_cdp_bytes = lambda n: {"CDP_X": 5000 + 100 * n, "SourceGroupScalar": -100}  # noqa: E731
    path = write(change=in_cdp_bytes)
    result = open_segy(path, header_bytes={"GroupX": 181})
    np.testing.assert_array_equal(result.receivers[:, 0], 50.0 + np.arange(14))
    np.testing.assert_array_equal(result.sources, open_segy(path).sources)
    np.testing.assert_array_equal(result.header("GroupX"), 5000 + 100 * np.arange(14))

    def floats(n):
        return {"CDP_X": int(np.float32(250.25 + n).view(np.int32)), "SourceGroupScalar": 1}

    result = open_segy(write(change=floats), header_bytes={"GroupX": (181, "f4")})
    np.testing.assert_array_equal(result.receivers[:, 0], 250.25 + np.arange(14))
    np.testing.assert_array_equal(result.header("GroupX"), 250.25 + np.arange(14))
    shots = open_segy(path, header_bytes={"FieldRecord": [37, "i4"]})
    np.testing.assert_array_equal(shots.header("FieldRecord"), open_segy(path).header("offset"))


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"SorceX": 181}, "no trace header.*'SorceX'.*SourceX"),
        ({"SourceX": 238}, "SourceX is 238; expected"),
        ({"SourceX": 0}, "SourceX is 0; expected"),
        ({"SourceX": (181, "c8")}, r"SourceX is \(181, 'c8'\); expected"),
        ({"TRACE_SAMPLE_COUNT": 39}, "pass nt="),
        ([181], "header_bytes is"),
    ],
)
def test_invalid_header_bytes_are_refused(write, inputs, words):
    with pytest.raises((OptionError, DtypeError), match=words):
        open_segy(write(), header_bytes=inputs)
