"""Written SEG-Y files are read back by SWEEP, by the letter of the standard, and by segyio."""

import re

import attrs
import numpy as np
import pytest
import segy as standard

from sweep_core import DomainError, DtypeError, OptionError, ShapeError, StorageError, UnsupportedError
from sweep_core.io import Gathers, Line, open_segy, read_segy, write_segy, write_segy_section

segyio = pytest.importorskip("segyio", reason="segyio is not installed")
NORTH = Line((500_000.25, 6_000_000.5), (1, 2))


def gathers(line=NORTH, **changes):
    """Return two shots of two and three receivers, one of them dead."""
    rng, traces = np.random.default_rng(0), np.array([[0, 1, -1], [2, 3, 4]])
    mask = np.array([[True, True, False], [True, False, True]])
    observed = rng.standard_normal((2, 50, 3, 1)).astype(np.float32) * mask[:, None, :, None]
    products = {
        "sources": np.array([[4.0, 0.5], [8.25, 0.5]]), "receivers": rng.integers(0, 40, (2, 3, 2)) / 4.0,
        "observed": observed, "dt": 0.0015, "dh": (5.0, 12.5), "receiver_mask": mask, "traces": traces,
        "shots": np.array([1001, 1002]), "line": line, "datum": 20.0,
    }  # fmt: skip
    return Gathers(**products | changes)


@pytest.mark.parametrize("line", [NORTH, Line()], ids=["a map", "none"])
def test_gathers_are_read_back(tmp_path, line):
    original = gathers(line)
    result = read_segy(write_segy(tmp_path / "new" / "out.sgy", original), dh=(5.0, 12.5), line=line, datum=20.0)
    atol = 0 if line == Line() else 1e-2  # centimetres, the resolution for coordinates of 6000 km
    np.testing.assert_allclose(result.sources * 5, original.sources * 5, atol=atol)
    exists = original.traces >= 0
    np.testing.assert_allclose(result.receivers[exists] * 5, original.receivers[exists] * 5, atol=atol)
    for key in ("observed", "receiver_mask", "shots", "traces"):
        np.testing.assert_array_equal(getattr(result, key), getattr(original, key))
    assert result.dt == 0.0015 and result.misfit.largest <= atol and not result.notes


def test_headers_follow_the_standard(tmp_path):
    path = write_segy(tmp_path / "out.sgy", gathers(Line()), start=0.00075, text=["A LINE OF MINE"])
    content = path.read_bytes()
    assert len(content) == 3600 + 5 * (240 + 200)
    header = standard.trace_header(content, 4, 50)
    expected = {"FieldRecord": 1002, "TraceIdentificationCode": 1, "SourceX": 103125, "SourceGroupScalar": -1000, "CoordinateUnits": 1,
                "Samples": 50, "Interval": 1500, "DelayRecordingTime": 75, "TimeScalar": -100, "SourceSurfaceElevation": 2000,
                "SourceDepth": 250, "ElevationScalar": -100}  # fmt: skip
    assert header | expected == header
    np.testing.assert_array_equal(standard.trace_samples(content, 4, 50), gathers().observed[1, :, 2, 0])
    assert standard.trace_header(content, 3, 50)["TraceIdentificationCode"] == 2
    with segyio.open(str(path), ignore_geometry=True) as file:
        assert file.tracecount == 5 and file.bin[segyio.BinField.Interval] == 1500 and int(file.format) == 5
        assert file.bin[segyio.BinField.SEGYRevision] == 1 and file.bin[segyio.BinField.TraceFlag] == 1
        np.testing.assert_array_equal(file.trace[4], gathers().observed[1, :, 2, 0])
        assert file.samples[1] - file.samples[0] == 1.5
        text = segyio.tools.wrap(file.text[0])
    assert (
        "A LINE OF MINE" in text
        and "2 SHOTS, 5 TRACES OF 50 SAMPLES, 1.5 MS" in text
        and "C40 END TEXTUAL HEADER" in text
    )
    assert [line.rstrip() for line in text.splitlines()] == [
        line.rstrip() for line in open_segy(path).text.splitlines()
    ]
    assert open_segy(path).delay[0] == pytest.approx(0.00075)


def test_a_long_name_is_cut(tmp_path):
    write_segy(path := tmp_path / "out.sgy", attrs.evolve(gathers(), name="N" * 90))
    assert "SHOT GATHERS: " + "N" * 62 + "\n" in open_segy(path).text


def test_one_of_several_fields_is_written(tmp_path):
    both = gathers(observed=np.repeat(gathers().observed, 2, axis=3) * np.float32([1, 2]))
    with pytest.raises(OptionError, match="2 fields; expected one: choose it by field="):
        write_segy(tmp_path / "out.sgy", both)
    write_segy(tmp_path / "out.sgy", both, field=1)
    np.testing.assert_array_equal(read_segy(tmp_path / "out.sgy", dh=5.0, datum=20.0).observed, 2 * gathers().observed)


@pytest.mark.parametrize("dh", [5.0, (1.25, 12.5)])
def test_a_section_is_read_back(tmp_path, dh):
    model = np.random.default_rng(0).uniform(1500, 4500, (40, 30)).astype(np.float32)
    path = write_segy_section(tmp_path / "vp.sgy", model, dh, line=NORTH, datum=-3.0, text="VP IN M/S\nBY HAND")
    segy, dz = open_segy(path), np.broadcast_to(dh, 2)[0]
    assert re.search(r"VP IN M/S *\nC.\d BY HAND", segy.text)
    assert segy.section().flags.c_contiguous and 1e3 * segy.interval == dz
    np.testing.assert_array_equal(segy.section(), model)
    distance, deviation = NORTH.project(segy.sources[:, :2])
    np.testing.assert_allclose(distance, np.arange(30) * np.broadcast_to(dh, 2)[1], atol=1e-2)
    assert np.abs(deviation).max() < 1e-2 and (segy.sources[:, 2] == -3).all()
    np.testing.assert_array_equal(segy.header("CDP_X"), segy.header("SourceX"))
    with segyio.open(str(path), ignore_geometry=True) as file:
        np.testing.assert_array_equal(file.trace.raw[:].T, model)


MANY = Gathers(np.zeros((1, 2)), np.zeros((1, 1, 2)), np.zeros((1, 65536, 1, 1), np.float32), dt=0.001, dh=1.0)
REFUSED = {
    "dt": (lambda p: write_segy(p, gathers(dt=0.00012345)), UnsupportedError, "dt is 123.45 microseconds"),
    "long dt": (lambda p: write_segy(p, gathers(dt=0.07)), UnsupportedError, "from 1 to 65535"),
    "nt": (lambda p: write_segy(p, MANY), UnsupportedError, "65536 samples"),
    "start": (lambda p: write_segy(p, gathers(), start=1 / 3), UnsupportedError, "start is 0.333"),
    "far away": (lambda p: write_segy(p, gathers(Line((3e9, 0)))), UnsupportedError, "coordinates reach 3e\\+09 m"),
    "field": (lambda p: write_segy(p, gathers(), field=1), OptionError, "a field of observed, 0 to 0"),
    "field text": (lambda p: write_segy(p, gathers(), field="p"), OptionError, "field is 'p'; expected a field of observed, 0 to 0"),
    "a record": (lambda p: write_segy(p, gathers().observed), DtypeError, "gathers are ndarray"),
    "a number": (lambda p: write_segy(p, gathers(shots=np.array([1, 2**31]))), UnsupportedError, "numbers of 32 bits"),
    "two in one": (lambda p: write_segy(p, attrs.evolve(gathers().take([1, 1]))), UnsupportedError, "shots 0 and 1 have one number"),
    "loud": (lambda p: write_segy(p, gathers(observed=gathers().observed.astype(float) + 1e39 * (gathers().observed != 0))), UnsupportedError, "beyond single precision"),
    "no trace": (lambda p: write_segy(p, gathers().take([])), DomainError, "no trace"),
    "text": (lambda p: write_segy(p, gathers(), text=["X" * 77]), OptionError, "text has the line 'XXX.*up to 76 characters"),
    "lines": (lambda p: write_segy(p, gathers(), text="X\n" * 40), OptionError, "45 lines .* at most 37"),
    "a number of text": (lambda p: write_segy(p, gathers(), text=[1]), OptionError, "text has the line 1; expected text"),
    "a word for start": (lambda p: write_segy(p, gathers(), start="a"), DtypeError, "start is 'a'; expected one number, seconds"),
    "a word for datum": (lambda p: write_segy_section(p, np.zeros((2, 2)), 1.0, datum="a"), DtypeError, "datum is 'a'"),
    "a cube": (lambda p: write_segy_section(p, np.zeros((2, 2, 2)), 1.0), ShapeError, r"expected \(nz, nx\)"),
    "nan": (lambda p: write_segy_section(p, np.full((2, 2), np.nan), 1.0), DomainError, "NaN"),
    "complex": (lambda p: write_segy_section(p, np.zeros((2, 2), complex), 1.0), DtypeError, "complex128"),
    "dz": (lambda p: write_segy_section(p, np.zeros((2, 2)), 100.0), UnsupportedError, "dz is 100000 mm"),
    "a folder": (lambda p: write_segy(p.parent, gathers()), StorageError, "exists and is not a file"),
}  # fmt: skip


@pytest.mark.parametrize(("write", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_values_beyond_the_format_are_refused(tmp_path, write, kind, message):
    with pytest.raises(kind, match=message):
        write(tmp_path / "out.sgy")
    assert not list(tmp_path.iterdir())


def test_a_modelled_record_replaces_the_observed_one(tmp_path):
    record = attrs.evolve(gathers(Line()), observed=3 * gathers().observed)
    write_segy(tmp_path / "out.sgy", record)
    np.testing.assert_array_equal(read_segy(tmp_path / "out.sgy", dh=5.0, datum=20.0).observed, record.observed)
